"""Two schedulers over the same machines: one incident, both holds in step, each read back."""

from collections.abc import Iterator, Sequence

import msgspec
import pytest

from accelwatch.action.contract import ActionUnavailableError
from accelwatch.action.intent import IntentKind, JobKey
from accelwatch.action.observed import HoldState, NodeObservation
from accelwatch.action.step import RefusalKind, Report, ReportStatus, Step
from accelwatch.remediation.execution.operations.journal_quarantines import JournalQuarantines
from accelwatch.remediation.execution.operations.operation import OperationState
from accelwatch.remediation.pairing.paired_action import PairedAction
from accelwatch.remediation.pairing.shared_nodes import shared_nodes
from accelwatch.remediation.policy.state.model import Clocks, Remedy, RemedyState
from accelwatch.remediation.policy.state.pursued import PursuitResult
from accelwatch.remediation.policy.state.stage import Stage
from remediation.bench import MARK, Bench, intent
from remediation.crash import KilledError as KilledAtError
from remediation.crash import Point, kill_at, spare
from remediation.fake_scheduler import FakeAction, FakeScheduler
from remediation.markless import MarklessAction

QUARANTINE, RELEASE = intent(IntentKind.QUARANTINE), intent(IntentKind.RELEASE)


class PairBench(Bench):
    """The bench's scheduler with another one, `cluster`, over n1 to n4; k1 is the other one's alone."""

    def __init__(self) -> None:
        super().__init__()
        self.cluster = FakeScheduler(self.clock, ("n1", "n2", "n3", "n4", "k1"))
        self.second = FakeAction(self.cluster)
        self.first = self.action
        self.restart()

    def restart(self) -> None:
        super().restart()
        if hasattr(self, "second"):
            self.pair = PairedAction(("fake", self.first), ("cluster", self.second))
            self.site = self.site._replace(action=self.pair)

    def poll(self, name: str = "n1") -> NodeObservation:
        nodes = self.loop.run_until_complete(self.pair.observe_all())
        (node,) = [node for node in nodes if node.name == name]
        return node

    def marks(self, node: str = "n1") -> tuple[bool, bool]:
        """Whether each has our hold."""
        ours = self.world.nodes[node].mark, self.cluster.nodes[node].mark
        return ours[0] is not None, ours[1] is not None


@pytest.fixture
def bench() -> Iterator[PairBench]:
    bench = PairBench()
    yield bench
    bench.loop.close()


def test_a_hold_is_achieved_when_both_show_it(bench: PairBench) -> None:
    end = bench.pursue(QUARANTINE)
    assert end is not None
    assert end.result is PursuitResult.ACHIEVED
    assert bench.marks() == (True, True)
    done = [kind for kind, state in bench.lives() if state is OperationState.OBSERVED]
    assert done == ["drain", "cluster/drain"]
    assert bench.poll().hold_state is HoldState.OURS


def test_a_release_is_achieved_when_neither_shows_it(bench: PairBench) -> None:
    bench.pursue(QUARANTINE)
    end = bench.pursue(RELEASE)
    assert end is not None
    assert end.result is PursuitResult.ACHIEVED
    assert bench.marks() == (False, False)
    assert bench.poll().hold_state is HoldState.OPEN


class KilledError(BaseException):
    """The engine is gone, at once."""


def _killed(_: Step) -> None:
    raise KilledError


@pytest.mark.parametrize("hook", ["before_effect", "after_effect"])
@pytest.mark.parametrize("side", ["first", "second"])
def test_a_crash_at_either_mark_leaves_none_forgotten(
    bench: PairBench, side: str, hook: str
) -> None:
    action = getattr(bench, side)
    setattr(action, hook, _killed)
    with pytest.raises(KilledError):
        bench.pursue(QUARANTINE)
    setattr(action, hook, lambda _: None)
    bench.end_all()
    bench.restart()
    end = bench.pursue(QUARANTINE)
    assert end is not None
    assert end.result is PursuitResult.ACHIEVED
    assert bench.marks() == (True, True)
    assert bench.world.count("drain", "n1") == bench.cluster.count("drain", "n1") == 1


