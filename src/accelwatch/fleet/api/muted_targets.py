"""Targets that nobody is to be paged about when they do not answer, as series that alerts leave out."""

from collections.abc import Callable

from accelwatch.alerting.incidents.model.muting import Muting
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.state.nodes.node import Node
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number

# The alert on a node that does not answer, as matchers of silences see it.
_ALERT = {"rule": "FleetTargetDown", "severity": "warning", "scope": "node"}


class MutedTargets:
    """Of one hub: nodes that were acknowledged, are in maintenance, or are silenced."""

    def __init__(self, fleet: Fleet, muting: Callable[[], Muting | None]) -> None:
        """`muting` gives the silences and windows in force; None where nobody can set any."""
        self._fleet = fleet
        self._muting = muting

    def is_muted(self, node: Node) -> bool:
        """Whether a person has said that the node may be away."""
        if node.expected is not None and node.expected.acknowledged is not None:
            return True
        muting = self._muting()
        if muting is None:
            return False
        labels = {**node.labels, **_ALERT, "node": node.name}
        return muting.source_of(labels, (node.name,), self._fleet.clock.wall()) is not None

    def series(self) -> dict[Series, Number]:
        """1 for each of them that is a target."""
        return {
            ("fleet_target_muted", node.name): 1
            for node in self._fleet.nodes.values()
            if node.sources and self.is_muted(node)
        }
