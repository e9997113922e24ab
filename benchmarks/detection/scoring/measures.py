"""The measures of design/detection.md 5.5 over any number of traces."""

import statistics
from collections.abc import Iterable, Sequence

import msgspec

from scoring.poisson import interval
from scoring.results import Outcome, Result
from traces.classes import CLASSES, HARD, HIDDEN, NUMERIC, XID_CLASSES
from traces.truth import GROUP, RATE, Fault

_XID = frozenset(one.name for one in XID_CLASSES)
# True faults a day of the published fleet (0, row 8).
FLEET_RATE = 0.31
# What must be found early: a precursor of so many deviations, or times the rate, and seconds.
STRONG_SD, STRONG_RATE, STRONG_S = 8.0, 10.0, 600.0


def has_strong_precursor(fault: Fault) -> bool:
    """Whether a fault could be found early."""
    if fault.precursor_start is None or fault.precursor_strength is None:
        return False
    least = STRONG_RATE if fault.precursor_unit == RATE else STRONG_SD
    lasts = fault.onset - fault.precursor_start
    return fault.precursor_strength >= least and lasts >= STRONG_S


def group_of(fault: Fault) -> str:
    """The row of the table of issue 31 that a fault belongs to."""
    if fault.kind in _XID:
        return "xid"
    if fault.kind == "slow_clock" and (fault.magnitude or 0.0) < 0.10:
        return "fail_slow_3_10"
    if fault.kind in ("unreachable", "hang", "slow_clock", "slow_link"):
        return "no_xid"
    return "group" if fault.scope == GROUP else fault.kind


class Share(msgspec.Struct, frozen=True):
    """So many of so many."""

    hits: int
    of: int

    @property
    def share(self) -> float | None:
        """None of nothing."""
        return self.hits / self.of if self.of else None


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """All measures of one detector; delays in seconds."""

    fleet_days: float
    recall: dict[str, Share]
    by_class: dict[str, Share]
    early: Share
    early_of_all: Share
    right_node: Share
    group_single: Share
    group_nodes_out: int
    false_alarms: int
    false_alarms_a_day: float
    false_alarms_interval: tuple[float, float]
    watches_a_day: float
    precision: float | None
    precision_at_fleet_rate: float | None
    delays: dict[str, tuple[float, float] | None]


def table(outcomes: Sequence[Outcome]) -> Table:
    """The measures over traces."""
    results = [result for outcome in outcomes for result in outcome.results]
    days = sum(outcome.fleet_days for outcome in outcomes)
    false = sum(outcome.false_alarms for outcome in outcomes)
    seen = [one for one in results if CLASSES[one.fault.kind].kind != HIDDEN]
    hits = sum(one.opened is not None for one in seen)
    rows = {name: [one for one in seen if group_of(one.fault) == name] for name in _ROWS}
    named = [one for one in seen if one.right is not None]
    strong = [one for one in seen if has_strong_precursor(one.fault)]
    groups = [one for one in seen if one.is_single is not None]
    found_a_day = FLEET_RATE * hits / len(seen) if seen else 0.0
    a_day = false / days
    return Table(
        fleet_days=days,
        recall={name: _found(rows[name]) for name in _ROWS},
        by_class={
            name: _found([one for one in results if one.fault.kind == name]) for name in CLASSES
        },
        early=Share(sum(one.is_early for one in strong), len(strong)),
        early_of_all=Share(sum(one.is_early for one in seen), len(seen)),
        right_node=Share(sum(bool(one.right) for one in named), len(named)),
        group_single=Share(sum(bool(one.is_single) for one in groups), len(groups)),
        group_nodes_out=sum(one.out for one in groups),
        false_alarms=false,
        false_alarms_a_day=a_day,
        false_alarms_interval=interval(false, days),
        watches_a_day=sum(outcome.watches for outcome in outcomes) / days,
        precision=hits / (hits + false) if hits + false else None,
        precision_at_fleet_rate=found_a_day / (found_a_day + a_day)
        if found_a_day + a_day
        else None,
        delays={
            "hard": _delays(seen, HARD),
            "numeric": _delays(seen, NUMERIC),
            "hang": _spread([one for one in seen if one.fault.kind == "hang"]),
        },
    )


_ROWS = ("xid", "no_xid", "fail_slow_3_10", "group")


def _found(results: Sequence[Result]) -> Share:
    return Share(sum(one.opened is not None for one in results), len(results))


def _delays(results: Iterable[Result], kind: str) -> tuple[float, float] | None:
    return _spread([one for one in results if CLASSES[one.fault.kind].kind == kind])


def _spread(results: Iterable[Result]) -> tuple[float, float] | None:
    """Median and 95th percentile of what was found after its onset."""
    delays = sorted(one.delay for one in results if one.delay is not None)
    if not delays:
        return None
    return statistics.median(delays), delays[min(len(delays) - 1, int(0.95 * len(delays)))]