@pytest.mark.parametrize("side", ["first", "second"])
def test_a_crash_between_the_two_releases_leaves_none_forgotten(
    bench: PairBench, side: str
) -> None:
    bench.pursue(QUARANTINE)
    action = getattr(bench, side)
    action.after_effect = _killed
    with pytest.raises(KilledError):
        bench.pursue(RELEASE)
    action.after_effect = lambda _: None
    bench.end_all()
    bench.restart()
    end = bench.pursue(RELEASE)
    assert end is not None
    assert end.result is PursuitResult.ACHIEVED
    assert bench.marks() == (False, False)


def test_a_node_that_somebody_holds_in_the_second_is_marked_in_neither(bench: PairBench) -> None:
    bench.cluster.admin_drains("n1")
    end = bench.pursue(QUARANTINE)
    assert end is not None
    assert (end.result, end.refusal) == (PursuitResult.REFUSED, RefusalKind.FOREIGN)
    assert bench.marks() == (False, False)
    assert bench.operations() == []
    assert bench.poll().hold_state is HoldState.FOREIGN


def test_one_that_somebody_holds_in_the_first_is_marked_in_neither(bench: PairBench) -> None:
    bench.world.admin_drains("n1")
    end = bench.pursue(QUARANTINE)
    assert end is not None
    assert end.refusal is RefusalKind.FOREIGN
    assert bench.marks() == (False, False)


def test_one_that_is_taken_in_the_second_between_the_marks_is_out_in_both(bench: PairBench) -> None:
    bench.first.after_effect = lambda _: bench.cluster.admin_drains("n1")
    end = bench.pursue(QUARANTINE)
    assert end is not None
    assert end.result is PursuitResult.ACHIEVED
    assert bench.marks() == (True, False)
    assert bench.cluster.nodes["n1"].reason == "swap the riser"
    assert bench.poll().hold_state is HoldState.OURS
    bench.first.after_effect = lambda _: None
    bench.pursue(RELEASE)
    assert bench.marks() == (False, False)
    assert bench.cluster.nodes["n1"].reason == "swap the riser"


def test_while_the_second_does_not_answer_the_first_is_marked_and_the_second_waited_for(
    bench: PairBench,
) -> None:
    bench.poll()
    bench.cluster.unavailable = "connection refused"
    assert bench.pursue(QUARANTINE, within_s=60.0) is None
    assert bench.marks() == (True, False)
    assert bench.poll().hold_state is HoldState.OURS
    assert bench.poll("k1").name == "k1"
    bench.end_all()
    bench.cluster.unavailable = ""
    end = bench.pursue(QUARANTINE)
    assert end is not None
    assert end.result is PursuitResult.ACHIEVED
    assert bench.marks() == (True, True)


def test_while_the_first_does_not_answer_nothing_is_done(bench: PairBench) -> None:
    bench.poll()
    bench.world.unavailable = "slurmctld is down"
    assert bench.pursue(QUARANTINE, within_s=60.0) is None
    assert bench.marks() == (False, False)
    with pytest.raises(ActionUnavailableError):
        bench.poll()
    bench.end_all()


def test_an_answer_that_was_lost_is_read_back_from_the_second(bench: PairBench) -> None:
    bench.second.answers = [Report(status=ReportStatus.UNKNOWN, text="timed out")]
    end = bench.pursue(QUARANTINE)
    assert end is not None
    assert end.result is PursuitResult.ACHIEVED
    assert bench.marks() == (True, True)


@pytest.mark.parametrize("side", ["world", "cluster"])
def test_a_person_who_gives_the_node_back_in_one_has_undone_the_hold(
    bench: PairBench, side: str
) -> None:
    """What follows is the table's: the node is left alone, and what is left of our hold is removed."""
    bench.pursue(QUARANTINE)
    assert bench.poll().undone == ""
    getattr(bench, side).admin_resumes("n1")
    shown = bench.poll()
    assert (shown.hold_state, shown.annotation) == (HoldState.OURS, None)
    assert shown.undone.endswith("shows no hold of ours any more")
    bench.pursue(RELEASE)
    assert bench.marks() == (False, False)


