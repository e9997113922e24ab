"""A pursuit: written down before it happens, done once, judged by what is seen."""

import asyncio
import itertools
from collections.abc import Iterator

import pytest

from accelwatch.action.intent import Intent, IntentKind, OwnerAnnotation
from accelwatch.action.observed import Observed
from accelwatch.action.step import (
    Achieved,
    Proposal,
    Recovery,
    RefusalKind,
    Report,
    ReportStatus,
    Step,
    StepKind,
    Wait,
)
from accelwatch.alerting.incidents.journal.errors import JournalError
from accelwatch.alerting.incidents.journal.records import Batch, StateRecord
from accelwatch.remediation.execution.operations.lanes import Lanes
from accelwatch.remediation.execution.operations.operation import KIND, OperationState, operation_of
from accelwatch.remediation.policy.state.pursued import Pursued, PursuitResult
from remediation.bench import Bench, intent
from remediation.fake_scheduler import STEPS
from remediation.virtual_time import START

RESERVED, STARTED, ANSWERED = (
    OperationState.RESERVED,
    OperationState.STARTED,
    OperationState.ANSWERED,
)
OBSERVED, FAILED = OperationState.OBSERVED, OperationState.FAILED
UNKNOWN, CANCELLED = OperationState.UNKNOWN, OperationState.CANCELLED
QUARANTINE = intent(IntentKind.QUARANTINE)


@pytest.fixture
def bench() -> Iterator[Bench]:
    bench = Bench()
    yield bench
    bench.loop.close()


def ended(pursued: Pursued | None) -> PursuitResult:
    assert pursued is not None
    return pursued.result


def test_a_reservation_that_was_written_without_an_answer_holds_up_nothing(bench: Bench) -> None:
    """A database can commit and be gone before it says so."""
    unanswered = ["the connection was lost"]

    def lose(batch: Batch) -> None:
        if unanswered:
            raise JournalError(unanswered.pop())

    bench.journal.after = lose
    assert ended(bench.pursue(QUARANTINE)) is PursuitResult.ACHIEVED
    assert bench.lives()[:2] == [("drain", RESERVED), ("drain", CANCELLED)]
    assert bench.world.count("drain", "n1") == 1


def test_a_start_that_was_written_without_an_answer_is_restarted(bench: Bench) -> None:
    written = []

    def lose(batch: Batch) -> None:
        written.append(batch)
        if len(written) == 2:
            raise JournalError("the connection was lost")

    bench.journal.after = lose
    assert ended(bench.pursue(QUARANTINE)) is PursuitResult.ACHIEVED
    assert bench.lives()[:3] == [("drain", RESERVED), ("drain", STARTED), ("drain", CANCELLED)]
    assert bench.world.count("drain", "n1") == 1


def test_each_effect_is_written_down_before_it_happens(bench: Bench) -> None:
    seen: list[OperationState] = []
    bench.action.before_effect = lambda _: seen.append(bench.operations()[-1].state)
    assert ended(bench.pursue(QUARANTINE)) is PursuitResult.ACHIEVED
    assert seen == [STARTED]
    assert bench.lives() == [
        ("drain", RESERVED),
        ("drain", STARTED),
        ("drain", ANSWERED),
        ("drain", OBSERVED),
    ]


def test_what_is_so_already_is_not_done(bench: Bench) -> None:
    bench.pursue(QUARANTINE)
    assert ended(bench.pursue(QUARANTINE)) is PursuitResult.ACHIEVED
    assert bench.world.count("drain", "n1") == 1


def test_somebody_elses_node_is_not_touched(bench: Bench) -> None:
    bench.world.admin_drains("n1")
    end = bench.pursue(QUARANTINE)
    assert end is not None
    assert (end.result, end.refusal) == (PursuitResult.REFUSED, RefusalKind.FOREIGN)
    assert bench.world.nodes["n1"].reason == "swap the riser"
    assert bench.operations() == []


