"""Many nodes go bad in one moment: until each is drained, until all is decided, and what a storm gets.

`faults_at_once.py [PART ...] [--runs N]`; the parts are `hundred`, `thousand`, `budget`, `storm`, all of
them without a name. One hub in one process, with rules, journal, remedies and the action. Simulated is
what surrounds it: readings are put into its fleet instead of coming by the network, with one device a
node. `hundred` and `thousand` drain nodes of a real slurmctld whose nodes have no slurmd; it runs on the
same machine. Budget, breaker and the rule that many at once are one incident are lifted there, for
without that nothing would be drained at all; all other guards stand. `budget` and `storm` act on a
scheduler in memory. A drain counts when `sinfo`, asked by another thread ten times a second, shows it.
"""

import argparse
import asyncio
import contextlib
import json
import math
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

import msgspec

from accelwatch.action.contract import ActionContext
from accelwatch.alerting.evaluation.runner import RuleRunner
from accelwatch.alerting.incidents.grouping import storm_rules
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
from accelwatch.remediation.policy.guards.limits.breaker import BreakerStatus
from accelwatch.remediation.policy.state.changes import Change, WorldObservation
from accelwatch.remediation.policy.state.model import RemedyState
from accelwatch.remediation.policy.state.stage import Stage
from accelwatch.remediation.policy.step.step import step
from accelwatch.remediation.settings import (
    ActionSettings,
    Breaker,
    Budget,
    DataGuard,
    RemedySettings,
)
from accelwatch.schema.snapshot import DeviceView
from accelwatch_slurm import SlurmAction
from remediation.fake_scheduler import FakeAction, FakeScheduler
from support.fleet.two_nodes import view
from support.slurm.controller import Slurm, slurm_of_many

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
TELL_EVERY_S = 5.0
LOOK_EVERY_S = 0.1
GUARD_S = 120.0
# Before the fault: every node was told of and looked at.
SETTLED_S = 8.0
MANY = Budget(share=1.0, most=100_000, min_available=0.0, per_hour=100_000, spacing_s=0.0)
LIFTED = Breaker(breaches=100_000, failures=100_000, overrides=100_000)
BOUNDED = Budget(share=0.05, most=40, min_available=0.9, per_hour=100_000, spacing_s=0.0)
GOALS = {
    "100 faults at once, detect -> drain, p99": 2.0,
    "1,000 faults at once, detect -> drain, p99": 5.0,
    "150 faults of 1,500 nodes at once, decided": 2.0,
}


def device(node: str, bad: bool) -> DeviceView:
    """The one device of a node."""
    uuid = f"{node}-0"
    whole = view(0, {POWER: BAD_W if bad else WELL_W})
    known = msgspec.structs.replace(whole.device, id=uuid, uuid=uuid, serial=uuid)
    reading = msgspec.structs.replace(whole.reading, device_id=uuid)
    return msgspec.structs.replace(whole, device=known, reading=reading)


class Hub:
    """A hub over nodes that say what they are told to."""

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

    def say(self, at: int) -> None:
        """What a node says now."""
        target, now = self.targets[at], self.clock.wall()
        told = self.views[self.names[at] in self.bad][at]
        told = msgspec.structs.replace(told, sample_time=now)
        self.fleet.read(target.key, [told], now, 1.0)

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

    async def tell(self) -> None:
        """All nodes, again and again, in slices."""
        while True:
            work, began = LongWork(), time.monotonic()
            for at in range(len(self.names)):
                self.say(at)
                await work.rest(pause=2.0)
            await asyncio.sleep(max(0.0, TELL_EVERY_S - (time.monotonic() - began)))

    def break_at_once(self, nodes: Sequence[str]) -> float:
        """These say that they are bad; Unix seconds of it."""
        at = time.time()
        self.bad.update(nodes)
        places = {name: at for at, name in enumerate(self.names)}
        for name in nodes:
            self.say(places[name])
        return at

    @contextlib.asynccontextmanager
    async def running(self):  # type: ignore[no-untyped-def]
        """Rules and remedies; the latter once every node was heard."""
        evaluator = FleetEvaluator(self.fleet)

        def heard(incidents: Sequence[Incident]) -> None:
            for one in self.acting:
                one.on_changes(incidents)

        rules = RuleRunner(
            evaluator, RuleSettings(files=(str(self.rules_file),)), self.folder, heard
        )
        telling = asyncio.create_task(self.tell())
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
            telling.cancel()
            self.fleet.close()


