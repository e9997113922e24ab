"""What rules on a node see of its detector, which is loaded only where a rule needs it."""

from typing import Protocol

from accelwatch.alerting.rules.verdict import Evidence
from accelwatch.expr.evaluation_context import Device, EvaluationContext
from accelwatch.expr.vocabulary.kleene import Lookup
from accelwatch.schema.snapshot import Snapshot


class NodeFindings(Protocol):
    """What a detector has found on a node."""

    def lookup(self, device: str, lookup: Lookup) -> Lookup:
        """The lookup of a device, or of `HOST`, that answers to the names of findings too."""
        ...

    def evidence(self, subject: str, device: str) -> tuple[Evidence, ...]:
        """What a finding of a device as a `subject` (empty: the narrowest) rests on."""
        ...


class RunsOnNode(NodeFindings, Protocol):
    """A detector of a node."""

    def pace(self, interval_s: float) -> None:
        """Rules are evaluated this often, and so the detector is fed no more often."""
        ...

    def close(self) -> None:
        """Write down what is known."""
        ...

    async def detect(self, snapshot: Snapshot, at: float) -> None:
        """Run on a snapshot at a monotonic time, if the interval is over."""
        ...


class DetectedDevice(Device):
    """A device of a node whose evidence has what the detector has found."""

    def __init__(self, context: EvaluationContext, device: str, findings: NodeFindings) -> None:
        super().__init__(context, device)
        self._findings = findings

    def detector_evidence(self, subject: str) -> tuple[Evidence, ...]:
        """What the detector has found of it as a `subject`."""
        return self._findings.evidence(subject, self.id)
