"""A hub in one process, with rules, journal, remedies and an action, over nodes that go bad on demand.

Readings are put into its fleet instead of coming by the network, with one device a node.
"""

import asyncio
import contextlib
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

import msgspec

from accelwatch.action.contract import ActionContext
from accelwatch.alerting.evaluation.runner import RuleRunner
from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.base.clock import SystemClock
from accelwatch.base.slices import LongWork
from accelwatch.config.model import RuleSettings
from accelwatch.fleet.remedies.runner import RemedyRunner
from accelwatch.fleet.rules.evaluator import FleetEvaluator
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.state.nodes.liveness import Thresholds
from accelwatch.fleet.target import targets_of
from accelwatch.plugins import entry_points as plugins
from accelwatch.remediation.policy.context.outcome import Outcome
from accelwatch.remediation.policy.state.changes import Change, WorldObservation
from accelwatch.remediation.policy.state.model import RemedyState
from accelwatch.remediation.policy.step.step import step
from accelwatch.remediation.settings import (
    ActionSettings,
    Breaker,
    Budget,
    DataGuard,
    RemedySettings,
)
from accelwatch.schema.snapshot import DeviceView
from support.fleet.two_nodes import view

RULES = """\
version: 1
defaults: {keep: 0, cooldown: 1m}
rules:
- id: low
  title: Too little power
  when: power_watts < 200
  severity: critical
  confidence: high
  mode: auto
  trust: any
  action:
    quarantine: {level: node, when: now}
    verify: [{passive: 10m}]
"""
POWER = ("power_watts",)
WELL_W, BAD_W = 400.0, 100.0
RACK = 20
REPORT_EVERY_S = 5.0
# Before the fault: every node has reported and was evaluated.
SETTLED_S = 8.0


def device(node: str, bad: bool) -> DeviceView:
    """The one device of a node."""
    uuid = f"{node}-0"
    whole = view(0, {POWER: BAD_W if bad else WELL_W})
    known = msgspec.structs.replace(whole.device, id=uuid, uuid=uuid, serial=uuid)
    reading = msgspec.structs.replace(whole.reading, device_id=uuid)
    return msgspec.structs.replace(whole, device=known, reading=reading)


class Hub:
    """A hub over nodes that report the power they are set to."""

    def __init__(self, folder: Path, nodes: int, budget: Budget, breaker: Breaker) -> None:
        self.clock = SystemClock()
        self.folder = folder
        self.names = [f"n{at:04d}" for at in range(1, nodes + 1)]
        self.bad: set[str] = set()
        self.rules_file = folder / "rules.yaml"
        self.rules_file.write_text(RULES, encoding="utf-8")
        self.settings = RemedySettings(
            ceiling="resume",
            actions=(ActionSettings(type="measured"),),
            nodes={name: name for name in self.names},
            budget=budget,
            breaker=breaker,
            data_guard=DataGuard(startup_grace_s=0.0, calm_s=0.0, late_s=60.0),
            stop_file=str(folder / "STOP"),
        )
        self.fleet = Fleet(self.clock, Thresholds(), None)
        self.targets = [
            target
            for at, name in enumerate(self.names)
            for target in targets_of([name], {"rack": f"r{at // RACK}", "pool": "train"})
        ]
        self.fleet.set_targets(self.targets)
        self.acting: list[RemedyRunner] = []
        self.most_own = 0
        self.views = {bad: [device(name, bad) for name in self.names] for bad in (False, True)}

    def report_node(self, at: int) -> None:
        """Put a node's reading of now into the fleet."""
        target, now = self.targets[at], self.clock.wall()
        reported = self.views[self.names[at] in self.bad][at]
        reported = msgspec.structs.replace(reported, sample_time=now)
        self.fleet.read(target.key, [reported], now, 1.0)

    def _policy(
        self,
        state: RemedyState,
        changes: Sequence[Change],
        observations: Sequence[WorldObservation],
        now: float,
        settings: RemedySettings,
    ) -> Outcome:
        """The product's own, and the most quarantines of ours that it ever counts."""
        outcome = step(state, changes, observations, now, settings)
        self.most_own = max(self.most_own, len(outcome.state.budget.own))
        return outcome

    async def report_all(self) -> None:
        """All nodes, again and again, in slices."""
        while True:
            work, began = LongWork(), time.monotonic()
            for at in range(len(self.names)):
                self.report_node(at)
                await work.yield_control(pause=2.0)
            await asyncio.sleep(max(0.0, REPORT_EVERY_S - (time.monotonic() - began)))

    def break_at_once(self, nodes: Sequence[str]) -> float:
        """These report that they are bad; Unix seconds of it."""
        at = time.time()
        self.bad.update(nodes)
        places = {name: at for at, name in enumerate(self.names)}
        for name in nodes:
            self.report_node(places[name])
        return at

    @contextlib.asynccontextmanager
    async def running(self):  # type: ignore[no-untyped-def]
        """Rules and remedies; the latter once every node has reported."""
        evaluator = FleetEvaluator(self.fleet)

        def on_incidents(incidents: Sequence[Incident]) -> None:
            for runner in self.acting:
                runner.on_changes(incidents)

        rules = RuleRunner(
            evaluator, RuleSettings(files=(str(self.rules_file),)), self.folder, on_incidents
        )
        reporting = asyncio.create_task(self.report_all())
        await rules.start()
        remedies = RemedyRunner(self.fleet, evaluator, rules, self.settings, policy=self._policy)
        await remedies.start()
        self.acting.append(remedies)
        try:
            await asyncio.sleep(SETTLED_S)
            yield rules, remedies
        finally:
            await remedies.stop()
            await rules.stop()
            reporting.cancel()
            self.fleet.close()


@contextlib.contextmanager
def acting_by(make: Callable[[ActionContext], object]) -> Iterator[None]:
    """The plug-in of the hub's settings is this one."""
    load = plugins.load
    plugins.load = lambda _group, _name: make  # type: ignore[assignment]
    try:
        yield
    finally:
        plugins.load = load


def settled(remedies: RemedyRunner, nodes: int) -> bool:
    """Whether each node bears our mark as far as the engine knows."""
    states = remedies.engine.state.remedies.values()
    return sum(remedy.hold is not None for remedy in states) == nodes
