"""What became of each fault of a trace."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from accelwatch.archive.history.rows import MaintenanceRow
from accelwatch.fleet.backtest.line import Line
from scoring.matching import (
    ALERT,
    OUT,
    WATCH,
    episodes,
    false_alarms,
    finding,
    first_about,
    is_announced,
    is_explained,
    is_named,
    suspect,
)
from traces.truth import GROUP, Fault


class Result(NamedTuple):
    """What became of one fault."""

    fault: Fault
    # When it was found, Unix seconds.
    opened: float | None
    # Whether the first alert about it named its node; None: there was none.
    right: bool | None
    # Of a group's: whether it was one incident, and nodes advised to be taken out.
    is_single: bool | None = None
    out: int = 0

    @property
    def is_early(self) -> bool:
        """Before both the record in the kernel log and the loss of work."""
        first = min(self.fault.onset, self.fault.xid_time or self.fault.onset)
        return self.opened is not None and self.opened < first

    @property
    def delay(self) -> float | None:
        """Seconds after the onset; None for what was not found, or found early."""
        return None if self.opened is None or self.is_early else self.opened - self.fault.onset


class Outcome(NamedTuple):
    """One trace; days are those of a fleet of 63 nodes."""

    results: list[Result]
    false_alarms: int
    watches: int
    fleet_days: float


def judge(
    lines: Sequence[Line],
    faults: Sequence[Fault],
    windows: Sequence[MaintenanceRow],
    fleet_days: float,
) -> Outcome:
    """Compare the lines of a back-test with the truth."""
    alerts = [line for line in lines if line.level == ALERT]
    return Outcome(
        [_result(fault, lines, alerts, faults, windows) for fault in faults],
        len(false_alarms(alerts, faults, windows)),
        sum(line.level == WATCH for line in lines),
        fleet_days,
    )


def _result(
    fault: Fault,
    lines: Sequence[Line],
    alerts: Sequence[Line],
    faults: Sequence[Fault],
    windows: Sequence[MaintenanceRow],
) -> Result:
    found = finding(fault, alerts)
    opened = None if found is None else found.opened
    if fault.scope == GROUP:
        own = _of_group(fault, lines, faults, windows)
        alert_episodes = episodes(line for line in own if line.level == ALERT)
        single = found is not None and len(alert_episodes) == 1
        nodes = {suspect(line) for line in own if line.advice in OUT}
        return Result(fault, opened, None, single, len(nodes))
    about = first_about(fault, alerts, [one for one in faults if one is not fault])
    return Result(fault, opened, None if about is None else suspect(about) == fault.node)


def _of_group(
    fault: Fault,
    lines: Iterable[Line],
    faults: Sequence[Fault],
    windows: Sequence[MaintenanceRow],
) -> list[Line]:
    """Lines during a group's fault about it, and about its nodes where nothing else explains them."""
    others = [one for one in faults if one is not fault]
    return [
        line
        for line in lines
        if line.level in (ALERT, WATCH)
        and fault.begin <= line.opened <= fault.end
        and is_explained(line, line.opened, line.opened, [fault])
        and (
            is_named(fault, line)
            or not (
                is_explained(line, line.opened, line.opened, others)
                or is_announced(line, line.opened, line.opened, windows)
            )
        )
    ]