def test_what_the_second_has_shown_before_it_went_away_undoes_nothing(bench: PairBench) -> None:
    bench.poll()
    bench.pursue(QUARANTINE)
    bench.cluster.unavailable = "connection refused"
    shown = bench.poll()
    assert (shown.hold_state, shown.annotation, shown.undone) == (HoldState.OURS, MARK, "")


def test_what_only_the_second_has_is_its_own(bench: PairBench) -> None:
    assert bench.poll("k1").hold_state is HoldState.OPEN
    end = bench.pursue(intent(IntentKind.QUARANTINE, "k1"))
    assert end is not None
    assert end.result is PursuitResult.ACHIEVED
    assert bench.cluster.nodes["k1"].mark == MARK
    assert bench.poll("k1").hold_state is HoldState.OURS


def test_what_only_the_first_has_is_its_own(bench: PairBench) -> None:
    end = bench.pursue(intent(IntentKind.QUARANTINE, "s1"))
    assert end is not None
    assert end.result is PursuitResult.ACHIEVED
    assert bench.world.nodes["s1"].mark == MARK


def test_jobs_are_the_firsts_and_those_of_the_second_go_to_it(bench: PairBench) -> None:
    slurm = bench.job("n1")
    pods = bench.cluster.add_job("ml/Job/trainer", "n1")
    pods.key = JobKey("cluster", "ml/Job/trainer", pods.key.submitted)
    assert set(bench.poll().jobs) == {slurm, pods.key}
    bench.pursue(intent(IntentKind.CANCEL_JOB, job=pods.key))
    assert bench.cluster.count("cancel", "ml/Job/trainer") == 1
    bench.pursue(intent(IntentKind.CANCEL_JOB, job=slurm))
    assert bench.world.count("cancel", "17") == 1


def test_an_operation_from_before_the_pair_is_understood(bench: PairBench) -> None:
    """The first's steps have the names that they had."""
    bench.site = bench.site._replace(action=bench.first)

    bench.first.after_effect = _killed
    with pytest.raises(KilledError):
        bench.pursue(QUARANTINE)
    bench.first.after_effect = lambda _: None
    bench.end_all()
    bench.restart()
    end = bench.pursue(QUARANTINE)
    assert end is not None
    assert end.result is PursuitResult.ACHIEVED
    assert bench.world.count("drain", "n1") == 1


def _node(name: str, address: str = "", uuid: str = "") -> NodeObservation:
    return NodeObservation(name=name, hold_state=HoldState.OPEN, address=address, system_uuid=uuid)


@pytest.mark.parametrize(
    ("first", "second", "names"),
    [
        (_node("n1"), _node("n1"), {"n1": "n1"}),
        (
            _node("n1", address="gpu-1"),
            _node("ip-10-0-0-1", address="gpu-1"),
            {"n1": "ip-10-0-0-1"},
        ),
        (_node("n1", uuid="4C4C-AA"), _node("k1", uuid="4c4c-aa"), {"n1": "k1"}),
        (_node("n1", address="a"), _node("k1", address="b"), {}),
        (_node("n1"), _node("k1"), {}),
    ],
)
def test_one_machine_is_known_by_firmware_name_or_address(
    first: NodeObservation, second: NodeObservation, names: dict[str, str]
) -> None:
    shared = shared_nodes([first], [second])
    assert shared.names == names
    assert shared.others == (frozenset() if names else {second.name})


def test_a_serial_that_two_have_identifies_nothing() -> None:
    second = [_node("k1", uuid="0"), _node("k2", uuid="0")]
    assert shared_nodes([_node("n1", uuid="0")], second).names == {}
    assert shared_nodes(second, [_node("n1", uuid="0")]).names == {}


def test_a_serial_that_two_have_leaves_them_their_names() -> None:
    first = [_node("n1", uuid="0"), _node("n2", uuid="0")]
    assert shared_nodes(first, [_node("n2", uuid="0")]).names == {"n2": "n2"}


def test_the_firmware_comes_before_the_name() -> None:
    """A name was given to another machine."""
    second = [_node("n1", uuid="b"), _node("n2", uuid="a")]
    assert shared_nodes([_node("n1", uuid="a")], second).names == {"n1": "n2"}


def _rename(bench: PairBench) -> None:
    bench.cluster.nodes["kube-1"] = bench.cluster.nodes.pop("n1")
    bench.cluster.nodes["kube-1"].name = "kube-1"


