"""Targets that nobody is to be paged about when they do not answer, as series that alerts leave out."""

from collections.abc import Callable, Iterable

from accelwatch.alerting.incidents.model.muting import Muting
from accelwatch.base.slices import LongWork
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

    async def names(self, work: LongWork) -> frozenset[str]:
        """Their names; every silence is held against every target, so `work` gives others their turn."""
        fleet, muting, muted = self._fleet, self._muting(), set()
        for node in list(fleet.nodes.values()):
            if node.sources and self._is_muted(node, muting):
                muted.add(node.name)
            await work.yield_control()
        return frozenset(muted)

    def _is_muted(self, node: Node, muting: Muting | None) -> bool:
        """Whether a person has said that the node may be away."""
        if node.expected is not None and node.expected.acknowledged is not None:
            return True
        if muting is None:
            return False
        labels = {**node.labels, **_ALERT, "node": node.name}
        return muting.source_of(labels, (node.name,), self._fleet.clock.wall()) is not None


def muted_series(names: Iterable[str]) -> dict[Series, Number]:
    """1 for each muted target."""
    return {("fleet_target_muted", name): 1 for name in sorted(names)}