async def until(true: Callable[[], bool]) -> None:
    """Until it is so, or too long."""
    async with asyncio.timeout(GUARD_S):
        while not true():
            await asyncio.sleep(0.02)


class Watcher:
    """Asks a Slurm which nodes are drained, on a thread of its own."""

    def __init__(self, slurm: Slurm) -> None:
        self._environ = {**os.environ, "SLURM_CONF": str(slurm.conf)}
        # Unix seconds at which a drain was seen first, by node.
        self.seen: dict[str, float] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        words = ("sinfo", "--noheader", "--Node", "--states=drain", "--format=%N")
        while not self._ended.wait(LOOK_EVERY_S):
            shown = subprocess.run(
                words, env=self._environ, capture_output=True, text=True, timeout=30, check=False
            )
            now = time.time()
            for name in shown.stdout.split():
                self.seen.setdefault(name, now)

    def end(self) -> None:
        """Look no more."""
        self._ended.set()
        self._thread.join()


def told(seconds: Sequence[float]) -> dict[str, float | int]:
    """What came of many waits."""
    done = sorted(seconds)
    return {
        "nodes": len(done),
        "p50_s": round(statistics.median(done), 2),
        "p99_s": round(done[math.ceil(0.99 * len(done)) - 1], 2),
        "max_s": round(done[-1], 2),
    }


@contextlib.contextmanager
def acting_by(make: Callable[[ActionContext], object]) -> Iterator[None]:
    """The plug-in of the hub's settings is this one."""
    load = plugins.load
    plugins.load = lambda _group, _name: make  # type: ignore[assignment]
    try:
        yield
    finally:
        plugins.load = load


async def drained(folder: Path, slurm: Slurm, nodes: int) -> dict[str, object]:
    """All nodes of a hub go bad at once, and each is drained."""
    hub = Hub(folder, nodes, MANY, LIFTED)
    watcher = Watcher(slurm)
    try:
        async with hub.running() as (rules, remedies):
            began = resource.getrusage(resource.RUSAGE_SELF)
            fault = hub.break_at_once(hub.names)
            await until(lambda: len(watcher.seen) == nodes)
            opened = {one.entity.node: one.opened for one in rules.open}
            await until(lambda: settled(remedies, nodes))
            ended = time.time()
            spent = resource.getrusage(resource.RUSAGE_SELF)
            problems = list(remedies.problems)
    finally:
        watcher.end()
    return {
        "detect -> drain": told([watcher.seen[name] - opened[name] for name in hub.names]),
        "reading -> drain": told([at - fault for at in watcher.seen.values()]),
        "reading -> detect": told([at - fault for at in opened.values()]),
        "all drains known to the engine_s": round(ended - fault, 2),
        "processor time of the hub until then_s": round(
            spent.ru_utime + spent.ru_stime - began.ru_utime - began.ru_stime, 2
        ),
        "problems": problems,
    }


def settled(remedies: RemedyRunner, nodes: int) -> bool:
    """Whether each node bears our mark as far as the engine knows."""
    states = remedies.engine.state.remedies.values()
    return sum(one.hold is not None for one in states) == nodes


def with_slurm(nodes: int) -> dict[str, object]:
    """One fresh hub over one fresh controller."""
    with tempfile.TemporaryDirectory(prefix="faults") as name:
        folder = Path(name)
        (folder / "slurm").mkdir()
        with slurm_of_many(folder / "slurm", f"n[0001-{nodes:04d}]") as slurm:
            options = {"slurm_conf": str(slurm.conf)}

            def make(context: ActionContext) -> object:
                return SlurmAction(msgspec.structs.replace(context, options=options))

            with acting_by(make):
                return asyncio.run(drained(folder, slurm, nodes))


