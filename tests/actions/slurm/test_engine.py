"""The engine's own pursuit over the action on a real Slurm: written down, done once, seen."""

import asyncio
import itertools
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import msgspec

from accelwatch.action.intent import Intent, IntentKind
from accelwatch.clock import SystemClock
from accelwatch.remedy.effect import Site
from accelwatch.remedy.lanes import Lanes
from accelwatch.remedy.ledger import Ledger
from accelwatch.remedy.operations import OperationState
from accelwatch.remedy.pursued import Ending, Pursued
from accelwatch.remedy.pursuit import Pursuit
from accelwatch_slurm.job_text import names_of
from remedy.memory_journal import MemoryJournal
from slurm_hand import Hand
from working_slurm import WorkingSlurm, until

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
    assert drained.ending is Ending.ACHIEVED
    assert drained.observed is not None
    moved = engine.pursue(one.intent(IntentKind.MOVE_JOB, "n1", job=key, spare="n3"))
    assert (moved.ending, moved.moved_to) == (Ending.ACHIEVED, ("n2", "n3"))
    slurm.run("scancel", number)
    wanted = one.intent(IntentKind.RESTORE_JOB, "n1", job=key, original=moved.original)
    assert engine.pursue(wanted).ending is Ending.ACHIEVED
    released = engine.pursue(one.intent(IntentKind.RELEASE, "n1"))
    assert released.ending is Ending.ACHIEVED
    assert [kind for kind in engine.lives if kind != "unsteer"] == [
        *("drain", "reserve", "requeue", "steer", "start"),
        *("delete_reservation", "undrain"),
    ]
    slurm.scontrol("update", "node=n1", "state=drain", "reason=mine")
    refused = engine.pursue(one.intent(IntentKind.QUARANTINE, "n1"))
    assert refused.ending is Ending.REFUSED


def test_the_list_of_a_job_that_waits_follows_what_is_bad(slurm: WorkingSlurm, hand: Hands) -> None:
    bad = ["n1", "n3"]
    one = hand()
    engine = Engine(one, lambda intent: msgspec.structs.replace(intent, bad_nodes=tuple(bad)))
    slurm.scontrol("update", "node=n3,n4,n5", "state=drain", "reason=full")
    number = slurm.submit("-N2", "-w", "n1,n2", "--exclude=n5")
    until(lambda: "JobState=RUNNING" in slurm.job(number), "the job runs")
    assert engine.pursue(one.intent(IntentKind.QUARANTINE, "n1")).ending is Ending.ACHIEVED
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
    assert (moved.ending, moved.moved_to) == (Ending.ACHIEVED, ("n2", "n3"))
    assert moved.original["exclude"] == "n5"
    assert {"added n1", "added n3", "added n4"} <= set(moved.original)
    slurm.run("scancel", number)


def test_one_that_somebody_took_back_meanwhile_is_theirs(slurm: WorkingSlurm, hand: Hands) -> None:
    one = hand(mark="none")
    engine = Engine(one)
    wanted = one.intent(IntentKind.QUARANTINE, "n1")
    assert engine.pursue(wanted).ending is Ending.ACHIEVED
    slurm.scontrol("update", "node=n1", "state=resume")
    again = engine.pursue(wanted)
    assert again.ending is Ending.REFUSED
    assert "DRAIN" not in slurm.node("n1")
