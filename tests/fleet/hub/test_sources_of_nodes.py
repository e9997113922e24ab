"""Nodes that several targets report, in lists that change; what a store reports of the past."""

import asyncio

import pytest

from accelwatch.base.clock import ManualClock
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.state.nodes.node import Node
from accelwatch.fleet.target import Target, targets_of
from support.fleet.manual_fleet import THRESHOLDS
from support.machines import composed as machines

OURS, THEIRS = "n1:9877", "n1:9400"


class Two:
    """A node with two targets, each of which reports a device of its own."""

    def __init__(self) -> None:
        self.clock = ManualClock(wall=machines.NOW)
        self.fleet = Fleet(self.clock, THRESHOLDS, None)
        self.targets: dict[str, Target] = {one.address: one for one in targets_of([OURS, THEIRS])}
        self.fleet.set_targets(self.targets.values())
        self.report(OURS, 0)
        self.report(THEIRS, 1)

    def report(self, address: str, index: int, age_s: float = 0.0) -> None:
        views = [machines.view(index)]
        self.fleet.read(self.targets[address].key, views, None, 1.0, age_s=age_s)

    @property
    def node(self) -> Node:
        return self.fleet.nodes["n1"]

    @property
    def present(self) -> list[int]:
        return sorted(held.device.index for held in self.node.devices.values())


def test_devices_are_put_together_only_where_something_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A list of thousands of targets of which one changes must not stop everything else."""
    two, gathered = Two(), []
    gather = Node.gather

    def counting(node: Node, *rest: object) -> None:
        gathered.append(node.name)
        gather(node, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Node, "gather", counting)
    more = targets_of(["n2"])
    two.fleet.set_targets((*two.targets.values(), *more))
    two.fleet.sweep()
    assert gathered == ["n2"]
    two.fleet.set_targets((two.targets[OURS], *more))
    assert (gathered, two.present) == (["n2", "n1"], [0])


def test_a_source_that_falls_silent_gives_way_and_comes_back() -> None:
    two = Two()
    assert two.present == [0, 1]
    for _ in range(31):
        two.clock.advance(1)
        two.report(OURS, 0)
    two.fleet.sweep()
    assert two.present == [0]
    two.report(THEIRS, 1)
    assert two.present == [0, 1]


def test_old_samples_take_no_acknowledgement_back() -> None:
    two = Two()

    async def main() -> None:
        two.clock.advance(100)
        await two.fleet.acknowledge("n1")
        expected = two.node.expected
        assert expected is not None
        two.clock.advance(15)
        two.report(OURS, 0, age_s=115.0)
        assert expected.acknowledged == machines.NOW + 100
        assert expected.last_seen == machines.NOW
        two.report(OURS, 0, age_s=10.0)
        assert expected.acknowledged is None
        assert expected.last_seen == machines.NOW + 105

    asyncio.run(main())


def test_beyond_a_number_of_nodes_none_is_expected_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("accelwatch.fleet.state.expected_nodes.MAX_NODES", 1)
    two = Two()
    more = targets_of(["n2"])
    two.fleet.set_targets((*two.targets.values(), *more))
    two.fleet.read(more[0].key, [machines.view(2)], None, 1.0)
    assert two.fleet.nodes["n2"].expected is None
    two.fleet.set_targets(())
    assert list(two.fleet.nodes) == ["n1"]
