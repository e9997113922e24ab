"""Whose turn it is to be tested is looked up when somebody's may be, not in every second."""

import msgspec
import pytest

from accelwatch.action.intent import IntentKind as Kind
from accelwatch.remediation.active_tests import ActiveTestSettings
from accelwatch.remediation.policy.state.changes import Verb
from accelwatch.remediation.policy.state.node_tests import LatestRun, NodeTests
from support.remediation.small_fleet import JOB, SETTINGS, Ground

DAY = 86_400.0
NODES = 40
QUICK = ActiveTestSettings(name="quick", every_s=DAY)


class Counted(dict[str, NodeTests]):
    """Counts how often somebody asks how the tests of a node stand."""

    reads = 0

    def get(self, *args: object) -> NodeTests | None:  # type: ignore[override]
        self.reads += 1
        return super().get(*args)  # type: ignore[call-overload,no-any-return]


def fleet(tested_ago_s: float | None, *, idle: bool = True) -> tuple[Ground, Counted]:
    """All nodes passed their test so long ago, or never."""
    ground = Ground(count=NODES, settings=SETTINGS)
    for node in ground.nodes.values():
        node.jobs = () if idle else (JOB,)
    rows = Counted()
    if tested_ago_s is not None:
        at = ground.now - tested_ago_s
        run = LatestRun(tried=at, ended=at, passed=at)
        rows.update({name: NodeTests(runs={"quick": run}) for name in ground.nodes})
    ground.step()
    ground.state = msgspec.structs.replace(ground.state, tests=rows)
    ground.settings = msgspec.structs.replace(SETTINGS, tests=(QUICK,))
    return ground, rows


def test_while_no_turn_comes_nodes_are_looked_at_once_a_minute() -> None:
    ground, rows = fleet(DAY / 2)
    ground.wait(55, every=1)
    assert rows.reads == NODES
    ground.wait(60, every=1)
    assert (rows.reads, ground.of_kind(Kind.TEST)) == (2 * NODES, [])


def test_a_turn_that_comes_is_not_missed_by_a_second() -> None:
    ground, _ = fleet(DAY - 40)
    ground.wait(39, every=1)
    assert ground.of_kind(Kind.TEST) == []
    ground.wait(2, every=1)
    assert len(ground.of_kind(Kind.TEST)) == 1
    ground.end_chore(Kind.TEST)
    ground.wait(2, every=1)
    assert len(ground.of_kind(Kind.TEST)) == 2


def test_nodes_that_are_due_and_have_jobs_are_looked_at_now_and_then() -> None:
    ground, rows = fleet(None, idle=False)
    ground.wait(60, every=1)
    assert (rows.reads, ground.of_kind(Kind.TEST)) == (4 * NODES, [])
    ground.nodes["n07"].jobs = ()
    ground.wait(16, every=1)
    assert [one.node for one in ground.of_kind(Kind.TEST)] == ["n07"]


def test_a_node_that_is_new_has_its_turn_within_a_minute() -> None:
    ground, _ = fleet(DAY / 2)
    ground.wait(2, every=1)
    new = ground.nodes["n00"]
    ground.state = msgspec.structs.replace(
        ground.state, tests={name: row for name, row in ground.state.tests.items() if name != "n00"}
    )
    ground.wait(61, every=1)
    assert [one.node for one in ground.of_kind(Kind.TEST)] == [new.name]


@pytest.mark.parametrize("back_s", [30.0, 3600.0])
def test_a_clock_that_is_set_back_keeps_nobody_from_his_turn(back_s: float) -> None:
    ground, _ = fleet(DAY - 40)
    ground.wait(2, every=1)
    ground.set_back(back_s)
    ground.wait(back_s + 130, every=1)
    assert len(ground.of_kind(Kind.TEST)) == 1


def test_after_a_hold_ends_its_node_has_its_turn() -> None:
    ground, _ = fleet(None)
    for name, node in ground.nodes.items():
        node.jobs = () if name == "n07" else (JOB,)
    ground.send_command(Verb.HOLD, "n07", until=ground.now + 30)
    ground.wait(20, every=1)
    assert ground.of_kind(Kind.TEST) == []
    ground.wait(30, every=1)
    assert [one.node for one in ground.of_kind(Kind.TEST)] == ["n07"]
