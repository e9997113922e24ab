"""Which families a scrape gets: a profile, opt-in groups, and `collect[]` backends."""

from collections.abc import Iterable
from functools import cache

import msgspec

from accelwatch.base.errors import UsageError
from accelwatch.base.names.nearest import nearest
from accelwatch.schema.catalogue.lookup import catalogue, opt_in_groups
from accelwatch.schema.metrics import Metric, Tier

_TIERS = {
    "minimal": frozenset({Tier.MINIMAL, Tier.SELF}),
    "default": frozenset({Tier.MINIMAL, Tier.DEFAULT, Tier.WORKLOAD, Tier.SELF}),
}


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """The selected series; `backends` empty means all."""

    profile: str = "default"
    groups: frozenset[str] = frozenset()
    backends: frozenset[str] = frozenset()
    openmetrics: bool = False
    # Whether serial numbers and firmware versions are exposed.
    inventory: bool = True


def selection(
    *,
    profile: str = "default",
    groups: Iterable[str] = (),
    backends: Iterable[str] = (),
    openmetrics: bool = False,
    inventory: bool = True,
) -> Selection:
    """A checked selection. Raises UsageError for an unknown profile or group."""
    if profile not in _TIERS:
        raise UsageError(f"no profile {profile!r}; there are {', '.join(_TIERS)}")
    requested = frozenset(groups)
    for group in requested:
        if group not in opt_in_groups():
            close = nearest(group, list(opt_in_groups()))
            hint = f"did you mean {close}?" if close else f"there are {', '.join(opt_in_groups())}"
            raise UsageError(f"no opt-in group {group!r}; {hint}")
    return Selection(
        profile=profile,
        groups=requested,
        backends=frozenset(backends),
        openmetrics=openmetrics,
        inventory=inventory,
    )


# Needed by every scrape; profiles and groups are few, and the catalogue is constant.
@cache
def selected(profile: str, groups: frozenset[str]) -> tuple[Metric, ...]:
    """The rows of a profile and groups, in the catalogue's order."""
    tiers = _TIERS[profile]
    return tuple(row for row in catalogue() if row.tier in tiers or row.group in groups)
