"""Target groups as Prometheus writes them in `file_sd` and `http_sd`: a list of `{targets, labels}`."""

from collections.abc import Mapping

import msgspec

from accelwatch.base.errors import UsageError
from accelwatch.base.names.host_ranges import MAX_HOSTS
from accelwatch.fleet.target import Target
from accelwatch.fleet.targets.rules import Rules


class Group(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of the list."""

    targets: tuple[str, ...]
    labels: dict[str, str] = {}


def targets_in(
    document: object, rules: Rules, default_labels: Mapping[str, str] | None = None
) -> list[Target]:
    """The targets of a parsed document; `default_labels` labels give way to a group's own.

    Raises UsageError, also for a single bad entry: half a fleet would look like a fleet.
    """
    try:
        groups = msgspec.convert(document, tuple[Group, ...])
    except msgspec.ValidationError as error:
        raise UsageError(f"no list of targets and labels: {error}") from error
    targets: list[Target] = []
    for group in groups:
        targets += rules.targets(group.targets, {**(default_labels or {}), **group.labels})
        if len(targets) > MAX_HOSTS:
            raise UsageError(f"more than {MAX_HOSTS} targets")
    return targets