def test_each_is_queried_by_its_own_name_of_the_machine(bench: PairBench) -> None:
    _rename(bench)
    see = bench.cluster.see
    bench.cluster.see = lambda name: msgspec.structs.replace(  # type: ignore[method-assign]
        see(name), address="n1" if name == "kube-1" else name
    )
    end = bench.pursue(QUARANTINE)
    assert end is not None
    assert end.result is PursuitResult.ACHIEVED
    assert bench.cluster.nodes["kube-1"].mark == MARK
    assert end.observed is not None
    assert end.observed.node is not None
    assert end.observed.node.name == "n1"


def _restart_without_second(bench: PairBench) -> None:
    bench.restart()
    bench.cluster.unavailable = "connection refused"


def test_a_second_that_has_not_answered_since_the_start_is_waited_for(bench: PairBench) -> None:
    _restart_without_second(bench)
    assert bench.pursue(QUARANTINE, within_s=60.0) is None
    assert bench.marks() == (True, False)
    bench.end_all()
    bench.cluster.unavailable = ""
    bench.poll()
    end = bench.pursue(QUARANTINE)
    assert end is not None
    assert end.result is PursuitResult.ACHIEVED
    assert bench.marks() == (True, True)


def test_no_mark_is_forgotten_in_a_second_that_has_not_answered_since_the_start(
    bench: PairBench,
) -> None:
    bench.pursue(QUARANTINE)
    _restart_without_second(bench)
    assert bench.pursue(RELEASE, within_s=60.0) is None
    assert bench.marks() == (False, True)
    bench.end_all()
    bench.cluster.unavailable = ""
    bench.poll()
    end = bench.pursue(RELEASE)
    assert end is not None
    assert end.result is PursuitResult.ACHIEVED
    assert bench.marks() == (False, False)


def test_what_only_the_second_may_have_waits_for_its_first_answer(bench: PairBench) -> None:
    bench.pursue(intent(IntentKind.QUARANTINE, "k1"))
    _restart_without_second(bench)
    assert bench.pursue(intent(IntentKind.RELEASE, "k1"), within_s=60.0) is None
    assert bench.cluster.nodes["k1"].mark == MARK
    bench.end_all()


@pytest.mark.parametrize("was_there", [True, False])
def test_a_node_that_is_new_in_one_is_distinguished_from_one_that_a_person_gave_back(
    bench: PairBench, was_there: bool
) -> None:
    """By its incarnation: of which nodes it is the pair."""
    if was_there:
        bench.poll()
    there = bench.cluster.nodes.pop("n1")
    end = bench.pursue(QUARANTINE)
    assert end is not None
    assert end.observed is not None
    alone = end.observed.node
    assert alone is not None
    bench.cluster.nodes["n1"] = there
    shown = bench.poll()
    assert shown.undone.endswith("shows no hold of ours any more")
    assert set(shown.incarnation.split()) - set(alone.incarnation.split())
    bench.cluster.unavailable = "connection refused"
    assert not set(bench.poll().incarnation.split()) - set(shown.incarnation.split())


def test_jobs_of_a_second_that_does_not_answer_have_not_left(bench: PairBench) -> None:
    pods = bench.cluster.add_job("ml/Job/trainer", "n1")
    assert (bench.poll().jobs, bench.poll().jobs_missing) == ((pods.key,), "")
    bench.cluster.unavailable = "connection refused"
    assert (bench.poll().jobs, bench.poll().jobs_missing) == ((pods.key,), "cluster")
    assert bench.poll("s1").jobs_missing == ""
    _restart_without_second(bench)
    assert (bench.poll().jobs, bench.poll().jobs_missing) == ((), "cluster")
    bench.cluster.unavailable = ""
    assert bench.poll().jobs_missing == ""


