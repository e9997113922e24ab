"""The engine's own pursuit over the action on a real Slurm: written down, done once, seen."""

import asyncio
import itertools
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import msgspec
import pytest

from accelwatch.action.intent import Intent, IntentKind
from accelwatch.action.observed import HoldState, JobState
from accelwatch.action.step import Committed, RefusalKind, Report, Step
from accelwatch.base.clock import SystemClock
from accelwatch.remediation.execution.operations.effect import Site
from accelwatch.remediation.execution.operations.lanes import Lanes
from accelwatch.remediation.execution.operations.ledger import Ledger
from accelwatch.remediation.execution.operations.operation import OperationState
from accelwatch.remediation.execution.pursuits.pursuit import Pursuit
from accelwatch.remediation.policy.state.pursued import Pursued, PursuitResult
from accelwatch_slurm.texts.job_text import names_of
from remediation.memory_journal import MemoryJournal
from support.slurm.action_on_cluster import Hand
from support.slurm.lab_cluster import WorkingSlurm, until

Hands = Callable[..., Hand]


class Engine:
    """What pursuits share, over a journal in memory."""

    def __init__(self, hand: Hand, as_of_now: Callable[[Intent], Intent] = lambda one: one) -> None:
        journal, ids = MemoryJournal(), map(str, itertools.count(1))
        clock = SystemClock()
        self.ledger = Ledger(journal.commit, clock, [], lambda: next(ids))
        self._site = Site(
            "slurm",
            hand.action,
            self.ledger,
            Lanes(),
            lambda _: "",
            clock,
            jitter=lambda: 0.0,
            as_of_now=as_of_now,
        )
        self.lives: list[str] = []

    def pursue(self, intent: Intent) -> Pursued:
        reported: list[Pursued] = []
        asyncio.run(asyncio.wait_for(Pursuit(self._site, intent, reported.append).run(), 60.0))
        self.lives += [
            one.step.kind
            for one in self.ledger.of("slurm", intent)
            if one.state is OperationState.OBSERVED
        ]
        return reported[-1]


def test_a_node_is_drained_its_job_moved_and_all_is_given_back(
    slurm: WorkingSlurm, hand: Hands
) -> None:
    one = hand()
    engine = Engine(one)
    number = slurm.submit("-N2", "-w", "n1,n2", "--exclude=n5")
    until(lambda: "JobState=RUNNING" in slurm.job(number), "the job runs")
    key = one.key(number)
    drained = engine.pursue(one.intent(IntentKind.QUARANTINE, "n1"))
    assert drained.result is PursuitResult.ACHIEVED
    assert drained.observed is not None
    moved = engine.pursue(one.intent(IntentKind.MOVE_JOB, "n1", job=key, spare="n3"))
    assert (moved.result, moved.moved_to) == (PursuitResult.ACHIEVED, ("n2", "n3"))
    slurm.run("scancel", number)
    wanted = one.intent(IntentKind.RESTORE_JOB, "n1", job=key, original=moved.original)
    assert engine.pursue(wanted).result is PursuitResult.ACHIEVED
    released = engine.pursue(one.intent(IntentKind.RELEASE, "n1"))
    assert released.result is PursuitResult.ACHIEVED
    assert [kind for kind in engine.lives if kind != "unsteer"] == [
        *("drain", "reserve", "requeue", "steer", "start"),
        *("delete_reservation", "undrain"),
    ]
    slurm.scontrol("update", "node=n1", "state=drain", "reason=mine")
    refused = engine.pursue(one.intent(IntentKind.QUARANTINE, "n1"))
    assert refused.result is PursuitResult.REFUSED


def test_the_list_of_a_job_that_waits_follows_what_is_bad(slurm: WorkingSlurm, hand: Hands) -> None:
    bad = ["n1", "n3"]
    one = hand()
    engine = Engine(one, lambda intent: msgspec.structs.replace(intent, bad_nodes=tuple(bad)))
    slurm.scontrol("update", "node=n3,n4,n5", "state=drain", "reason=full")
    number = slurm.submit("-N2", "-w", "n1,n2", "--exclude=n5")
    until(lambda: "JobState=RUNNING" in slurm.job(number), "the job runs")
    assert engine.pursue(one.intent(IntentKind.QUARANTINE, "n1")).result is PursuitResult.ACHIEVED
    wanted = one.intent(IntentKind.MOVE_JOB, "n1", job=one.key(number), bad_nodes=tuple(bad))

    def kept_off() -> set[str]:
        found = re.search(r"ExcNodeList=(\S+)", slurm.job(number))
        return set() if found is None else set(names_of(found[1]))

    with ThreadPoolExecutor(1) as beside:
        moving = beside.submit(engine.pursue, wanted)
        until(lambda: kept_off() == {"n1", "n3", "n5"}, "it is kept off what is bad at first")
        bad[:] = ["n1", "n4"]
        until(lambda: kept_off() == {"n1", "n4", "n5"}, "the list follows")
        slurm.scontrol("update", "node=n3", "state=resume")
        moved = moving.result(60)
    assert (moved.result, moved.moved_to) == (PursuitResult.ACHIEVED, ("n2", "n3"))
    assert moved.original["exclude"] == "n5"
    assert {"added n1", "added n3", "added n4"} <= set(moved.original)
    slurm.run("scancel", number)


