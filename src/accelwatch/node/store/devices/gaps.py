"""What a reading is silent about, and why: worked out once for its series, not at every tick."""

from functools import lru_cache

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.schema.catalogue.lookup import made_over_time
from accelwatch.schema.metrics import Kind, Series
from accelwatch.schema.reading import in_catalogue, reasons_beside

_ENERGY = "energy_joules_total"
_PROCESSES: Series = ("processes",)


class Gaps(msgspec.Struct, frozen=True):
    """Of all readings with the same series; never changed."""

    # Values that are not in the catalogue.
    foreign: frozenset[Series]
    # Quantities over time that the backend gave a reason for: which one it is, is ours to say.
    replaced: dict[Series, Absence]
    # Quantities of which nothing was said.
    unreported: dict[Series, Absence]


# Keyed by which quantities there are, not by their values: from tick to tick a device has the same
# set. Callers must not change the result.
@lru_cache(maxsize=256)
def gaps(
    values: frozenset[Series],
    absent: frozenset[tuple[Series, Absence]],
    groups: frozenset[str],
    *,
    host: bool,
    processes: bool,
    one_shot: bool,
) -> Gaps:
    """The gaps of a reading with these values and absences; `processes`: whether they were read."""
    foreign = frozenset(series for series in values if not in_catalogue(series))
    reported = frozenset(series[0] for series in values - foreign)
    replaced, unreported = _reasons(
        reported, absent, groups, host=host, processes=processes, one_shot=one_shot
    )
    return Gaps(foreign, replaced, unreported)


# One level below `gaps`: devices that differ in labels only share the reasons.
@lru_cache(maxsize=256)
def _reasons(
    reported: frozenset[str],
    absent: frozenset[tuple[Series, Absence]],
    groups: frozenset[str],
    *,
    host: bool,
    processes: bool,
    one_shot: bool,
) -> tuple[dict[Series, Absence], dict[Series, Absence]]:
    """What is replaced and what is unreported: one object for devices that differ in labels only."""
    reasons = dict(absent)
    silent: dict[Series, Absence] = {}
    if not processes and _PROCESSES not in reasons:
        silent[_PROCESSES] = Absence.NOT_COLLECTED
    covered = reported | {series[0] for series in (*reasons, *silent)}
    silent |= reasons_beside(covered, groups, host=host)
    derived = {} if host else _derived_absences(reported, reasons | silent, one_shot)
    return (
        {series: why for series, why in derived.items() if series in reasons},
        silent | {series: why for series, why in derived.items() if series not in reasons},
    )


def _derived_absences(
    reported: frozenset[str], absent: dict[Series, Absence], one_shot: bool
) -> dict[Series, Absence]:
    """Reasons for the quantities that exist only over time."""
    silent: dict[Series, Absence] = {}
    for key, source in made_over_time(Kind.GAUGE, Kind.COUNTER).items():
        if key not in reported:
            there = source in reported
            why = absent.get((source,), Absence.UNSUPPORTED)
            silent[(key,)] = Absence.NOT_COLLECTED if there else why
    if one_shot and "power_watts" in reported and _ENERGY not in reported:
        silent[(_ENERGY,)] = Absence.NOT_COLLECTED
    return silent