def test_people_are_notified_of_a_second_that_does_not_answer(
    bench: PairBench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.poll()
    assert bench.pair.complaints() == []
    bench.cluster.unavailable = "the API server answered 401 Unauthorized"
    bench.poll()
    bench.poll()
    text = "cluster does not answer: the API server answered 401 Unauthorized"
    assert bench.pair.complaints() == [text]
    assert len([record for record in caplog.records if text in record.getMessage()]) == 1
    bench.cluster.unavailable = ""
    bench.poll()
    assert bench.pair.complaints() == []


class _Previewing(FakeAction):
    """Says what it was asked."""

    async def preview(self, node: str, device: str) -> Sequence[str]:
        return [f"{node} {device}"]


def test_a_drain_is_previewed_by_whoever_can_under_its_own_name(bench: PairBench) -> None:
    bench.second = _Previewing(bench.cluster)
    bench.restart()
    _rename(bench)
    see = bench.cluster.see
    bench.cluster.see = lambda name: msgspec.structs.replace(  # type: ignore[method-assign]
        see(name), address="n1" if name == "kube-1" else name
    )
    bench.poll()
    for node, texts in (("n1", ["kube-1 GPU-0"]), ("k1", ["k1 GPU-0"]), ("s1", [])):
        assert bench.loop.run_until_complete(bench.pair.preview(node, "GPU-0")) == texts


class MarklessPair(PairBench):
    """The cluster keeps no mark of ours, and calls n1 `gpu-1`."""

    def __init__(self) -> None:
        super().__init__()
        nodes = self.cluster.nodes
        nodes["gpu-1"] = nodes.pop("n1")
        nodes["gpu-1"].name = "gpu-1"
        self.second = MarklessAction(self.cluster)
        self.second.addresses = {"gpu-1": "n1"}
        self.restart()

    def restart(self) -> None:
        super().restart()
        if hasattr(self, "second"):
            clocks = Clocks(since=0.0, begun=0.0)
            remedy = Remedy(node="n1", stage=Stage.QUARANTINING, clocks=clocks, pursuing=QUARANTINE)
            state = RemedyState(remedies={"n1": remedy})
            self.pair.set_quarantines(JournalQuarantines("fake", self.ledger, lambda: state))

    def is_out(self) -> bool:
        return self.cluster.see("gpu-1").hold_state is not HoldState.OPEN


@pytest.fixture
def markless() -> Iterator[MarklessPair]:
    bench = MarklessPair()
    yield bench
    bench.loop.close()


@pytest.mark.parametrize("hook", ["before_effect", "after_effect"])
def test_the_second_knows_our_hold_by_its_own_name_of_the_node(
    markless: MarklessPair, hook: str
) -> None:
    """Killed at its mark."""
    setattr(markless.second, hook, _killed)
    with pytest.raises(KilledError):
        markless.pursue(QUARANTINE)
    setattr(markless.second, hook, lambda _: None)
    markless.end_all()
    markless.restart()
    assert markless.poll().hold_state is HoldState.OURS
    end = markless.pursue(QUARANTINE)
    assert end is not None
    assert markless.cluster.count("drain", "gpu-1") == 1
    assert markless.is_out()


def test_the_first_poll_shows_which_nodes_of_the_second_are_ours(markless: MarklessPair) -> None:
    """The holds have the first's names, which the second learns by that poll."""
    markless.pursue(QUARANTINE)
    markless.world.admin_resumes("n1")
    markless.restart()
    shown = markless.poll()
    assert shown.hold_state is HoldState.OURS
    assert shown.undone


def test_a_person_has_what_only_the_first_holds_for_us(markless: MarklessPair) -> None:
    """Killed between the two marks; meanwhile a person takes the node out of the second."""
    kill_at(markless, Point.BEFORE_RESERVE, 1)
    with pytest.raises(KilledAtError):
        markless.pursue(QUARANTINE)
    spare(markless)
    markless.end_all()
    markless.cluster.admin_drains("gpu-1")
    markless.restart()
    end = markless.pursue(QUARANTINE)
    assert end is not None
    assert end.result is PursuitResult.ACHIEVED, "it is out of both"
    seconds = markless.loop.run_until_complete(markless.second.observe_all())
    states = {node.name: node.hold_state for node in seconds}
    assert states["gpu-1"] is HoldState.FOREIGN
    markless.pursue(RELEASE)
    assert markless.world.nodes["n1"].mark is None
    assert markless.cluster.nodes["gpu-1"].reason == "swap the riser"
    assert markless.cluster.count("undrain", "gpu-1") == 0
