"""A journal of 0.1, whose remedies have all their fields on one level, is read without a loss."""

from pathlib import Path

import msgspec
import pytest

from accelwatch.action.intent import IntentKind, JobKey
from accelwatch.alerting.incidents.journal.records import StateRecord
from accelwatch.remediation.execution.flat_remedies import nested
from accelwatch.remediation.execution.journaling import journal_records, restored
from accelwatch.remediation.policy.context.records import RemedyRecord
from accelwatch.remediation.policy.state.model import (
    Approval,
    ApprovalStep,
    Attempt,
    Clocks,
    JobProgress,
    Remedy,
    Repair,
    Verification,
)
from accelwatch.remediation.policy.state.stage import Stage

# As 0.1 wrote it, but for the line breaks; no field that has moved has its default.
BODY = Path(__file__).with_name("flat_remedy.json").read_bytes()


def read(body: bytes) -> Remedy:
    record = StateRecord("remedy", "n1", msgspec.Raw(body), incident="i1", node="n1")
    return restored([record]).remedies["n1"]


def job(number: int) -> JobKey:
    return JobKey("c", str(number), 5.0)


def test_what_was_on_one_level_is_in_its_life() -> None:
    remedy = read(BODY)
    assert (remedy.stage, remedy.target, remedy.failures) == (Stage.DRAINING, "n1.c", 2)
    assert remedy.hold is not None
    assert remedy.pursuing is not None
    assert remedy.clocks == Clocks(since=10.0, due=20.0, begun=1.0, overdue="move 17")
    assert remedy.approval == Approval(
        manual=True,
        wanted_out="ana: riser",
        vouched="ben",
        forced="cy",
        approved="ana",
        approved_plan="p1",
        expired=3.0,
        asked="p2",
        asked_steps=(ApprovalStep(IntentKind.REBOOT, "reboot"),),
        asked_as_of=4.0,
    )
    assert remedy.repair == Repair(
        attempts=(Attempt(rung="reboot", at=4.0),),
        rung=1,
        left_out=("reboot of n1 has failed",),
        ticketed=True,
        unfit="test quick",
        verification=Verification(since=3.0, generation="g1", passed=("quick",)),
        relapses=2,
        serials={"0": "s0"},
    )
    (moved,), (unfinished,) = remedy.jobs.moved, remedy.jobs.unfinished
    assert (moved.job, unfinished.job) == (job(6), job(7))
    assert remedy.jobs == JobProgress(
        signalled=(job(1),),
        signalled_at=6.0,
        handled=(job(2),),
        unswapped=(job(3),),
        looked_for=(job(4),),
        lost=(job(5),),
        lost_at=7.0,
        moved=(moved,),
        unfinished=(unfinished,),
        spare="n60",
        spareless=True,
        spare_asked=8.0,
        fenced=True,
        stranded=(job(8),),
        fence_first=True,
        hanging=("n9",),
    )


def test_what_is_written_of_it_is_todays_form_and_read_as_it_is() -> None:
    remedy = read(BODY)
    (record,) = journal_records(RemedyRecord(node="n1", remedy=remedy))
    assert nested(bytes(record.body)) == bytes(record.body)
    assert restored([record]).remedies == {"n1": remedy}


def test_a_field_that_an_older_journal_lacks_has_its_default() -> None:
    bare = {"node": "n1", "stage": "suspect", "since": 1.0, "begun": 1.0}
    body = msgspec.json.encode({"type": "remedy", "node": "n1", "remedy": bare})
    assert read(body) == Remedy(node="n1", stage=Stage.SUSPECT, clocks=Clocks(since=1.0, begun=1.0))


def test_a_remedy_that_is_none_is_not_taken_for_an_empty_one() -> None:
    body = msgspec.json.encode({"type": "remedy", "node": "n1", "remedy": {"node": "n1"}})
    with pytest.raises(msgspec.ValidationError):
        read(body)