async def decided(folder: Path, world: FakeScheduler) -> dict[str, object]:
    """150 of 1,500 nodes go bad at once, and every one of them is decided upon."""
    nodes, faults = len(world.nodes), 150
    hub = Hub(folder, nodes, BOUNDED, LIFTED)
    async with hub.running() as (rules, remedies):
        fault = hub.break_at_once(hub.names[:: nodes // faults][:faults])
        known: dict[str, float] = {}

        def all_decided() -> bool:
            for node, one in remedies.engine.state.remedies.items():
                if one.stage is not Stage.SUSPECT or one.denial is not None:
                    known.setdefault(node, time.time())
            return len(known) == faults

        await until(all_decided)
        opened = {one.entity.node: one.opened for one in rules.open}

        def held() -> int:
            return sum(node.mark is not None for node in world.nodes.values())

        await until(lambda: held() >= BOUNDED.most)
        await asyncio.sleep(3.0)
        problems = list(remedies.problems)
    return {
        "nodes": nodes,
        "detect -> decided": told([known[node] - opened[node] for node in known]),
        "reading -> decided": told([at - fault for at in known.values()]),
        "budget": BOUNDED.most,
        "most own quarantines at any step": hub.most_own,
        "nodes taken out": held(),
        "problems": problems,
    }


async def stormed(folder: Path, world: FakeScheduler) -> dict[str, object]:
    """30 nodes go bad within a minute, one every two seconds."""
    hub = Hub(folder, len(world.nodes), BOUNDED, Breaker())
    async with hub.running() as (rules, remedies):
        grouped_at = 0.0
        for name in hub.names[::10][:30]:
            hub.break_at_once([name])
            await asyncio.sleep(2.0)
            if not grouped_at and any(one.storm for one in rules.open):
                grouped_at = time.time()
        await asyncio.sleep(3.0)
        groups = [one for one in rules.open if one.storm]
        begun = [one.time for one in world.effects if one.kind == "drain"]
        breaker = remedies.engine.state.breaker.standing
    return {
        "nodes": 30,
        "groups": len(groups),
        "incidents that are in none": sum(not (one.group or one.storm) for one in rules.open),
        "nodes in the group": len(groups[0].nodes) if groups else 0,
        "quarantines before the group was seen": sum(at <= grouped_at for at in begun),
        "quarantines after the group was seen": sum(at > grouped_at for at in begun),
        "breaker is open": breaker is BreakerStatus.OPEN,
    }


def in_memory(nodes: int, part: Callable[[Path, FakeScheduler], object]) -> object:
    """A part of the benchmark over a scheduler in memory."""
    world = FakeScheduler(SystemClock(), [f"n{at:04d}" for at in range(1, nodes + 1)])
    with (
        tempfile.TemporaryDirectory(prefix="faults") as name,
        acting_by(lambda _: FakeAction(world)),
    ):
        return asyncio.run(part(Path(name), world))  # type: ignore[arg-type]


@contextlib.contextmanager
def without_storms() -> Iterator[None]:
    """Many nodes at once are many incidents."""
    before = storm_rules.LEAST_NODES, storm_rules.LEAST_OF_RACK
    storm_rules.LEAST_NODES = storm_rules.LEAST_OF_RACK = sys.maxsize
    try:
        yield
    finally:
        storm_rules.LEAST_NODES, storm_rules.LEAST_OF_RACK = before


def hundred() -> object:
    """100 of 100 nodes of a real Slurm."""
    with without_storms():
        return with_slurm(100)


def thousand() -> object:
    """1,000 of 1,000 nodes of a real Slurm."""
    with without_storms():
        return with_slurm(1000)


def budget() -> object:
    """150 of 1,500, with a budget of 40."""
    with without_storms():
        return in_memory(1500, decided)


def many_in_a_minute() -> object:
    """30 of 300 within a minute."""
    return in_memory(300, stormed)


PARTS = {
    "hundred": hundred,
    "thousand": thousand,
    "budget": budget,
    "storm": many_in_a_minute,
}


def main() -> None:
    """Print one JSON document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help=", ".join(PARTS))
    parser.add_argument("--runs", type=int, default=1)
    given = parser.parse_args()
    figures = {part: [PARTS[part]() for _ in range(given.runs)] for part in given.parts or PARTS}
    document = {
        **figures,
        "goals_s": GOALS,
        "load": [round(one, 1) for one in os.getloadavg()],
        "cpus": os.cpu_count(),
    }
    print(json.dumps(document, indent=1))


if __name__ == "__main__":
    main()