def test_one_that_somebody_took_back_meanwhile_is_theirs(slurm: WorkingSlurm, hand: Hands) -> None:
    one = hand(mark="none")
    engine = Engine(one)
    wanted = one.intent(IntentKind.QUARANTINE, "n1")
    assert engine.pursue(wanted).result is PursuitResult.ACHIEVED
    slurm.scontrol("update", "node=n1", "state=resume")
    again = engine.pursue(wanted)
    assert again.result is PursuitResult.REFUSED
    assert "DRAIN" not in slurm.node("n1")


def meddled(
    hand: Hand, before: Callable[[], object] = str, after: Callable[[], object] = str
) -> Hand:
    """One beside whom somebody does something right before and after each step."""
    perform = hand.action.perform

    async def and_then(step: Step, operation: Committed) -> Report:
        before()
        report = await perform(step, operation)
        after()
        return report

    hand.action.perform = and_then  # type: ignore[method-assign]
    return hand


@pytest.mark.parametrize("mark", ["extra", "none"])
def test_an_admin_who_drains_at_the_same_time_has_the_node_and_our_drain_has_happened(
    slurm: WorkingSlurm, hand: Hands, mark: str
) -> None:
    swaps = ("update", "node=n1", "state=drain", "reason=swap the riser")
    one = meddled(hand(mark=mark), after=lambda: slurm.scontrol(*swaps))
    engine, wanted = Engine(one), one.intent(IntentKind.QUARANTINE, "n1")
    ended = engine.pursue(wanted)
    assert (ended.result, ended.refusal) == (PursuitResult.REFUSED, RefusalKind.FOREIGN)
    assert ended.was_applied
    (operation,) = engine.ledger.of("slurm", wanted)
    assert operation.state is OperationState.OBSERVED
    assert "Reason=swap the riser [" in slurm.node("n1")


def test_an_admin_who_writes_behind_our_reason_at_the_same_time_has_the_node(
    slurm: WorkingSlurm, hand: Hands
) -> None:
    def write_behind() -> None:
        reason = slurm.node("n1").partition(" Reason=")[2].partition(" [")[0]
        slurm.scontrol("update", "node=n1", f"reason={reason} - keep it, the part is ordered")

    one = meddled(hand(), after=write_behind)
    ended = Engine(one).pursue(one.intent(IntentKind.QUARANTINE, "n1"))
    assert (ended.result, ended.refusal) == (PursuitResult.REFUSED, RefusalKind.FOREIGN)
    assert "keep it, the part is ordered" in ended.text
    assert ended.was_applied
    assert ended.observed is not None
    assert ended.observed.node is not None
    assert ended.observed.node.hold_state is HoldState.OURS, "by its looks alone it is ours"


def test_an_admin_who_was_there_before_our_drain_has_it_and_nothing_has_happened(
    slurm: WorkingSlurm, hand: Hands
) -> None:
    swaps = ("update", "node=n1", "state=drain", "reason=swap the riser")
    one = meddled(hand(), before=lambda: slurm.scontrol(*swaps))
    engine, wanted = Engine(one), one.intent(IntentKind.QUARANTINE, "n1")
    ended = engine.pursue(wanted)
    assert (ended.result, ended.refusal) == (PursuitResult.REFUSED, RefusalKind.FOREIGN)
    assert not ended.was_applied
    (operation,) = engine.ledger.of("slurm", wanted)
    assert operation.state is OperationState.FAILED


def test_one_who_resumes_it_at_the_same_time_has_decided_so_and_our_drain_has_happened(
    slurm: WorkingSlurm, hand: Hands
) -> None:
    one = meddled(hand(), after=lambda: slurm.scontrol("update", "node=n1", "state=resume"))
    engine, wanted = Engine(one), one.intent(IntentKind.QUARANTINE, "n1")
    ended = engine.pursue(wanted)
    assert (ended.result, ended.refusal) == (PursuitResult.REFUSED, RefusalKind.OVERRIDDEN)
    (operation,) = engine.ledger.of("slurm", wanted)
    assert operation.state is OperationState.OBSERVED


def test_a_spare_that_is_drawn_late_is_kept_for_the_job_that_waits(
    slurm: WorkingSlurm, hand: Hands
) -> None:
    made = ("create", "reservation", "users=root", "starttime=now", "duration=infinite")
    slurm.scontrol(*made, "ReservationName=spares", "nodes=n4", "flags=ignore_jobs")
    one = hand(spares="spares")
    engine = Engine(one)
    slurm.scontrol("update", "node=n2,n3,n5", "state=drain", "reason=full")
    number = slurm.submit("-N1", "-w", "n1")
    until(lambda: "JobState=RUNNING" in slurm.job(number), "the job runs")
    key = one.key(number)
    assert engine.pursue(one.intent(IntentKind.QUARANTINE, "n1")).result is PursuitResult.ACHIEVED
    without = one.intent(IntentKind.MOVE_JOB, "n1", job=key)
    without = msgspec.structs.replace(without, deadline=SystemClock().wall() + 4.0)
    waits = engine.pursue(without)
    assert waits.result is PursuitResult.FAILED
    assert waits.observed is not None
    assert waits.observed.job is not None
    assert waits.observed.job.state is JobState.WAITING
    drawn = engine.pursue(one.intent(IntentKind.DRAW_SPARE, "n1", job=key, spare="n4"))
    assert drawn.result is PursuitResult.ACHIEVED
    moved = engine.pursue(
        one.intent(IntentKind.MOVE_JOB, "n1", job=key, spare="n4", original=waits.original)
    )
    assert (moved.result, moved.moved_to) == (PursuitResult.ACHIEVED, ("n4",))
    slurm.run("scancel", number)
