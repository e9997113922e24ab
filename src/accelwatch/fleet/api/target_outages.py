"""Which targets are part of an outage, and of which one, as series by which alerts are grouped."""

from collections.abc import Collection

from accelwatch.fleet.api.summaries import node_health
from accelwatch.fleet.outages import outages
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number


class TargetOutages:
    """Of one hub, for one event loop."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        # By node, the start of the outage that it was part of at the last call.
        self._since: dict[str, str] = {}

    def series(self, muted: Collection[str] = ()) -> dict[Series, Number]:
        """1 for each target of an outage; `muted` are nodes that nobody is to be paged about.

        An outage has the same `since` until it is over, also when the node that stopped first is back:
        with another one it would be another alert. Targets that never answered are left out, since
        these have no begin; an alert on them would stand for ever, and they are down one by one.
        """
        fleet = self._fleet
        counted = [
            node_health(fleet, node)
            for node in fleet.nodes.values()
            if node.sources and node.name not in muted
        ]
        since: dict[str, str] = {}
        for outage, nodes in outages(counted, len(fleet.nodes), fleet.clock.wall()):
            if outage.since is not None:
                existing = (self._since[name] for name in nodes if name in self._since)
                since.update(dict.fromkeys(nodes, min(existing, default=outage.since)))
        self._since = since
        return {("fleet_target_outage", name, started): 1 for name, started in since.items()}
