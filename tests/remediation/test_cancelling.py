"""A rule that wants a job ended: after its node is out and its checkpoint, at a pace, not twice."""

import msgspec
import pytest

from accelwatch.action.intent import IntentKind as Kind
from accelwatch.action.intent import JobKey
from accelwatch.action.step import RefusalKind
from accelwatch.alerting.rules.document import JobPolicy, Mode, When
from accelwatch.remediation.policy.context.outcome import Loudness
from accelwatch.remediation.policy.plan.plan import planned
from accelwatch.remediation.policy.state.changes import Verb
from accelwatch.remediation.policy.state.pursued import PursuitResult
from accelwatch.remediation.policy.state.stage import Stage
from support.remediation.small_fleet import JOB, POLICY, SETTINGS, Ground

NODE = "n03"
ENDS = msgspec.structs.replace(POLICY, job=JobPolicy.CANCEL, ladder=(), draw_spare=True)
CANCEL = Kind.CANCEL_JOB


def out(
    policy: object = ENDS, jobs: tuple[JobKey, ...] = (JOB,), ceiling: str = "resume"
) -> Ground:
    """A node with jobs, which has just been taken out."""
    ground = Ground(settings=msgspec.structs.replace(SETTINGS, ceiling=ceiling))
    ground.nodes[NODE].jobs = jobs
    ground.fault(NODE, policy=policy)
    ground.end(NODE)
    return ground


def test_a_job_is_cancelled_when_its_node_is_out_and_no_spare_is_drawn_for_it() -> None:
    ground = out()
    assert ground.kinds(NODE) == [Kind.QUARANTINE, CANCEL]
    ground.end(NODE)
    assert ground.kinds(NODE) == [Kind.QUARANTINE, CANCEL]
    (note,) = [one for one in ground.notes if "was cancelled" in one.text]
    assert (note.text, note.loudness) == (
        "job 17 was cancelled, as the rule requires",
        Loudness.NOTIFY,
    )
    assert ground.stage(NODE) is Stage.QUARANTINED


def test_a_checkpoint_is_requested_from_it_first_and_it_has_the_time_for_it() -> None:
    ground = out(msgspec.structs.replace(ENDS, signal="USR1", grace_s=60.0))
    ground.end(NODE)
    assert ground.kinds(NODE) == [Kind.QUARANTINE, Kind.SIGNAL_JOB]
    ground.wait(50, every=10)
    assert ground.kinds(NODE)[-1] is Kind.SIGNAL_JOB
    ground.wait(20, every=10)
    assert ground.kinds(NODE)[-1] is CANCEL


def test_a_rule_that_waits_for_the_end_of_the_job_cancels_nothing() -> None:
    ground = out(msgspec.structs.replace(ENDS, when=When.AFTER_JOB))
    ground.wait(3600, every=300)
    assert ground.kinds(NODE) == [Kind.QUARANTINE]


@pytest.mark.parametrize(("ceiling", "cancels"), [("quarantine", False), ("drain", True)])
def test_it_needs_the_ceiling_drain(ceiling: str, cancels: bool) -> None:
    assert (CANCEL in out(ceiling=ceiling).kinds(NODE)) is cancels


def test_stop_ends_it() -> None:
    ground = out()
    ground.send_command(Verb.STOP)
    assert [one.kind for one in ground.cancelled] == [CANCEL]


def test_what_cannot_be_cancelled_is_waited_for_and_reported() -> None:
    ground = out()
    ground.end(NODE, PursuitResult.REFUSED, RefusalKind.NOT_ALLOWED)
    ground.wait(600)
    assert ground.kinds(NODE).count(CANCEL) == 1
    assert "stays until it ends" in ground.notes[-1].text


def test_three_jobs_an_hour() -> None:
    jobs = tuple(JobKey("c", str(number), 1.0) for number in range(5))
    ground = out(jobs=jobs)
    for _ in range(3):
        ground.end(NODE)
    assert ground.kinds(NODE).count(CANCEL) == 3
    assert any("3 jobs were cancelled within an hour" in one.text for one in ground.notes)
    ground.wait(3500, every=50)
    assert ground.kinds(NODE).count(CANCEL) == 3
    ground.wait(200, every=50)
    assert ground.kinds(NODE).count(CANCEL) == 4


def test_it_stands_in_the_plan() -> None:
    ground = Ground()
    ground.nodes[NODE].jobs = (JOB,)
    observes = msgspec.structs.replace(ENDS, mode=Mode.OBSERVE, signal="USR1")
    ground.fault(NODE, policy=observes)
    steps = planned(ground.state, NODE, ground.now, ground.settings).steps
    assert [step.text for step in steps[1:3]] == [
        "ask job 17 for a checkpoint (USR1)",
        "cancel job 17",
    ]
