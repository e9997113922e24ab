"""The board says what the reports say: started once, kept, ended at once, bounded, reconciled."""

import asyncio
from collections.abc import Iterable
from pathlib import Path

import pytest

from accelwatch.base.clock import ManualClock
from accelwatch.fleet.evidence import reconciler as reconciler_module
from accelwatch.fleet.evidence.damping import CALM_S, FIRST_S
from accelwatch.fleet.evidence.intake import EvidenceIntake
from accelwatch.fleet.evidence.problem import NodeReport, ReportedProblem
from accelwatch.fleet.evidence.reconciler import KUBERNETES, SLURM, Reconciler, left_over
from accelwatch.fleet.evidence_settings import Evidence
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.state.nodes.liveness import Thresholds
from accelwatch.fleet.target import targets_of
from accelwatch.schema.event import severity

KEEP_S = 3600.0


def problem(kind: str = "GPUMissing", text: str = "7 of 8", device: str = "") -> ReportedProblem:
    return ReportedProblem(
        source="node-problem-detector",
        code=kind,
        severity="critical",
        text=text,
        device=device,
        path=f"condition {kind}",
    )


class World:
    """A fleet, a clock, and the evidence of one cluster."""

    def __init__(self, folder: Path | None = None, nodes: str = "n[1-3]:9877") -> None:
        self.clock = ManualClock()
        self.fleet = Fleet(self.clock, Thresholds(), folder)
        self.fleet.set_targets(targets_of([nodes]))
        self.reconciler = self.of(KUBERNETES, "kubernetes")

    def of(self, origin: str, cluster: str) -> Reconciler:
        settings = Evidence(keep_s=KEEP_S)
        return Reconciler(EvidenceIntake(self.fleet), lambda: settings, origin, cluster)

    def report(self, *reports: NodeReport) -> None:
        asyncio.run(self.reconciler.reconcile(reports))

    def bad(self, *nodes: str, kind: str = "GPUMissing", text: str = "7 of 8") -> None:
        """These nodes, and no others, have the problem."""
        self.report(*(NodeReport(node=name, problems=(problem(kind, text),)) for name in nodes))

    @property
    def active(self) -> list[tuple[str, str]]:
        return [(one.node, one.event.code) for one in self.fleet.evidence.all()]

    @property
    def noted(self) -> list[str]:
        return [one.event.text for one in self.fleet.events.after(0)]


def test_a_condition_starts_and_ends_evidence() -> None:
    world = World()
    world.bad("n1")
    assert world.active == [("n1", "evidence_GPUMissing")]
    (alert,) = world.fleet.evidence.all()
    assert (alert.event.source, alert.event.subject) == ("pushed", "node-problem-detector")
    assert alert.event.detail["by"] == "kubernetes kubernetes"
    assert severity(alert.event) == "critical"
    world.report(NodeReport(node="n1"))
    assert world.active == []
    assert world.noted == ["7 of 8", "over: 7 of 8"]


def test_a_node_that_is_gone_has_no_conditions() -> None:
    world = World()
    world.bad("n1", "n2")
    world.bad("n2")
    assert world.active == [("n2", "evidence_GPUMissing")]


def test_a_peers_false_verdict_repeated_for_ever_is_one_piece_of_evidence() -> None:
    """It is kept for as long as it is reported, starts once, and is written seldom."""
    world = World()
    for number in range(2000):
        world.bad("n1", text=f"said {number} times")
        world.clock.advance(30.0)
    assert world.active == [("n1", "evidence_GPUMissing")]
    assert world.noted == ["said 0 times"]
    (alert,) = world.fleet.evidence.all()
    assert alert.until > world.clock.wall()
    world.report()
    assert world.active == []


def test_what_is_not_confirmed_any_more_runs_out() -> None:
    world = World()
    world.bad("n1")
    world.clock.advance(KEEP_S + 1)
    assert world.active == []


def test_trap_04_a_cleared_condition_is_over_at_once_however_often_it_came() -> None:
    """Nothing may be drained for a condition that is clear: an end is never held back."""
    world = World()
    for _ in range(6):
        world.bad("n1")
        assert world.active == [("n1", "evidence_GPUMissing")]
        world.report(NodeReport(node="n1"))
        assert world.active == []
        world.clock.advance(CALM_S)
    world.bad("n1")
    world.report(NodeReport(node="n1"))
    world.bad("n1")
    world.clock.advance(FIRST_S)
    world.bad("n1")
    assert world.active == [("n1", "evidence_GPUMissing")]
    world.report(NodeReport(node="n1"))
    assert world.active == []


def test_trap_04_what_a_queue_still_holds_is_queried_from_the_board() -> None:
    """The condition cleared and another came: what stands is what is said now."""
    world = World()
    world.bad("n1", kind="GPUMissing")
    world.bad("n1", kind="KernelDeadlock")
    assert world.active == [("n1", "evidence_KernelDeadlock")]


