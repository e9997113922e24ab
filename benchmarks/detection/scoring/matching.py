"""Which alert belongs to which fault, and which to none (design/detection.md 5.5)."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from accelwatch.archive.history.rows import MaintenanceRow
from accelwatch.fleet.backtest.line import Line
from traces.truth import GROUP, JOB, Fault

ALERT, WATCH = "alert", "watch"
# A fault counts as found from its precursor until so long after its onset; alerts of one subject merge.
FOUND_WITHIN_S, MERGED_WITHIN_S = 600.0, 3600.0
# Advice that takes a node out.
OUT = frozenset({"exclude", "replace"})


class Episode(NamedTuple):
    """Alerts of one node, job or group of which none is an hour after the one before."""

    lines: tuple[Line, ...]

    @property
    def start(self) -> float:
        """Unix seconds."""
        return self.lines[0].opened

    @property
    def end(self) -> float:
        """When the last was opened, Unix seconds."""
        return self.lines[-1].opened


def suspect(line: Line) -> str | None:
    """The node that a line names first."""
    return line.node or next(iter(line.nodes), None)


def is_named(fault: Fault, line: Line) -> bool:
    """Whether a line says what is broken: the node, or of a job's or group's fault the job or group."""
    if fault.scope == GROUP:
        return line.scope in (GROUP, JOB) and _shares(fault, line)
    if fault.scope == JOB and line.scope == JOB and line.job is not None and line.job == fault.job:
        return True
    return line.scope != GROUP and fault.node is not None and suspect(line) == fault.node


def in_time(fault: Fault, line: Line) -> bool:
    """Whether a line comes soon enough to have found a fault."""
    return fault.begin <= line.opened <= fault.onset + FOUND_WITHIN_S


def finding(fault: Fault, alerts: Iterable[Line]) -> Line | None:
    """The first alert that finds a fault."""
    chosen = [line for line in alerts if in_time(fault, line) and is_named(fault, line)]
    return min(chosen, key=lambda line: line.opened, default=None)


def first_about(fault: Fault, alerts: Iterable[Line], others: Sequence[Fault] = ()) -> Line | None:
    """The first alert in time on the node of a fault or on its job, whomever it names: none that says
    what one of the `others` broke, unless it names this fault too.
    """
    chosen = [
        line
        for line in alerts
        if in_time(fault, line)
        and (fault.node in (line.node, *line.nodes) or (fault.job and line.job == fault.job))
        and (is_named(fault, line) or not any(_is_of(other, line) for other in others))
    ]
    return min(chosen, key=lambda line: line.opened, default=None)


def _is_of(fault: Fault, line: Line) -> bool:
    """Whether a line says what is broken by a fault that lasts. Of a job that stops, only the cause is
    news: a node that was slow for hours has not stopped it.
    """
    lasts = fault.begin <= line.opened <= fault.end
    return lasts and is_named(fault, line) and (line.scope != JOB or in_time(fault, line))


def is_explained(line: Line, start: float, end: float, faults: Iterable[Fault]) -> bool:
    """Whether a fault lies between two moments on what an alert is about.

    A program's own fault explains no advice to take a node out.
    """
    return any(
        fault.begin <= end
        and start <= fault.end
        and not (fault.kind == "app" and line.advice in OUT)
        and _concerns(fault, line)
        for fault in faults
    )


def _concerns(fault: Fault, line: Line) -> bool:
    if line.scope in (GROUP, JOB):
        same_job = line.scope == JOB and line.job is not None and line.job == fault.job
        return same_job or _shares(fault, line)
    return line.node is not None and line.node in (fault.node, *fault.nodes)


def _shares(fault: Fault, line: Line) -> bool:
    """Whether they have a node in common."""
    return bool(({*fault.nodes, fault.node} - {None}) & {line.node, *line.nodes})


def is_announced(line: Line, start: float, end: float, windows: Iterable[MaintenanceRow]) -> bool:
    """Whether a window of maintenance of its node lies between two moments."""
    nodes = {line.node} if line.node else set(line.nodes)
    return any(
        row.start / 1000 <= end
        and start <= row.end / 1000
        and (row.node is None or row.node in nodes)
        for row in windows
    )


def episodes(alerts: Iterable[Line]) -> list[Episode]:
    """Alerts merged by subject, in order of their start."""
    merged: list[list[Line]] = []
    newest: dict[tuple[str, str | None], list[Line]] = {}
    for line in sorted(alerts, key=lambda one: one.opened):
        subject = _subject(line)
        last = newest.get(subject)
        if last is not None and line.opened - last[-1].opened <= MERGED_WITHIN_S:
            last.append(line)
        else:
            newest[subject] = [line]
            merged.append(newest[subject])
    return [Episode(tuple(lines)) for lines in merged]


def _subject(line: Line) -> tuple[str, str | None]:
    if line.scope == GROUP:
        return GROUP, line.rule
    if line.scope == JOB:
        return JOB, line.job
    return "node", line.node


def false_alarms(
    alerts: Iterable[Line], faults: Sequence[Fault], windows: Sequence[MaintenanceRow]
) -> list[Episode]:
    """Episodes that overlap no fault, precursor or maintenance of their node, job or group."""
    return [
        episode
        for episode in episodes(alerts)
        if not any(
            is_explained(line, episode.start, episode.end, faults)
            or is_announced(line, episode.start, episode.end, windows)
            for line in episode.lines
        )
    ]
