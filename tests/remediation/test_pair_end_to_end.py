"""A pair of schedulers from a fault to a node that works again, on days on which one of them fails."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from accelwatch.action.step import Report, ReportStatus
from accelwatch.remediation.pairing.paired_action import PairedAction
from remediation.crash import run_until_killed
from remediation.fake_scheduler import FakeAction, FakeScheduler
from remediation.fleet_watch import NODES, FleetWatch

# After the engine has looked around.
FAULT_S = 300.0


class PairWatch(FleetWatch):
    """The fleet with a cluster over all of its nodes."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        names = [f"n{at:02d}" for at in range(NODES)]
        self.cluster = FakeScheduler(self.bench.clock, names)
        self.second = FakeAction(self.cluster)
        self.alone = self.bench.action
        self.bench.action = self.pair()  # type: ignore[assignment]
        self.engine = self.new()

    def pair(self) -> PairedAction:
        """The two, by a hub that was started anew."""
        return PairedAction(("fake", self.alone), ("cluster", self.second))

    def restart(self) -> None:
        """Another hub goes on with what the journal knows."""
        self.bench.action = self.pair()  # type: ignore[assignment]
        self.engine = self.new()

    def marks(self) -> tuple[bool, bool]:
        """Whether each has our mark on n03."""
        nodes = self.bench.world.nodes["n03"], self.cluster.nodes["n03"]
        return nodes[0].mark is not None, nodes[1].mark is not None

    def silence(self, text: str) -> None:
        """The cluster answers nothing any more, or again."""
        self.cluster.unavailable = text


@pytest.fixture
def watch(tmp_path: Path) -> Iterator[PairWatch]:
    watch = PairWatch(tmp_path)
    watch.bench.world.add_job("17", "n03")
    watch.bench.at(FAULT_S, lambda: watch.fault("n03"))
    yield watch
    watch.bench.loop.close()


def over(watch: PairWatch) -> bool:
    """Whether the node is well, is held by none, and nobody is said to have given it back."""
    state = watch.engine.state
    return watch.marks() == (False, False) and not state.remedies and not state.overrides


def test_both_are_marked_and_freed(watch: PairWatch) -> None:
    watch.run(FAULT_S + 4.0)
    assert watch.marks() == (True, True)
    watch.run(300.0)
    assert over(watch)
    assert watch.cluster.count("drain", "n03") == watch.cluster.count("undrain", "n03") == 1


@pytest.mark.parametrize("at_s", [0.0, FAULT_S - 1.0, FAULT_S + 1.0, FAULT_S + 60.0])
@pytest.mark.parametrize("restarts", [True, False])
def test_a_cluster_that_is_away_for_a_while(watch: PairWatch, at_s: float, restarts: bool) -> None:
    watch.bench.at(at_s, lambda: watch.silence("connection refused"))
    watch.run(at_s + 20.0)
    if restarts:
        watch.restart()
    watch.bench.at(max(FAULT_S - at_s, 0.0) + 60.0, lambda: watch.silence(""))
    watch.run(FAULT_S + 600.0)
    assert over(watch)
    assert watch.bench.world.count("reboot", "n03") == 1
    assert watch.cluster.count("drain", "n03") == watch.cluster.count("undrain", "n03")


def test_no_reboot_under_jobs_of_a_cluster_that_is_away(watch: PairWatch) -> None:
    watch.cluster.add_job("pods", "n03")
    watch.bench.at(FAULT_S - 1.0, lambda: watch.silence("connection refused"))
    watch.run(FAULT_S + 900.0)
    assert watch.bench.world.count("reboot", "n03") == 0
    assert watch.marks() == (True, False)


def test_a_pair_that_is_configured_while_a_node_is_out(watch: PairWatch) -> None:
    watch.bench.action = watch.alone
    watch.engine = watch.new()
    watch.run(FAULT_S + 4.0)
    assert watch.marks() == (True, False)
    watch.restart()
    watch.run(600.0)
    assert over(watch)


def test_a_node_that_comes_to_the_cluster_while_it_is_out(watch: PairWatch) -> None:
    node = watch.cluster.nodes.pop("n03")
    watch.run(FAULT_S + 4.0)
    watch.cluster.nodes["n03"] = node
    watch.run(20.0)
    assert watch.engine.state.overrides == {}
    watch.run(600.0)
    assert over(watch)


def test_a_cluster_that_refuses_leaves_the_node_out_in_the_first(watch: PairWatch) -> None:
    refused = Report(status=ReportStatus.REFUSED, text="admission webhook denied the request")
    watch.second.answers = [refused] * 100
    watch.run(FAULT_S + 7200.0)
    assert watch.marks() == (True, False)
    assert watch.engine.state.overrides == {}
    assert any("admission webhook denied" in note.text for note in watch.notes)


@pytest.mark.parametrize("number", range(0, 50, 7))
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_kill_at_any_commit_forgets_no_mark(watch: PairWatch, when: str, number: int) -> None:
    run_until_killed(watch.bench, lambda: watch.run(FAULT_S + 30.0), when, number)
    watch.restart()
    watch.run(900.0)
    assert over(watch)


@pytest.mark.parametrize("side", ["first", "second"])
@pytest.mark.parametrize("incarnation", ["", "uid-1"])
def test_a_person_who_gives_the_node_back_in_one_has_it(
    watch: PairWatch, side: str, incarnation: str
) -> None:
    see = watch.cluster.see
    watch.cluster.see = lambda name: replace(see(name), incarnation=incarnation)  # type: ignore[method-assign]
    world = watch.bench.world if side == "first" else watch.cluster
    watch.bench.at(FAULT_S + 4.0, lambda: world.admin_resumes("n03"))
    watch.run(FAULT_S + 60.0)
    assert watch.marks() == (False, False)
    assert list(watch.engine.state.overrides) == ["n03"]


def test_a_node_that_is_made_again_in_the_cluster_is_out_there_again(watch: PairWatch) -> None:
    see, incarnations = watch.cluster.see, ["uid-1"]
    watch.cluster.see = lambda name: replace(see(name), incarnation=incarnations[-1])  # type: ignore[method-assign]

    def made_again() -> None:
        watch.cluster.admin_resumes("n03")
        incarnations.append("uid-2")

    watch.bench.at(FAULT_S + 4.0, made_again)
    watch.run(FAULT_S + 20.0)
    assert watch.engine.state.overrides == {}
    watch.run(600.0)
    assert over(watch)
