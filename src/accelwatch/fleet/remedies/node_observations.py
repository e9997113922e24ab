"""A hub's observations of nodes for its engine: all once in a while, changed ones at once."""

from collections.abc import Iterable, Sequence

from accelwatch.alerting.evaluation.runner import RuleRunner
from accelwatch.base.slices import LongWork
from accelwatch.fleet.names import SPEAKING
from accelwatch.fleet.remedies.node_status import NodeStatusReader
from accelwatch.fleet.rules.evaluator import FleetEvaluator
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.state.nodes.node import Node
from accelwatch.remediation.execution.engine import Engine
from accelwatch.remediation.policy.guards.data_guard import FleetCoverage

# Polls after which nodes are observed that have no remedy.
OTHERS_EVERY = 5


class NodeObservations:
    """For the hub's event loop."""

    def __init__(
        self, fleet: Fleet, evaluator: FleetEvaluator, rules: RuleRunner, engine: Engine
    ) -> None:
        self._fleet = fleet
        self._evaluator = evaluator
        self._rules = rules
        self._engine = engine
        self.node_status = NodeStatusReader(fleet)
        self._polls = 0

    def submit_if_turned(self, nodes: Iterable[Node]) -> None:
        """Those that have fallen silent, or speak again: that is decided upon at once."""
        self.submit_turned([node for node in nodes if self.node_status.has_turned(node)])

    def submit_turned(self, turned: Sequence[Node]) -> None:
        """Nodes have fallen silent, or speak again."""
        if not turned:
            return
        troubled, ceiling_of = self._troubled(), self._evaluator.ceiling_of
        statuses = [
            self.node_status.status_of(node, troubled, ceiling_of(node.name)) for node in turned
        ]
        self._engine.submit_observations(statuses, urgent=True)

    async def poll(self, late_s: float) -> None:
        """Observe nodes with a remedy, and at times the others; `late_s` after it was due."""
        self._polls += 1
        work, troubled = LongWork(), self._troubled()
        remedies = self._engine.state.remedies
        everybody = self._polls % OTHERS_EVERY == 1
        agents = silent = 0
        for node in list(self._fleet.nodes.values()):
            await work.yield_control()
            remedy = remedies.get(node.name)
            if remedy is None or remedy.hold is None:
                agents += 1
                silent += self._fleet.state_of(node) not in SPEAKING
            if everybody or remedy is not None or self.node_status.has_turned(node):
                ceiling = self._evaluator.ceiling_of(node.name)
                read_status = (
                    self.node_status.changed_status
                    if remedy is None
                    else self.node_status.status_of
                )
                status = read_status(node, troubled, ceiling)
                if status is not None:
                    self._engine.submit_observations([status])
        if everybody:
            self.node_status.forget_others(self._fleet.nodes)
        coverage = FleetCoverage(
            time=self._fleet.clock.wall(),
            monotonic=self._fleet.clock.monotonic(),
            # An engine in time that receives no incidents acts on what was, too.
            late_s=max(late_s, self._rules.late_s),
            agents=agents,
            silent=silent,
        )
        self._engine.submit_observations([coverage])

    def _troubled(self) -> set[str]:
        """Nodes on which a rule fires, or is about to, that could quarantine them."""
        acting = (rule for rule in self._evaluator.rules.values() if rule.action is not None)
        return {
            entity.node for rule in acting for entity in self._evaluator.alert_states.of(rule.id)
        }
