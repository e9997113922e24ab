"""Hundreds of nodes go bad in one moment, and the hub is fast: its brakes hold all the same.

A breaker that counts what was done never opens before a slow hub is through with its fleet; ours counts
what was decided, in the same step for all.
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import msgspec
import pytest

from accelwatch.alerting.evaluation.runner import RuleRunner
from accelwatch.alerting.incidents.grouping import storm_rules
from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.base.clock import SystemClock
from accelwatch.config.model import RuleSettings
from accelwatch.fleet.remedies.runner import RemedyRunner
from accelwatch.fleet.rules.evaluator import FleetEvaluator
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.target import targets_of
from accelwatch.remediation.policy.guards.limits.breaker import BreakerStatus
from accelwatch.remediation.policy.state.model import RemedyState
from accelwatch.remediation.settings import (
    ActionSettings,
    Breaker,
    Budget,
    DataGuard,
    RemedySettings,
)
from accelwatch.schema.snapshot import DeviceView
from accelwatch_lab.cluster.kubernetes.access import Account
from fleet.remedies.hub_site import POWER, RULES
from support.fleet.manual_fleet import THRESHOLDS
from support.fleet.two_nodes import view
from support.kubernetes.action_on_cluster import NODES, make_node
from support.kubernetes.hub_account import allow_actions
from support.kubernetes.stand_in import StandInCluster

COUNT, RACK, MOST = 200, 20, 10
OURS = "accelwatch.io/quarantine"
BOUNDED = Budget(share=1.0, most=MOST, min_available=0.0, per_hour=100_000, spacing_s=0.0)
LIFTED = Breaker(breaches=100_000, failures=100_000, overrides=100_000)


@pytest.fixture(autouse=True)
def _each_an_incident_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else many at once are one incident, and wait for a person."""
    monkeypatch.setattr(storm_rules, "LEAST_NODES", COUNT + 1)
    monkeypatch.setattr(storm_rules, "LEAST_OF_RACK", COUNT + 1)


