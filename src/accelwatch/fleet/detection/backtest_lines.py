"""Findings of the detector as lines of a back-test, beside those of rules."""

from collections.abc import Iterable

from accelwatch.alerting.rules.document import Advice
from accelwatch.detection.finding import Finding, Level, Scope, Signal
from accelwatch.fleet.backtest.line import Explained, Line

# What fired, as lines name it: this, and the family with the greatest share.
RULE = "detector"


class FindingLines:
    """A line when a finding is opened, another when its level rises; both close when it does.

    Lines are as it was known then: a history that ends earlier gives the same ones.
    """

    def __init__(self) -> None:
        # By key of the finding: its lines that are not closed.
        self._open: dict[str, list[Line]] = {}
        # Of findings that have ended: a finding that comes back goes on with them.
        self._finished: dict[str, tuple[float, list[Line]]] = {}

    def step(self, changed: Iterable[Finding]) -> list[Line]:
        """What is new of the findings that have changed; lines that were given are closed in place."""
        new: list[Line] = []
        for finding in changed:
            if (line := self._line(finding)) is not None:
                new.append(line)
        return new

    def _line(self, finding: Finding) -> Line | None:
        lines = self._open.get(finding.key, [])
        if not lines:
            opened, before = self._finished.pop(finding.key, (None, []))
            # Another finding of the same subject has another beginning.
            lines = before if opened == finding.opened else []
            self._open[finding.key] = lines
        line = None
        if not lines or (lines[-1].level == Level.WATCH and finding.level is Level.ALERT):
            line = line_of(finding)
            lines.append(line)
        for each in lines:
            each.closed = finding.cleared
        if finding.cleared is not None:
            self._finished[finding.key] = finding.opened, self._open.pop(finding.key)
        return line


def line_of(finding: Finding) -> Line:
    """The line of a finding that has just been opened or has risen."""
    return Line(
        opened=finding.updated,
        closed=None,
        level=finding.level,
        scope=finding.scope,
        node=finding.node or None,
        device=(finding.device or None) if finding.scope is Scope.DEVICE else None,
        job=finding.job or None,
        nodes=list(finding.nodes),
        rule=f"{RULE}.{finding.family}" if finding.family else RULE,
        channels=list(finding.channels),
        advice=Advice(finding.advice),
        explanation=[_explained(signal) for signal in finding.signals],
    )


def _explained(signal: Signal) -> Explained:
    """Against peers, or against its own past where it has none."""
    expected = signal.usual if signal.expected is None else signal.expected
    return Explained(
        signal=signal.name.replace("\\.", "."),
        value=signal.value,
        expected=expected,
        z=signal.z,
        since=signal.since,
    )
