"""What follows from which series a reading has, and not from their numbers.

A device mostly reports the same series as before, so that this is computed once.
"""

from collections.abc import Iterable, Set
from typing import NamedTuple

from accelwatch.base.absence import Absence
from accelwatch.node.store.devices.gaps import Gaps, gaps
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Reading


class Telling(NamedTuple):
    """The series that a reading reports, and those that it gives a reason for."""

    series: list[Series]
    absent: dict[Series, Absence]
    processes: bool


class Outline(NamedTuple):
    """What follows from that, and from which series are derived from readings over time."""

    telling: Telling
    # Quantities that the device itself gives.
    own: frozenset[str]
    # None: nothing is followed over time.
    derived: frozenset[Series] | None
    # Reasons that are left.
    absent: dict[Series, Absence]
    silent: Gaps


def telling_of(reading: Reading) -> Telling:
    """The series that a reading reports, and those that it gives a reason for."""
    return Telling(list(reading.values), reading.absent, reading.processes is not None)


def own_of(telling: Telling) -> frozenset[str]:
    """Quantities that the device itself gives."""
    return frozenset(series[0] for series in telling.series)


def outline(
    telling: Telling,
    derived: Iterable[Series] | None,
    groups: frozenset[str],
    *,
    host: bool,
    one_shot: bool,
) -> Outline:
    """The outline of a reading; without `derived` series nothing is followed over time."""
    absent, own, more = telling.absent, own_of(telling), frozenset(derived or ())
    if derived is not None:
        reported: Set[str] = own | {series[0] for series in more}
        absent = {s: why for s, why in absent.items() if len(s) > 1 or s[0] not in reported}
    silent = gaps(
        more.union(telling.series),
        frozenset(absent.items()),
        groups,
        host=host,
        processes=telling.processes,
        one_shot=one_shot,
    )
    kept = None if derived is None else more
    return Outline(telling, own, kept, {**absent, **silent.replaced}, silent)