def test_a_job_is_moved_step_by_step(bench: Bench) -> None:
    job = bench.job("n1", exclude="n3")
    move = intent(IntentKind.MOVE_JOB, job=job, bad_nodes=("n1",), spare="s1")
    bench.pursue(QUARANTINE)
    end = bench.pursue(move)
    assert end is not None
    assert (end.result, end.moved_to) == (PursuitResult.ACHIEVED, ("s1",))
    assert end.original == {"exclude": "n3"}
    assert [kind for kind, state in bench.lives() if state is OBSERVED] == [
        "drain",
        "exclude",
        "keep_place",
        "requeue",
    ]
    restore = intent(IntentKind.RESTORE_JOB, job=job, original=end.original)
    assert ended(bench.pursue(restore)) is PursuitResult.ACHIEVED
    assert bench.world.jobs["17"].exclude == "n3"


def test_what_comes_about_quickly_is_polled_often_but_not_for_long(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[float] = []

    def propose(_: object, observed: Observed) -> Proposal:
        looked.append(observed.time)
        return Achieved("so") if len(looked) > 23 else Wait(0.1 if len(looked) < 4 else 0.0, "soon")

    monkeypatch.setattr(bench.action, "propose", propose)
    assert ended(bench.pursue(QUARANTINE)) is PursuitResult.ACHIEVED
    pauses = [round(after - before, 3) for before, after in itertools.pairwise(looked)]
    assert pauses == [0.1] * 3 + [0.05] * 17 + [0.25] * 3


def test_no_answer_is_unknown_until_it_is_seen(bench: Bench) -> None:
    bench.world.hung_until = START + 40.0
    end = bench.pursue(QUARANTINE)
    assert end is not None
    assert (end.result, end.time > START + 40.0) == (PursuitResult.ACHIEVED, True)
    assert bench.world.count("drain", "n1") == 1


def test_a_step_without_an_answer_is_looked_for(bench: Bench) -> None:
    def hang(_: object) -> None:
        bench.world.hung_until = bench.clock.wall() + 30.0

    bench.action.before_effect = hang
    assert ended(bench.pursue(QUARANTINE)) is PursuitResult.ACHIEVED
    assert [state for _, state in bench.lives()] == [RESERVED, STARTED, UNKNOWN, OBSERVED]
    assert bench.world.count("drain", "n1") == 1


def test_what_nobody_can_see_stays_unknown(bench: Bench) -> None:
    job = bench.job("n1")
    signal = intent(IntentKind.SIGNAL_JOB, job=job, signal="USR1")
    bench.action.answers = [Report(status=ReportStatus.UNKNOWN, text="cut off")]
    assert bench.pursue(signal) is None
    assert [one.result for one in bench.reported] == [PursuitResult.UNKNOWN]
    assert [one.state for one in bench.operations()] == [UNKNOWN]
    assert len(bench.action.performed) == 1


def test_an_unknown_step_holds_up_all_others_of_its_node(bench: Bench) -> None:
    signal = intent(IntentKind.SIGNAL_JOB, job=bench.job("n1"), signal="USR1")
    bench.action.answers = [Report(status=ReportStatus.UNKNOWN)]
    bench.pursue(signal)
    assert bench.pursue(QUARANTINE) is None
    assert bench.reported[-1].result is PursuitResult.UNKNOWN
    assert bench.reported[-1].intent == QUARANTINE
    other = intent(IntentKind.QUARANTINE, "n2", deadline=START + 9000.0)
    assert ended(bench.pursue(other)) is PursuitResult.ACHIEVED


def test_what_becomes_known_later_leads_on(bench: Bench) -> None:
    bench.action.answers = [Report(status=ReportStatus.UNKNOWN)]
    reset = intent(IntentKind.RESET_DEVICE, boot_id="boot-1")
    bench.at(200.0, lambda: setattr(bench.world.nodes["n1"], "resets", 1))
    assert ended(bench.pursue(reset)) is PursuitResult.ACHIEVED
    assert [one.result for one in bench.reported] == [PursuitResult.UNKNOWN, PursuitResult.ACHIEVED]
    assert bench.world.count("reset", "n1") == 0


def test_what_may_be_repeated_is_tried_again_after_1_4_and_16_seconds(bench: Bench) -> None:
    bench.action.answers = [Report(status=ReportStatus.RETRY, text="busy")] * 9
    times: list[float] = []
    bench.journal.after = lambda batch: times.append(batch.time)
    end = bench.pursue(QUARANTINE)
    assert end is not None
    assert (end.result, end.text) == (PursuitResult.FAILED, "drain n1: tried 4 times")
    started = [
        time - START
        for time, state in zip(times, bench.lives(), strict=True)
        if state == ("drain", STARTED)
    ]
    assert started == pytest.approx([0.0, 1.0, 5.0, 21.0], abs=0.1)
    assert [one.attempt for one in bench.operations()] == [1, 2, 3, 4]


def test_an_answer_may_ask_for_a_longer_pause(bench: Bench) -> None:
    bench.action.answers = [Report(status=ReportStatus.RETRY, again_after_s=90.0)]
    end = bench.pursue(QUARANTINE)
    assert end is not None
    assert (end.result, end.time >= START + 90.0) == (PursuitResult.ACHIEVED, True)


def test_what_may_not_be_repeated_is_so_only_when_it_is_seen_not_to_have_happened(
    bench: Bench,
) -> None:
    job = bench.job("n1", exclude="n1")
    move = intent(IntentKind.MOVE_JOB, job=job, bad_nodes=("n1",))
    bench.action.answers = [Report(status=ReportStatus.RETRY)]
    assert ended(bench.pursue(move)) is PursuitResult.ACHIEVED
    assert bench.lives()[:4] == [
        ("requeue", RESERVED),
        ("requeue", STARTED),
        ("requeue", ANSWERED),
        ("requeue", FAILED),
    ]
    assert bench.world.count("requeue", "17") == 1
    ticket = intent(IntentKind.SERVICE)
    bench.action.answers = [Report(status=ReportStatus.RETRY)]
    assert bench.pursue(ticket) is None
    assert bench.reported[-1].result is PursuitResult.UNKNOWN
    assert bench.world.count("ticket", "n1") == 0


def test_what_was_not_accepted_is_tried_again_before_its_effect_could_be_seen(
    bench: Bench,
) -> None:
    bench.action.answers = [Report(status=ReportStatus.RETRY)]
    assert bench.pursue(intent(IntentKind.REBOOT, boot_id="boot-1"), within_s=10.0) is None
    assert STEPS["reboot"].settle_s > 10.0
    assert [step.kind for step, _ in bench.action.performed] == ["reboot", "reboot"]


def test_what_was_accepted_is_not_done_again_while_its_effect_may_yet_be_seen(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = StepKind(idempotent=True, reversible=True, settle_s=300.0)
    monkeypatch.setattr(bench.action, "steps", {**STEPS, "drain": slow}, raising=False)
    bench.action.answers = [Report(status=ReportStatus.ACCEPTED)]
    bench.at(100.0, lambda: bench.action.apply(*bench.action.performed[0]))
    assert ended(bench.pursue(QUARANTINE)) is PursuitResult.ACHIEVED
    assert len(bench.action.performed) == 1


def test_what_is_refused_is_not_requested_again(bench: Bench) -> None:
    bench.action.answers = [Report(status=ReportStatus.REFUSED, text="Access denied")]
    end = bench.pursue(QUARANTINE)
    assert end is not None
    assert (end.result, end.refusal, end.text) == (
        PursuitResult.REFUSED,
        RefusalKind.NOT_ALLOWED,
        "Access denied",
    )
    assert len(bench.action.performed) == 1


def test_what_is_refused_because_it_is_so_already_is_achieved(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def too_late(*_: object) -> Report:
        bench.world.admin_resumes("n1")
        return Report(status=ReportStatus.REFUSED, text="already idle")

    bench.pursue(QUARANTINE)
    monkeypatch.setattr(bench.action, "perform", too_late)
    assert ended(bench.pursue(intent(IntentKind.RELEASE))) is PursuitResult.ACHIEVED


def test_what_cannot_be_seen_is_done_once(bench: Bench) -> None:
    ticket = intent(IntentKind.SERVICE)
    assert ended(bench.pursue(ticket)) is PursuitResult.ACHIEVED
    bench.restart()
    assert ended(bench.pursue(ticket)) is PursuitResult.ACHIEVED
    assert bench.world.count("ticket", "n1") == 1


def test_a_node_that_a_person_takes_back_is_not_taken_again(bench: Bench) -> None:
    bench.pursue(QUARANTINE)
    bench.world.admin_resumes("n1")
    end = bench.pursue(QUARANTINE)
    assert end is not None
    assert (end.result, end.refusal) == (PursuitResult.REFUSED, RefusalKind.OVERRIDDEN)
    assert bench.world.count("drain", "n1") == 1


def test_what_does_not_stay_is_done_again_but_not_for_ever(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = Step(kind="draw", arguments={"node": "n1", "spare": "s1"}, text="draw s1")
    outcomes = itertools.cycle([Recovery.DONE, Recovery.REDO])
    monkeypatch.setattr(bench.action, "propose", lambda *_: draw)
    monkeypatch.setattr(bench.action, "recover", lambda *_: next(outcomes))
    end = bench.pursue(intent(IntentKind.DRAW_SPARE, spare="s1"))
    assert end is not None
    assert (end.result, end.text) == (
        PursuitResult.FAILED,
        "draw s1: done 4 times, and it did not stay so",
    )
    assert bench.world.count("draw", "n1") == 4


def test_nobody_who_answers_freezes_and_is_no_failure(bench: Bench) -> None:
    bench.world.unavailable = "connection refused"
    bench.at(300.0, lambda: setattr(bench.world, "unavailable", ""))
    assert ended(bench.pursue(QUARANTINE)) is PursuitResult.ACHIEVED
    assert bench.lives()[0] == ("drain", RESERVED)


def test_nobody_who_answers_until_its_time_is_over_cancels_it(bench: Bench) -> None:
    bench.world.unavailable = "connection refused"
    end = bench.pursue(QUARANTINE)
    assert end is not None
    assert end.result is PursuitResult.CANCELLED
    assert "fake does not answer: connection refused" in end.text


def test_what_does_not_come_about_in_time_has_failed(bench: Bench) -> None:
    job = bench.job("n1")
    for name in ("n2", "n3", "n4"):
        bench.world.admin_drains(name)
    move = intent(IntentKind.MOVE_JOB, job=job, bad_nodes=("n1",), deadline=START + 60.0)
    end = bench.pursue(move)
    assert end is not None
    assert (end.result, end.time > START + 60.0) == (PursuitResult.FAILED, True)
    assert end.text == "its time is over: it has not begun again yet"
    assert bench.world.count("requeue", "17") == 1


def test_nothing_starts_while_everything_is_stopped(bench: Bench) -> None:
    bench.stopped = "stopped by anna"
    bench.at(100.0, lambda: setattr(bench, "stopped", ""))
    end = bench.pursue(QUARANTINE)
    assert end is not None
    assert end.time == pytest.approx(START + 100.0, abs=1.0)
    assert bench.lives()[0] == ("drain", RESERVED)


@pytest.mark.parametrize("at", [RESERVED, STARTED])
def test_a_stop_between_paper_and_effect_prevents_it(bench: Bench, at: OperationState) -> None:
    def stop(batch: object) -> None:
        if bench.operations()[-1].state is at:
            bench.stopped = "stopped by anna"

    bench.journal.after = stop
    assert bench.pursue(QUARANTINE, within_s=60.0) is None
    assert bench.action.performed == []
    assert bench.operations()[-1].state is CANCELLED


def test_what_is_cancelled_is_not_started(bench: Bench) -> None:
    pursuit = bench.pursuit(QUARANTINE)
    pursuit.cancel()
    bench.loop.run_until_complete(pursuit.run())
    assert [one.result for one in bench.reported] == [PursuitResult.CANCELLED]
    assert bench.operations() == []


def test_a_step_that_is_open_is_looked_at_before_it_is_cancelled(bench: Bench) -> None:
    reboot = intent(IntentKind.REBOOT, boot_id="boot-1")
    pursuit = bench.pursuit(reboot)
    bench.at(5.0, pursuit.cancel)
    bench.loop.run_until_complete(pursuit.run())
    assert [one.result for one in bench.reported] == [PursuitResult.CANCELLED]
    assert bench.reported[0].time >= START + 60.0
    assert [state for _, state in bench.lives()] == [RESERVED, STARTED, ANSWERED, OBSERVED]


def test_a_journal_that_cannot_be_written_prevents_every_effect(bench: Bench) -> None:
    bench.journal.broken = "disk full"
    pursuit = bench.pursuit(QUARANTINE)
    bench.at(50.0, lambda: seen.append(pursuit.problem))
    bench.at(50.0, lambda: setattr(bench.journal, "broken", ""))
    seen: list[str] = []
    bench.action.before_effect = lambda _: seen.append("effect")
    bench.loop.run_until_complete(pursuit.run())
    assert seen == ["nothing is done while the journal cannot be written: disk full", "effect"]
    assert (pursuit.problem, bench.ledger.problem) == ("", "")


def test_without_a_journal_nothing_is_done(bench: Bench) -> None:
    bench.commit = None
    bench.restart()
    assert bench.pursue(QUARANTINE, within_s=60.0) is None
    assert bench.action.performed == []
    assert bench.ledger.problem == "there is no journal, so nothing is done"


def test_an_answer_is_kept_until_the_journal_takes_it(bench: Bench) -> None:
    signal = intent(IntentKind.SIGNAL_JOB, job=bench.job("n1"), signal="USR1")

    def break_(_: object) -> None:
        bench.journal.broken = "disk full"

    bench.action.after_effect = break_
    bench.at(5.0, lambda: setattr(bench.journal, "broken", ""))
    assert ended(bench.pursue(signal)) is PursuitResult.ACHIEVED
    assert bench.world.count("signal", "17") == 1


def test_pursuits_of_one_node_take_turns_and_those_of_others_do_not_wait(bench: Bench) -> None:
    open_: list[int] = []
    bench.journal.after = lambda _: open_.append(
        len([one for one in bench.operations() if one.is_open and one.intent.node == "n1"])
    )
    wanted = [
        QUARANTINE,
        intent(IntentKind.SIGNAL_JOB, job=bench.job("n1"), signal="USR1"),
        intent(IntentKind.SERVICE),
        intent(IntentKind.QUARANTINE, "n2"),
    ]

    async def play() -> None:
        await asyncio.gather(*(bench.pursuit(one).run() for one in wanted))

    bench.loop.run_until_complete(play())
    assert [one.result for one in bench.reported] == [PursuitResult.ACHIEVED] * 4
    assert max(open_) == 1


def most_at_once(bench: Bench, *wanted: Intent) -> int:
    """How many effects were under way together, each taking a second."""
    under_way: list[str] = []
    most: list[int] = []
    perform = bench.action.perform

    async def slowly(step, operation):  # type: ignore[no-untyped-def]
        under_way.append(step.text)
        most.append(len(under_way))
        await asyncio.sleep(1.0)
        under_way.remove(step.text)
        return await perform(step, operation)

    bench.action.perform = slowly  # type: ignore[method-assign]

    async def play() -> None:
        await asyncio.gather(*(bench.pursuit(one).run() for one in wanted))

    bench.loop.run_until_complete(play())
    assert {one.result for one in bench.reported} == {PursuitResult.ACHIEVED}
    return max(most)


def test_a_scheduler_has_so_many_effects_at_once(bench: Bench) -> None:
    bench.site = bench.site._replace(lanes=Lanes(2))
    names = ("n1", "n2", "n3", "n4")
    assert most_at_once(bench, *(intent(IntentKind.QUARANTINE, name) for name in names)) == 2


def test_what_takes_long_keeps_nobody_waiting(bench: Bench) -> None:
    bench.site = bench.site._replace(lanes=Lanes(1))
    bench.action.steps = {**STEPS, "test": StepKind(idempotent=True, reversible=True, timeout_s=60)}  # type: ignore[misc]
    wanted = (intent(IntentKind.TEST, "n2"), QUARANTINE)
    assert most_at_once(bench, *wanted) == 2


def test_what_nodes_have_in_common_is_changed_by_one_at_a_time(bench: Bench) -> None:
    bench.world.spares["n4"] = ""
    wanted = (
        intent(IntentKind.DRAW_SPARE, "n1", spare="s1"),
        intent(IntentKind.DRAW_SPARE, "n2", spare="n4"),
    )
    assert most_at_once(bench, *wanted) == 1


@pytest.mark.parametrize("call", ["observe", "propose", "recover", "perform"])
def test_an_action_that_fails_in_an_unforeseen_way_ends_nothing(
    bench: Bench, call: str, caplog: pytest.LogCaptureFixture
) -> None:
    healthy = getattr(bench.action, call)

    def broken(*_: object) -> object:
        setattr(bench.action, call, healthy)
        raise KeyError("nodes")

    setattr(bench.action, call, broken)
    assert ended(bench.pursue(QUARANTINE)) is PursuitResult.ACHIEVED
    assert "KeyError" in caplog.text


def test_an_action_that_fails_to_say_who_has_changed_a_step_is_queried_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = Step(kind="draw", arguments={"node": "n1", "spare": "s1"}, text="draw s1")
    recoveries = iter([Recovery.REDO])
    outcomes = itertools.chain([draw, None], itertools.repeat(Achieved("s1 is drawn")))

    def propose(*_: object) -> Proposal:
        proposal = next(outcomes)
        if proposal is None:
            raise KeyError("nodes")
        return proposal

    monkeypatch.setattr(bench.action, "propose", propose)
    monkeypatch.setattr(bench.action, "recover", lambda *_: next(recoveries, Recovery.DONE))
    assert ended(bench.pursue(intent(IntentKind.DRAW_SPARE, spare="s1"))) is PursuitResult.ACHIEVED


def test_a_look_that_hangs_is_given_up(bench: Bench) -> None:
    healthy = bench.action.observe

    async def hang(_: object) -> None:
        bench.action.observe = healthy  # type: ignore[method-assign]
        await asyncio.sleep(3600.0)

    bench.action.observe = hang  # type: ignore[method-assign,assignment]
    end = bench.pursue(QUARANTINE)
    assert end is not None
    assert end.time < START + 100.0


def test_a_mark_of_another_incident_is_somebody_elses(bench: Bench) -> None:
    bench.world.nodes["n1"].mark = OwnerAnnotation("i9", 2)
    assert ended(bench.pursue(QUARANTINE)) is PursuitResult.REFUSED


def test_what_is_written_names_incident_and_node(bench: Bench) -> None:
    bench.pursue(QUARANTINE)
    records = [one for one in bench.journal.written if isinstance(one, StateRecord)]
    assert {(one.kind, one.incident, one.node) for one in records} == {(KIND, "i1", "n1")}
    assert [one.claim for one in records] == ["node:fake:n1"] * 3 + [""]
    assert operation_of(records[-1]).id == "i1-1"


def test_a_drain_that_somebody_takes_over_at_the_same_time_has_happened(bench: Bench) -> None:
    bench.action.after_effect = lambda _: bench.world.admin_drains("n1")
    ended = bench.pursue(intent(IntentKind.QUARANTINE))
    assert ended is not None
    assert (ended.result, ended.refusal) == (PursuitResult.REFUSED, RefusalKind.FOREIGN)
    assert ended.was_applied
    (operation,) = bench.operations()
    assert operation.state is OperationState.OBSERVED
    assert "has been changed since" in operation.text


def test_a_drain_that_was_never_answered_is_not_taken_for_done_because_somebody_drains(
    bench: Bench,
) -> None:
    bench.action.answers = [Report(status=ReportStatus.UNKNOWN, text="timed out")]
    bench.at(0.1, lambda: bench.world.admin_drains("n1"))
    ended = bench.pursue(intent(IntentKind.QUARANTINE))
    assert ended is not None
    assert ended.refusal is RefusalKind.FOREIGN
    assert not ended.was_applied
    (operation,) = bench.operations()
    assert operation.state is OperationState.FAILED