class ManyNodes:
    """A hub over nodes that are bad or well all together."""

    def __init__(self, cluster: StandInCluster, folder: Path, budget: Budget, breaker: Breaker):
        self.clock = SystemClock()
        self.names = [f"n{at:03d}" for at in range(COUNT)]
        self.bad = False
        self._cluster = cluster
        self._folder = folder
        self._budget, self._breaker = budget, breaker
        self.most_own = 0

    def _settings(self) -> RemedySettings:
        access = self._cluster.access(Account.HUB)
        server = {
            "api_server": access.url,
            "ca_file": str(access.ca_file),
            "token_file": str(self._cluster.token_file(Account.HUB)),
        }
        return RemedySettings(
            ceiling="resume",
            actions=(ActionSettings(type="kubernetes", options={"server": server}),),
            nodes={name: name for name in self.names},
            budget=self._budget,
            breaker=self._breaker,
            data_guard=DataGuard(startup_grace_s=0.0, calm_s=0.0, late_s=60.0, silent=1.0),
            stop_file=str(self._folder / "STOP"),
        )

    def _reading(self, name: str) -> DeviceView:
        whole = view(0, {POWER: 100.0 if self.bad else 400.0}, sample_time=self.clock.wall())
        known = msgspec.structs.replace(whole.device, id=name, uuid=name, serial=name)
        reading = msgspec.structs.replace(whole.reading, device_id=name)
        return msgspec.structs.replace(whole, device=known, reading=reading)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[RemedyRunner]:
        """Rules and remedies over a cluster that has the nodes."""
        await allow_actions(self._cluster)
        for name in self.names:
            await make_node(self._cluster, name)
        self._cluster.server.log.clear()
        fleet = Fleet(self.clock, THRESHOLDS, None)
        targets = [
            target
            for at, name in enumerate(self.names)
            for target in targets_of([name], {"rack": f"r{at // RACK}", "pool": "train"})
        ]
        fleet.set_targets(targets)
        for target, name in zip(targets, self.names, strict=True):
            source = fleet.source(target.key)
            assert source is not None
            source.dialect, source.host_name, source.boot_id = "accelwatch", name, f"boot-{name}"

        async def report() -> None:
            while True:
                for target, name in zip(targets, self.names, strict=True):
                    fleet.read(target.key, [self._reading(name)], self.clock.wall(), 1.0)
                await asyncio.sleep(0.5)

        evaluator = FleetEvaluator(fleet)
        acting: list[RemedyRunner] = []

        def notify(incidents: Sequence[Incident]) -> None:
            for one in acting:
                one.on_changes(incidents)

        file = self._folder / "rules.yaml"
        text = RULES.replace("MODE", "auto").replace("PROFILES", "").replace("FOR", "0s")
        file.write_text(text, encoding="utf-8")
        rules = RuleRunner(evaluator, RuleSettings(files=(str(file),)), self._folder, notify)
        telling = asyncio.create_task(report())
        await asyncio.sleep(0)
        await rules.start()
        remedies = RemedyRunner(fleet, evaluator, rules, self._settings())
        await remedies.start()
        acting.append(remedies)
        try:
            yield remedies
        finally:
            await remedies.stop()
            await rules.stop()
            telling.cancel()
            fleet.close()

    async def tainted(self) -> list[str]:
        """Nodes that bear our taint."""
        document = await self._cluster.ask("GET", NODES)
        return [
            node["metadata"]["name"]
            for node in document["items"]
            if any(taint["key"] == OURS for taint in node["spec"].get("taints", []))
        ]

    async def settle(
        self, remedies: RemedyRunner, has_enough: Callable[[RemedyState], bool]
    ) -> None:
        """Until all is decided, as much as was wanted was done, and nothing is under way."""
        async with asyncio.timeout(90):
            while True:
                state = remedies.engine.state
                self.most_own = max(self.most_own, len(state.budget.own))
                quiet = all(one.pursuing is None for one in state.remedies.values())
                if len(state.remedies) == COUNT and quiet and has_enough(state):
                    before = len(self._cluster.server.log.writes("/nodes/"))
                    await asyncio.sleep(2.0)
                    if len(self._cluster.server.log.writes("/nodes/")) == before:
                        return
                await asyncio.sleep(0.1)

    def patches(self) -> Counter[str]:
        """How many patches each node got."""
        return Counter(entry.path for entry in self._cluster.server.log.writes("/nodes/"))


async def released(hub: ManyNodes) -> None:
    """Until no node bears our taint."""
    async with asyncio.timeout(90):
        while await hub.tainted():
            await asyncio.sleep(0.2)


def test_trap_09_a_budget_is_never_passed_however_many_go_bad_at_once(
    stand_in: StandInCluster, tmp_path: Path
) -> None:
    async def run() -> None:
        hub = ManyNodes(stand_in, tmp_path, BOUNDED, LIFTED)
        async with hub.running() as remedies:
            hub.bad = True
            await hub.settle(remedies, lambda state: len(state.budget.own) == MOST)
            assert len(await hub.tainted()) == MOST
            assert hub.most_own == MOST
            assert hub.patches() == Counter(dict.fromkeys(hub.patches(), 1))
            assert sum(hub.patches().values()) == MOST
            assert remedies.engine.state.breaker.standing is BreakerStatus.CLOSED
            hub.bad = False
            await released(hub)

    asyncio.run(run())


def test_trap_09_the_breaker_opens_at_our_own_rate_and_lets_a_well_node_go(
    stand_in: StandInCluster, tmp_path: Path
) -> None:
    """What was taken out before it opened is released by the event that it is well."""

    async def run() -> None:
        hub = ManyNodes(stand_in, tmp_path, BOUNDED, Breaker())
        async with hub.running() as remedies:
            hub.bad = True
            await hub.settle(remedies, lambda state: state.breaker.standing is BreakerStatus.OPEN)
            assert remedies.engine.state.breaker.standing is BreakerStatus.OPEN
            assert 0 < len(await hub.tainted()) <= MOST
            hub.bad = False
            await released(hub)
            assert remedies.engine.state.breaker.standing is BreakerStatus.OPEN

    asyncio.run(run())
