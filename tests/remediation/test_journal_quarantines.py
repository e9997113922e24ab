"""Where a scheduler keeps no mark of ours, the journal says which holds are ours, killed or not."""

import contextlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from accelwatch.action.intent import IntentKind, OwnerAnnotation
from accelwatch.action.step import Report, ReportStatus, Step
from accelwatch.alerting.incidents.journal.records import Batch, StateRecord
from accelwatch.remediation.execution.operations.journal_quarantines import JournalQuarantines
from accelwatch.remediation.execution.operations.ledger import Ledger
from accelwatch.remediation.execution.operations.operation import (
    KEPT_S,
    KIND,
    Operation,
    OperationState,
    record,
)
from accelwatch.remediation.policy.state.model import Clocks, NodeQuarantine, Remedy, RemedyState
from accelwatch.remediation.policy.state.stage import Stage
from remediation.bench import MARK, NAME, Bench, intent
from remediation.crash import KilledError, run_until_killed, spare
from remediation.fake_scheduler import IRREVERSIBLE, FakeScheduler
from remediation.fleet_watch import FleetWatch
from remediation.markless import MarklessAction
from remediation.memory_journal import MemoryJournal
from remediation.virtual_time import START

# After the engine has looked around.
FAULT_S = 300.0
QUARANTINE, RELEASE = intent(IntentKind.QUARANTINE), intent(IntentKind.RELEASE)
DONE, RETRY = Report(status=ReportStatus.DONE), Report(status=ReportStatus.RETRY)