def test_a_condition_that_flaps_has_to_last_longer_each_time() -> None:
    world = World()
    world.bad("n1")
    for _ in range(200):
        world.report(NodeReport(node="n1"))
        world.clock.advance(5.0)
        world.bad("n1")
        world.clock.advance(5.0)
    # Half an hour of it: the first beginning, and no other lasted long enough.
    assert world.noted == ["7 of 8", "over: 7 of 8"]
    for _ in range(61):
        world.bad("n1")
        world.clock.advance(5.0)
    assert world.active == [("n1", "evidence_GPUMissing")]
    assert world.noted[-1] == "7 of 8 (came and went 20 times lately)"


def test_a_thousand_nodes_whose_conditions_flap_are_bounded() -> None:
    world = World(nodes="n[1-1000]:9877")
    names = [f"n{number}" for number in range(1, 1001)]
    for _ in range(30):
        world.bad(*names)
        world.clock.advance(2.0)
        world.report()
        world.clock.advance(2.0)
    assert world.fleet.events.last == 2000
    assert world.active == []


def test_flapping_is_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    for _ in range(10):
        world.bad("n1", "n2")
        world.report()
    messages = [one.getMessage() for one in caplog.records]
    assert messages == [
        "evidence of kubernetes kubernetes: conditions of nodes come and go, count=2"
    ]


def test_no_more_than_half_of_the_board_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reconciler_module, "MOST_OF_A_CLUSTER", 2)
    world = World()
    world.bad("n1", "n2", "n3")
    assert [node for node, _ in world.active] == ["n1", "n2"]
    world.bad("n2", "n3")
    assert [node for node, _ in world.active] == ["n2", "n3"]


def test_conditions_cleared_while_we_were_away_end_at_the_start(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.bad("n1", "n2")
    world.fleet.close()
    later = World(tmp_path)
    assert [node for node, _ in later.active] == ["n1", "n2"]
    later.bad("n2")
    assert [node for node, _ in later.active] == ["n2"]
    assert later.noted == ["over: 7 of 8"]
    later.fleet.close()
    assert [node for node, _ in World(tmp_path).active] == ["n2"]


@pytest.mark.parametrize(("before", "after"), [(("n1",), ["n1"]), ((), [])])
def test_unknown_leaves_it_as_it_is(before: Iterable[str], after: list[str]) -> None:
    world = World()
    world.bad(*before)
    world.report(NodeReport(node="n1", undecided=frozenset({"condition GPUMissing"})))
    assert [node for node, _ in world.active] == after


def test_unknown_of_another_condition_ends_this_one() -> None:
    world = World()
    world.bad("n1")
    world.report(NodeReport(node="n1", undecided=frozenset({"condition XIDErrors"})))
    assert world.active == []


def test_a_node_is_known_by_its_name_or_an_address(caplog: pytest.LogCaptureFixture) -> None:
    world = World(nodes="10.0.0.[1-2]:9877")
    other = NodeReport(node="elsewhere", problems=(problem(),))
    world.report(
        NodeReport(node="n1", names=("n1.example", "10.0.0.1"), problems=(problem(),)), other
    )
    assert world.active == [("10.0.0.1", "evidence_GPUMissing")]
    assert world.reconciler.unplaced == ("elsewhere",)
    assert "first=elsewhere" in caplog.text


def test_a_node_that_the_hub_gets_to_know_later_has_its_evidence_then() -> None:
    world = World()
    world.bad("n9")
    assert world.active == []
    world.fleet.set_targets(targets_of(["n9:9877"]))
    world.bad("n9")
    assert world.active == [("n9", "evidence_GPUMissing")]


def test_clusters_end_only_their_own_evidence() -> None:
    world = World()
    world.bad("n1")
    world.reconciler = world.of(KUBERNETES, "other")
    world.bad("n2")
    world.reconciler = world.of(SLURM, "kubernetes")
    world.report()
    assert [node for node, _ in world.active] == ["n1", "n2"]


def test_evidence_of_clusters_that_are_configured_no_more_is_left_over() -> None:
    world = World()
    world.bad("n1")
    alerts = list(world.fleet.evidence.all())
    assert list(left_over(alerts, [(KUBERNETES, "kubernetes")])) == []
    assert list(left_over(alerts, [(SLURM, "kubernetes")])) == [alerts[0].key]


def test_two_devices_of_one_condition_are_two_pieces_of_evidence() -> None:
    world = World()
    both = (problem(device="GPU-1"), problem(device="GPU-2"))
    world.report(NodeReport(node="n1", problems=both))
    assert len(world.active) == 2
    world.report(NodeReport(node="n1", problems=both[:1]))
    assert len(world.active) == 1
