"""Which targets a hub's /metrics has as muted: no alert fires while these do not answer."""

import asyncio

import pytest

from accelwatch.alerting.incidents.model.muting import Muting
from accelwatch.alerting.incidents.model.silence import Maintenance, Silence, matchers
from accelwatch.base.slices import LongWork
from accelwatch.fleet.api.metrics_pages import TargetOutages
from accelwatch.fleet.api.muted_targets import MutedTargets, muted_series
from support.fleet.manual_fleet import Bench
from support.machines import composed as machines

DOWN_S = 60.0


class Site:
    """Four nodes that have answered once, and what mutes them."""

    def __init__(self) -> None:
        self.bench = Bench("n1", "n2", "n3", "n4")
        self.muting = Muting()
        self.muted = MutedTargets(self.bench.fleet, lambda: self.muting)
        for node in self.bench.targets:
            self.bench.report(node, machines.view(0))
        self.bench.clock.advance(DOWN_S)

    def add(self, source: Silence | Maintenance) -> None:
        self.muting.set(source)
        self.muting.advance(self.bench.clock.wall())

    def silence(self, text: str) -> None:
        now = self.bench.clock.wall()
        self.add(
            Silence(
                id="s1", matchers=matchers(text), starts=now, ends=now + 60, by="ana", reason=""
            )
        )

    def maintain(self, *nodes: str) -> None:
        now = self.bench.clock.wall()
        self.add(Maintenance(id="m1", nodes=nodes, starts=now, ends=now + 60, by="ana", reason=""))

    def series(self) -> list[str]:
        found = muted_series(self.names())
        assert set(found.values()) <= {1}
        assert {name for name, _ in found} <= {"fleet_target_muted"}
        return [node for _, node in found]

    def names(self) -> frozenset[str]:
        return asyncio.run(self.muted.names(LongWork()))


def test_a_node_is_muted_from_its_acknowledgement_until_it_answers_again() -> None:
    site = Site()
    assert site.series() == []
    asyncio.run(site.bench.fleet.acknowledge("n1"))
    assert site.series() == ["n1"]
    site.bench.clock.advance(DOWN_S)
    site.bench.report("n1", machines.view(0))
    assert site.series() == []


def test_nodes_in_maintenance_are_muted_until_it_is_over() -> None:
    site = Site()
    site.maintain("n[2-3]")
    assert site.series() == ["n2", "n3"]
    site.bench.clock.advance(61)
    assert site.series() == []


def test_maintenance_of_everything_mutes_every_target() -> None:
    site = Site()
    site.maintain()
    assert site.series() == ["n1", "n2", "n3", "n4"]


@pytest.mark.parametrize(
    ("text", "muted"),
    [
        ("node=n2", ["n2"]),
        ("rule=FleetTargetDown,node=n2", ["n2"]),
        ("severity=warning,node=n2", ["n2"]),
        ("rule=nvidia.lost,node=n2", []),
        ("device=nvidia0,node=n2", []),
        ("severity=critical,node=n2", []),
    ],
)
def test_a_silence_mutes_nodes_that_it_silences_as_a_whole(text: str, muted: list[str]) -> None:
    site = Site()
    site.silence(text)
    assert site.series() == muted


def test_a_node_that_is_no_target_has_no_series() -> None:
    site = Site()
    site.maintain()
    site.bench.fleet.set_targets([site.bench.targets["n1"]])
    assert site.series() == ["n1"]


def test_without_rules_only_acknowledged_nodes_are_muted() -> None:
    site = Site()
    asyncio.run(site.bench.fleet.acknowledge("n1"))
    muted = MutedTargets(site.bench.fleet, lambda: None)
    assert asyncio.run(muted.names(LongWork())) == {"n1"}


def test_nodes_in_maintenance_are_no_outage() -> None:
    site = Site()
    outages = TargetOutages(site.bench.fleet)
    assert len(outages.series(site.names())) == 4
    site.maintain("n1")
    assert sorted(node for _, node, _ in outages.series(site.names())) == ["n2", "n3", "n4"]


class Slices(LongWork):
    """Work that counts how often it lets others have their turn."""

    __slots__ = ("yields",)

    def __init__(self) -> None:
        super().__init__()
        self.yields = 0

    async def yield_control(self, pause: float = 0.0) -> None:
        self.yields += 1
        await super().yield_control(pause)


def test_many_targets_and_silences_do_not_hold_the_loop() -> None:
    site = Site()
    site.silence("node=n2")
    work = Slices()
    assert asyncio.run(site.muted.names(work)) == {"n2"}
    assert work.yields == len(site.bench.targets)