class MarklessWatch(FleetWatch):
    """The fleet under a scheduler without marks."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.new_hub()

    def new_hub(self, *others: tuple[str, MarklessAction]) -> None:
        """The process was started anew, and has what the journal has; `others` are further actions."""
        self.bench.action = self.action = MarklessAction(self.bench.world)
        self.engine = self.new(*others)

    def undrained(self) -> int:
        """How often we have given the node back."""
        return self.bench.world.count("undrain", "n03")

    @property
    def is_held_by_a_person(self) -> bool:
        return self.bench.world.nodes["n03"].reason == "swap the riser"


@pytest.fixture
def watch(tmp_path: Path) -> Iterator[MarklessWatch]:
    watch = MarklessWatch(tmp_path)
    watch.bench.world.add_job("17", "n03", exclude="n05")
    watch.bench.at(FAULT_S, lambda: watch.fault("n03"))
    yield watch
    watch.bench.loop.close()


def test_a_node_is_taken_out_and_comes_back(watch: MarklessWatch) -> None:
    watch.run(FAULT_S + 300.0)
    done = Counter(one.kind for one in watch.bench.world.effects)
    assert (done["drain"], done["undrain"], done["requeue"]) == (1, 1, 1)
    assert watch.held() == []
    assert watch.engine.state.remedies == {}


@pytest.mark.parametrize("number", range(0, 44, 3))
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_kill_at_any_commit_loses_no_hold(watch: MarklessWatch, when: str, number: int) -> None:
    run_until_killed(watch.bench, lambda: watch.run(FAULT_S + 30.0), when, number)
    watch.new_hub()
    watch.run(900.0)
    done = Counter((one.kind, one.target) for one in watch.bench.world.effects if one.operation)
    assert all(count == 1 for (kind, _), count in done.items() if kind in IRREVERSIBLE)
    assert watch.undrained() == 1
    assert watch.held() == []
    assert watch.engine.state.remedies == {}
    assert not any(one.is_open for one in watch.bench.operations())


def killed_when_reserved(watch: MarklessWatch) -> None:
    """The hub is killed when the drain is written down, and before it is begun."""

    def fail(_: object) -> None:
        raise KilledError

    def look(batch: Batch) -> None:
        states = [one for one in batch.records if isinstance(one, StateRecord)]
        if any(one.kind == KIND for one in states):
            watch.bench.journal.before = fail
            raise KilledError

    watch.bench.journal.after = look
    with contextlib.suppress(KilledError):
        watch.run(FAULT_S + 30.0)
    spare(watch.bench)
    watch.bench.end_all()
    assert [one.state for one in watch.bench.operations()] == [OperationState.RESERVED]


def test_who_drains_after_a_step_that_was_never_sent_keeps_the_node(watch: MarklessWatch) -> None:
    """It was only written down: what keeps the node out cannot be ours."""
    killed_when_reserved(watch)
    watch.bench.world.admin_drains("n03")
    watch.new_hub()
    watch.run(900.0)
    assert watch.is_held_by_a_person
    assert watch.undrained() == 0


def test_who_drains_first_keeps_the_node(watch: MarklessWatch) -> None:
    watch.bench.at(FAULT_S - 20.0, lambda: watch.bench.world.admin_drains("n03"))
    watch.run(FAULT_S + 900.0)
    assert watch.is_held_by_a_person
    assert watch.undrained() == 0


def test_who_drains_when_we_have_just_given_it_back_keeps_the_node(watch: MarklessWatch) -> None:
    def drain_again(step: Step) -> None:
        if step.kind == "undrain":
            watch.bench.world.admin_drains("n03")

    watch.bench.action.after_effect = drain_again
    watch.run(FAULT_S + 900.0)
    assert watch.undrained() == 1
    assert watch.is_held_by_a_person


def test_who_drains_again_what_a_person_had_given_back_keeps_the_node(
    watch: MarklessWatch,
) -> None:
    watch.bench.at(FAULT_S + 5.0, lambda: watch.bench.world.admin_resumes("n03"))
    watch.bench.at(FAULT_S + 30.0, lambda: watch.bench.world.admin_drains("n03"))
    watch.run(FAULT_S + 60.0)
    watch.new_hub()
    watch.run(900.0)
    assert watch.undrained() == 0
    assert watch.is_held_by_a_person


def test_a_hold_of_a_lost_journal_is_left_to_a_person(watch: MarklessWatch) -> None:
    """As is one of another hub."""
    watch.run(FAULT_S + 4.0)
    assert watch.held() == ["n03"]
    watch.bench.journal = MemoryJournal()
    watch.new_hub()
    watch.bench.at(250.0, lambda: watch.fault("n03"))
    watch.run(900.0)
    assert watch.held() == ["n03"]
    assert watch.undrained() == 0


def test_what_one_scheduler_holds_is_not_held_in_another_one(watch: MarklessWatch) -> None:
    """Both may have a node of that name, and a person may take the other's out."""
    second = MarklessAction(FakeScheduler(watch.bench.clock, ["m01"], []))
    watch.new_hub(("other", second))
    watch.run(FAULT_S + 4.0)
    for _ in range(2):
        assert list(watch.action.quarantines) == ["n03"]
        assert dict(second.quarantines) == {}
        watch.new_hub(("other", second))
        watch.run(2.0)


def operation(
    kind: IntentKind, state: OperationState, report: Report | None = None, at: float = 0.0
) -> Operation:
    wanted = QUARANTINE if kind is IntentKind.QUARANTINE else RELEASE
    is_drain = kind is IntentKind.QUARANTINE
    return Operation(
        id=f"{kind}-{at}",
        action=NAME,
        intent=wanted,
        step=Step(kind="drain" if is_drain else "undrain"),
        attempt=1,
        state=state,
        reserved=START + at,
        started=START + at,
        report=report,
        ended=START + at,
    )


def holds(
    bench: Bench,
    *operations: Operation,
    pursues: bool = False,
    held: NodeQuarantine | None = None,
) -> JournalQuarantines:
    states = [record(one) for one in operations]
    remedy = Remedy(
        node="n1",
        stage=Stage.QUARANTINING,
        clocks=Clocks(since=START, begun=START),
        pursuing=QUARANTINE if pursues else None,
        hold=held,
    )
    ledger = Ledger(None, bench.clock, states)
    return JournalQuarantines(NAME, ledger, lambda: RemedyState(remedies={"n1": remedy}))


HELD = NodeQuarantine(node="n1", mark=MARK, original={"takes_work": "yes"})


@pytest.fixture
def bench() -> Iterator[Bench]:
    bench = Bench()
    yield bench
    bench.loop.close()


