"""Which targets a hub's /metrics has as part of an outage, and of which one."""

from accelwatch.fleet.api.metrics_pages import TargetOutages
from accelwatch.fleet.follow.failures.faults import Reason, TargetFault
from accelwatch.schema.timestamps import timestamp
from support.fleet.manual_fleet import Bench
from support.machines import composed as machines

DOWN_S = 60.0
REFUSED = TargetFault(Reason.CONNECT, "refused")


class Racks:
    """Nodes that answer until a test lets a rack of them die."""

    def __init__(self, *racks: str, size: int = 3) -> None:
        self.nodes = {rack: [f"{rack}{at}" for at in range(size)] for rack in racks}
        self.bench = Bench(*(node for rack in self.nodes.values() for node in rack))
        self.outages = TargetOutages(self.bench.fleet)
        self.answer(*racks)

    def answer(self, *racks: str) -> None:
        for rack in racks:
            for node in self.nodes[rack]:
                self.bench.report(node, machines.view(0))

    def series(self, *muted: str) -> dict[str, str]:
        """By node, when its outage started."""
        found = self.outages.series(muted)
        assert set(found.values()) <= {1}
        assert {name for name, _, _ in found} <= {"fleet_target_outage"}
        return {node: since for _, node, since in found}


def test_a_later_outage_is_another_one() -> None:
    racks = Racks("a", "b")
    first = timestamp(racks.bench.clock.wall())
    racks.bench.clock.advance(DOWN_S)
    racks.answer("b")
    assert racks.series() == dict.fromkeys(racks.nodes["a"], first)
    second = timestamp(racks.bench.clock.wall())
    racks.bench.clock.advance(3600.0)
    assert racks.series() == {
        **dict.fromkeys(racks.nodes["a"], first),
        **dict.fromkeys(racks.nodes["b"], second),
    }


def test_an_outage_is_the_same_while_its_nodes_come_back_one_by_one() -> None:
    racks = Racks("a", size=5)
    first, second, *others = racks.nodes["a"]
    start = timestamp(racks.bench.clock.wall())
    racks.bench.clock.advance(5.0)
    for node in (second, *others):
        racks.bench.report(node, machines.view(0))
    racks.bench.clock.advance(DOWN_S)
    assert racks.series() == dict.fromkeys(racks.nodes["a"], start)
    racks.bench.report(first, machines.view(0))
    assert racks.series() == dict.fromkeys((second, *others), start)
    racks.bench.report(second, machines.view(0))
    assert racks.series() == dict.fromkeys(others, start)


def test_an_outage_that_was_over_starts_over() -> None:
    racks = Racks("a")
    racks.bench.clock.advance(DOWN_S)
    assert racks.series()
    racks.answer("a")
    assert racks.series() == {}
    again = timestamp(racks.bench.clock.wall())
    racks.bench.clock.advance(DOWN_S)
    assert racks.series() == dict.fromkeys(racks.nodes["a"], again)


def test_targets_that_never_answered_are_no_outage() -> None:
    bench = Bench("n1", "n2", "n3", "n4")
    for target in bench.targets.values():
        bench.fleet.fail(target.key, REFUSED)
    assert TargetOutages(bench.fleet).series() == {}


def test_nodes_that_are_no_targets_any_more_are_no_outage() -> None:
    racks = Racks("a", size=4)
    racks.bench.clock.advance(DOWN_S)
    kept = racks.nodes["a"][1:]
    racks.bench.fleet.set_targets([racks.bench.targets[node] for node in kept])
    assert racks.series().keys() == set(kept)
    racks.bench.fleet.set_targets([racks.bench.targets[node] for node in kept[1:]])
    assert racks.series() == {}, "two are left that are targets"


def test_nodes_that_are_muted_are_no_outage() -> None:
    racks = Racks("a", size=4)
    racks.bench.clock.advance(DOWN_S)
    first, second, *others = racks.nodes["a"]
    assert racks.series(first).keys() == {second, *others}
    assert racks.series(first, second) == {}, "two are left that nobody has acknowledged"
