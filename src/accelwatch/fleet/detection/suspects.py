"""Whom the findings of a hub's detector suspect, for lists of nodes."""

from collections.abc import Callable, Mapping

from accelwatch.detection.findings.finding import Finding, Level
from accelwatch.fleet.detection.device_names import names_of
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.wire import NodeFinding


class Suspects:
    """Worked out once for each set of findings; for the hub's event loop."""

    def __init__(self, fleet: Fleet, findings: Callable[[], tuple[Finding, ...]]) -> None:
        """`findings` gives the same object while they are the same."""
        self._fleet, self._findings = fleet, findings
        self._of: tuple[Finding, ...] = ()
        self._by_node: Mapping[str, NodeFinding] = {}

    def of(self, node: str) -> NodeFinding | None:
        """The finding of which a node is the suspect, an alert before a watch.

        A fault that many nodes suffer by one cause blames none of them, and neither does a job that
        hangs without a culprit.
        """
        findings = self._findings()
        if findings is not self._of:
            # An alert is written over a watch.
            ordered = sorted(findings, key=lambda finding: finding.level is Level.ALERT)
            self._by_node = {
                finding.node: self._note(finding) for finding in ordered if finding.node
            }
            self._of = findings
        return self._by_node.get(node)

    def _note(self, finding: Finding) -> NodeFinding:
        names = names_of(self._fleet, finding.node) if finding.device else {}
        return NodeFinding(
            level=finding.level.value,
            device=finding.device,
            name=names.get(finding.device, ""),
            family=finding.family,
            sentence=finding.sentence,
        )