@pytest.mark.parametrize(
    ("state", "report", "ours"),
    [
        (OperationState.RESERVED, None, False),
        (OperationState.STARTED, None, True),
        (OperationState.ANSWERED, DONE, True),
        (OperationState.ANSWERED, RETRY, False),
        (OperationState.UNKNOWN, None, True),
        (OperationState.FAILED, None, False),
        (OperationState.CANCELLED, None, False),
    ],
)
def test_a_hold_counts_from_when_it_may_have_been_sent(
    bench: Bench, state: OperationState, report: Report | None, ours: bool
) -> None:
    assert holds(bench, operation(IntentKind.QUARANTINE, state, report)).get("n1") == (
        MARK if ours else None
    )


def test_a_hold_that_was_seen_counts_until_a_decision_has_taken_it_up(bench: Bench) -> None:
    seen = operation(IntentKind.QUARANTINE, OperationState.OBSERVED)
    assert dict(holds(bench, seen, pursues=True)) == {"n1": MARK}
    assert dict(holds(bench, seen)) == {}, "a person has undone it"
    assert dict(holds(bench, seen, held=HELD)) == {"n1": MARK}


@pytest.mark.parametrize(
    ("state", "report", "ours"),
    [
        (OperationState.RESERVED, None, True),
        (OperationState.STARTED, None, True),
        (OperationState.UNKNOWN, None, True),
        (OperationState.FAILED, None, True),
        (OperationState.ANSWERED, DONE, False),
        (OperationState.OBSERVED, None, False),
    ],
)
def test_a_hold_counts_until_its_release_is_known_to_be_done(
    bench: Bench, state: OperationState, report: Report | None, ours: bool
) -> None:
    seen = operation(IntentKind.QUARANTINE, OperationState.OBSERVED)
    given_back = operation(IntentKind.RELEASE, state, report, at=1.0)
    assert ("n1" in holds(bench, seen, given_back, held=HELD)) == ours


def test_a_hold_after_a_release_counts_again(bench: Bench) -> None:
    given_back = operation(IntentKind.RELEASE, OperationState.OBSERVED)
    again = operation(IntentKind.QUARANTINE, OperationState.STARTED, at=1.0)
    assert "n1" in holds(bench, given_back, again)


@pytest.mark.parametrize(("action", "ours"), [(NAME, True), ("other", False)])
def test_a_hold_is_that_of_the_action_that_has_it(bench: Bench, action: str, ours: bool) -> None:
    held = msgspec.structs.replace(HELD, action=action)
    assert ("n1" in holds(bench, held=held)) == ours
    assert len(holds(bench, held=held)) == ours


def test_a_hold_whose_action_was_not_recorded_counts(bench: Bench) -> None:
    assert "n1" in holds(bench, held=HELD)


def test_a_hold_outlives_what_the_ledger_remembers(bench: Bench) -> None:
    old = operation(IntentKind.QUARANTINE, OperationState.OBSERVED, at=-KEPT_S - 1.0)
    assert holds(bench, old, held=HELD)["n1"] == MARK


def test_each_scheduler_of_a_pair_gets_what_its_own_steps_have_set(bench: Bench) -> None:
    ours = msgspec.structs.replace(HELD, original={"cluster/takes_work": "yes"})
    both = holds(bench, held=ours)
    assert dict(both.narrowed(lambda key: key.startswith("cluster/"))) == {"n1": MARK}
    assert dict(both.narrowed(lambda key: not key.startswith("cluster/"))) == {}


def test_a_node_goes_by_the_schedulers_name(bench: Bench) -> None:
    remedy = Remedy(
        node="gpu1",
        target="i-gpu1",
        stage=Stage.QUARANTINED,
        clocks=Clocks(since=START, begun=START),
        hold=msgspec.structs.replace(HELD, mark=OwnerAnnotation("i7", 3)),
    )
    state = RemedyState(remedies={"gpu1": remedy})
    known = JournalQuarantines(NAME, Ledger(None, bench.clock), lambda: state)
    assert dict(known) == {"i-gpu1": OwnerAnnotation("i7", 3)}
    assert len(known) == 1
