"""What is proposed where a real cluster would have to be waited for, or cannot be brought so far."""

from typing import Any

import msgspec
import pytest

from accelwatch.action.intent import IntentKind, JobKey, OwnerAnnotation
from accelwatch.action.observed import Observed
from accelwatch.action.step import (
    Achieved,
    Proposal,
    Recovery,
    Refusal,
    RefusalKind,
    Report,
    ReportStatus,
    StartedStep,
    Step,
    Wait,
)
from accelwatch.base.errors import ConfigError
from accelwatch_slurm.commands.options import SlurmOptions
from accelwatch_slurm.observing.observed_job import job_in_context
from accelwatch_slurm.proposals.fencing import Answered, proof_of
from accelwatch_slurm.texts.annotations import annotation_in, merged, reason_of
from accelwatch_slurm.texts.job_text import job_of
from accelwatch_slurm.texts.observed_context import ObservedContext, observed_context_of
from support.slurm.scontrol_lines import KEY, NOW, action, intent, job, kind_of, node, propose


def test_the_mark_of_a_newer_engine_is_never_changed() -> None:
    extra = '{"accelwatch":{"i":"inc-0","t":9,"since":1.0}}'
    left = propose(intent(IntentKind.QUARANTINE), {"node": node("IDLE", extra=extra)})
    assert isinstance(left, Refusal)
    assert left.kind is RefusalKind.FOREIGN
    older = extra.replace('"t":9', '"t":1')
    assert kind_of(propose(intent(IntentKind.QUARANTINE), {"node": node("IDLE", extra=older)})) == (
        "drain"
    )
    held = node("IDLE+DRAIN", "accelwatch:inc-1:r x", extra.replace("inc-0", "inc-1"))
    kept = propose(intent(IntentKind.RELEASE), {"node": held})
    assert isinstance(kept, Refusal)
    assert kept.kind is RefusalKind.FOREIGN


@pytest.mark.parametrize(
    ("state", "reason", "proposed"),
    [
        ("DOWN", "accelwatch:inc-1:r fenced x", "resume"),
        ("DOWN", "accelwatch:inc-1:r x : reboot issued : reboot complete", "resume"),
        ("DOWN", "accelwatch:inc-1:r x", "resume"),
        ("DOWN*", "accelwatch:inc-1:r fenced x", "Wait"),
        ("DOWN+DRAIN", "accelwatch:inc-1:r x", "resume"),
        ("DOWN+DRAIN+NOT_RESPONDING", "accelwatch:inc-1:r x", "undrain"),
        ("DOWN+NOT_RESPONDING", "accelwatch:inc-1:r x", "Wait"),
        ("IDLE+DRAIN+NOT_RESPONDING", "accelwatch:inc-1:r x", "undrain"),
        ("IDLE+DRAIN+POWERED_DOWN", "accelwatch:inc-1:r x", "undrain"),
        ("IDLE+DRAIN+REBOOT_ISSUED", "accelwatch:inc-1:r x : reboot issued", "Wait"),
        ("IDLE", "", "Achieved"),
        ("IDLE", "accelwatch:inc-1:r x", "unmark"),
        ("DOWN+NOT_RESPONDING", "accelwatch:inc-1:r x : Not responding", "Achieved"),
        ("DOWN*", "Not responding", "Achieved"),
        ("DOWN*", "board swap", "Refusal"),
    ],
)
def test_a_node_that_is_down_is_resumed_when_it_is_ours_and_its_slurmd_answers(
    state: str, reason: str, proposed: str
) -> None:
    assert kind_of(propose(intent(IntentKind.RELEASE), {"node": node(state, reason)})) == proposed


@pytest.mark.parametrize(
    ("states", "reason", "proposed", "left"),
    [
        ("DOWN+NOT_RESPONDING", "Not responding", "leave_down", "Not responding"),
        ("DOWN", "Low RealMemory", "leave_down", "Low RealMemory"),
        ("DOWN", "", "leave_down", "Not responding"),
        ("DOWN+DRAIN", "accelwatch:inc-1:r x", "resume", None),
        ("ALLOCATED+DRAIN", "", "resume", None),
        ("ALLOCATED", "Not responding", "resume", None),
    ],
)
def test_a_node_that_was_down_before_us_is_left_down_with_the_reason_that_it_had(
    states: str, reason: str, proposed: str, left: str | None
) -> None:
    wanted = intent(IntentKind.RELEASE, original={"states": states, "reason": reason})
    step = propose(wanted, {"node": node("DOWN", "accelwatch:inc-1:r fenced x")})
    assert isinstance(step, Step)
    assert (step.kind, step.arguments.get("reason")) == (proposed, left)


def test_what_is_left_of_ours_goes_from_a_node_that_slurm_itself_keeps_down() -> None:
    mark = '{"accelwatch":{"i":"inc-1","t":2,"since":1.0}}'
    marked = {"node": node("DOWN*", "Not responding", mark)}
    assert kind_of(propose(intent(IntentKind.RELEASE), marked)) == "unmark"
    reservation = (
        f"ReservationName=accelwatch-verify-n1 StartTime=1 EndTime={NOW + 60:.0f} Nodes=n1"
    )
    kept = {**marked, "reservations": reservation}
    assert kind_of(propose(intent(IntentKind.RELEASE), kept)) == "delete_reservation"


@pytest.mark.parametrize(
    ("state", "proposed"),
    [
        ("IDLE+DRAIN", "undrain"),
        ("DOWN+DRAIN", "resume"),
        ("DOWN", "resume"),
        ("DOWN+DRAIN+NOT_RESPONDING", "Wait"),
    ],
)
def test_a_node_of_ours_is_opened_for_its_test_also_where_slurm_gave_it_up_meanwhile(
    state: str, proposed: str
) -> None:
    reservation = (
        f"ReservationName=accelwatch-verify-n1 StartTime=1 EndTime={NOW + 60:.0f} Nodes=n1"
    )
    own = {"node": node(state, "accelwatch:inc-1:r x"), "reservations": reservation}
    step = propose(intent(IntentKind.TEST, test="quick"), own, tests={"quick": ["/bin/true"]})
    assert kind_of(step) == proposed


@pytest.mark.parametrize(
    ("reason", "recovery"),
    [("Not responding", Recovery.DONE), ("accelwatch:inc-1:r fenced x", Recovery.REDO)],
)
def test_slurms_reason_is_back_when_ours_is_gone(reason: str, recovery: Recovery) -> None:
    step = Step(kind="leave_down", arguments={"node": "n1", "reason": "Not responding"})
    observed = Observed(time=NOW, own={"node": node("DOWN*", reason)})
    assert action().recover(StartedStep(step=step, started=NOW), observed) is recovery


def context(state: str, extra: str = "", off: str = "", boot: float = 1000.0) -> ObservedContext:
    line = node(state, "accelwatch:inc-1:r fenced x", extra, boot)
    return observed_context_of(Observed(time=NOW, own={"bad": line, "off": off}), "extra")


MARK_OF_SLURMD = '{"accelwatch":{"i":"inc-1","t":2,"since":%s,"boot":1000.0,"slurmd":900.0}}'
MARK = '{"accelwatch":{"i":"inc-1","t":2,"since":%s,"boot":1000.0,"slurmd":1000.0}}'


@pytest.mark.parametrize(
    ("seen", "answered_s", "proven"),
    [
        (context("DOWN", MARK % (NOW - 60)), 60.0, True),
        (context("DOWN", MARK % (NOW - 47)), 47.0, False),  # a deaf job may still run
        (
            context("DOWN", MARK % (NOW - 100)),
            60.0,
            False,
        ),  # it may have been silent, and not have heard
        (context("DOWN", MARK_OF_SLURMD % (NOW - 900)), 40.0, True),  # slurmd begun anew
        (context("DOWN", MARK_OF_SLURMD % (NOW - 900)), 30.0, False),
        (context("DOWN*", MARK_OF_SLURMD % (NOW - 900)), 40.0, False),
        (context("DOWN", MARK % (NOW - 900), boot=1100.0), 40.0, False),  # its clock was set
        (context("DOWN*", MARK % (NOW - 100)), 60.0, False),
        (context("DOWN*", MARK % (NOW - 100), off="n1"), 0.0, True),
        (context("DOWN", MARK % (NOW - 5), boot=NOW - 1), 0.0, True),
        (context("DOWN", boot=NOW - 50), 0.0, True),  # by the time at which the reason was set
        (
            context("DOWN", MARK % (NOW - 5), boot=1002.0),
            0.0,
            False,
        ),  # the same boot, worked out anew
        (context("IDLE", MARK % (NOW - 100), off="n1"), 60.0, False),  # not set down
    ],
)
def test_an_old_copy_is_dead_when_slurmd_answers_long_enough_the_node_booted_or_has_no_power(
    seen: ObservedContext, answered_s: float, proven: bool
) -> None:
    answered = Answered(for_s=answered_s, silence_s=12.0, kill_s=36.0)
    assert bool(proof_of(seen, "n1", answered)) is proven


def test_a_node_that_slurm_gave_up_is_fenced_and_one_of_a_person_is_not() -> None:
    by_slurm = {"node": node("DOWN*", "Not responding"), "jobs": ""}
    assert kind_of(propose(intent(IntentKind.FENCE), by_slurm)) == "set_down"
    assert kind_of(propose(intent(IntentKind.QUARANTINE), by_slurm)) == "Refusal"
    by_person = {"node": node("DOWN", "board swap"), "jobs": ""}
    assert kind_of(propose(intent(IntentKind.FENCE), by_person)) == "Refusal"


def test_jobs_that_slurm_would_restart_are_held_before_the_node_is_set_down() -> None:
    drained = node("MIXED+DRAIN", "accelwatch:inc-1:r x")
    for line, step in (
        (job("RUNNING"), "hold"),
        (job("RUNNING", Priority="0"), "set_down"),
        (job("RUNNING", Requeue="0"), "set_down"),
        (job("RUNNING", BatchFlag="0"), "set_down"),
    ):
        assert kind_of(propose(intent(IntentKind.FENCE), {"node": drained, "jobs": line})) == step
    own = {"node": drained, "jobs": job("RUNNING")}
    assert kind_of(propose(intent(IntentKind.FENCE, job=KEY, fenced_by_job=True), own)) == (
        "set_down"
    )
    down = {"node": node("DOWN", "accelwatch:inc-1:r fenced x"), "jobs": ""}
    assert kind_of(propose(intent(IntentKind.FENCE, fenced_by_job=True), down)) == "Achieved"
    assert kind_of(propose(intent(IntentKind.FENCE), down)) == "Wait"
    freed = {**down, "job": job("PENDING", Restarts="1", SubmitTime="1795355700")}
    assert kind_of(propose(intent(IntentKind.FENCE, job=KEY), freed)) == "hold"
    assert kind_of(propose(intent(IntentKind.FENCE, job=KEY, fenced_by_job=True), freed)) == (
        "Achieved"
    )


def test_a_job_on_a_node_that_does_not_answer_waits_for_the_fence() -> None:
    silent = node("DOWN*", "accelwatch:inc-1:r fenced x")
    wanted = intent(IntentKind.MOVE_JOB, job=KEY)
    runs = {"bad": silent, "job": job("RUNNING")}
    refused = propose(wanted, runs)
    assert isinstance(refused, Refusal)
    assert refused.kind is RefusalKind.UNSAFE
    waits = job("PENDING", Restarts="1", SubmitTime="1795355700")
    assert kind_of(propose(wanted, {"bad": silent, "job": waits})) == "hold"
    held = waits.replace("Priority=5", "Priority=0") + " AdminComment=accelwatch:inc-1:held"
    assert kind_of(propose(wanted, {"bad": silent, "job": held})) == "Refusal"
    proven = {"bad": silent, "job": held, "proof": "its power is off"}
    assert kind_of(propose(wanted, proven)) == "steer"
    steered = held.replace("ExcNodeList=(null)", "ExcNodeList=n1")
    assert kind_of(propose(wanted, {**proven, "job": steered})) == "let_go"
    by_itself = intent(IntentKind.MOVE_JOB, job=KEY, fenced_by_job=True)
    assert kind_of(propose(by_itself, {"bad": silent, "job": steered})) == "let_go"


def test_a_requeued_job_that_ends_on_a_silent_node_is_held_and_waits_for_the_fence() -> None:
    wanted = intent(IntentKind.MOVE_JOB, job=KEY)
    ends = job("COMPLETING", Restarts="1", RunTime="00:00:00", SubmitTime="1795355700")
    held = ends.replace("Priority=5", "Priority=0")
    drained = "accelwatch:inc-1:r x"
    silent = node("IDLE+COMPLETING+DRAIN+NOT_RESPONDING", drained)
    assert kind_of(propose(wanted, {"bad": silent, "job": ends})) == "hold"
    refused = propose(wanted, {"bad": silent, "job": held})
    assert isinstance(refused, Refusal)
    assert (refused.kind, "fence it first" in refused.text) == (RefusalKind.UNSAFE, True)
    answers = node("IDLE+COMPLETING+DRAIN", drained)
    assert kind_of(propose(wanted, {"bad": answers, "job": ends})) == "Wait"
    down = node("DOWN+DRAIN+NOT_RESPONDING", "accelwatch:inc-1:r fenced x")
    assert kind_of(propose(wanted, {"bad": down, "job": held})) == "Refusal"
    proven = {"bad": down, "job": held, "proof": "its power is off"}
    assert kind_of(propose(wanted, proven)) == "Wait"
    first = job("COMPLETING", RunTime="00:00:00")
    for over in (first, ends.replace("00:00:00", "00:00:02")):
        assert kind_of(propose(wanted, {"bad": silent, "job": over})) == "Wait"
    by_itself = intent(IntentKind.MOVE_JOB, job=KEY, fenced_by_job=True)
    assert kind_of(propose(by_itself, {"bad": silent, "job": ends})) == "Refusal"
    assert kind_of(propose(by_itself, {"bad": down, "job": ends})) == "Wait"


def test_a_requeued_job_that_still_ends_is_held_before_its_node_is_set_down() -> None:
    drained = node("IDLE+COMPLETING+DRAIN+NOT_RESPONDING", "accelwatch:inc-1:r x")
    ends = job("COMPLETING", Restarts="1", RunTime="00:00:00", SubmitTime="1795355700")
    fence = intent(IntentKind.FENCE)
    assert kind_of(propose(fence, {"node": drained, "jobs": ends})) == "hold"
    for line in (ends.replace("Priority=5", "Priority=0"), job("COMPLETING", RunTime="00:00:09")):
        assert kind_of(propose(fence, {"node": drained, "jobs": line})) == "set_down"


def test_a_launch_waits_for_the_second_after_the_requeue_and_is_not_sent_twice() -> None:
    wanted = intent(IntentKind.MOVE_JOB, job=KEY)
    line = job(
        "PENDING",
        Restarts="1",
        SubmitTime="1795356000",
        EligibleTime="1795356121",
        ExcNodeList="n1",
    )
    own = {"bad": node("IDLE+DRAIN", "accelwatch:inc-1:r x"), "job": line}
    early = propose(wanted, own, time=1795356000.6)
    assert isinstance(early, Wait)
    assert 0.4 < early.seconds < 0.5
    assert kind_of(propose(wanted, own, time=1795356001.06)) == "start"
    answered = {**own, "job": line.replace("1795356121", "1795356001")}
    soon = propose(wanted, answered, time=1795356002.0)
    later = propose(wanted, answered, time=1795356060.0)
    assert isinstance(soon, Wait)
    assert isinstance(later, Wait)
    assert (soon.seconds, later.seconds) == (0.1, 2.0)


def test_a_job_that_only_waits_for_its_user_s_own_start_time_is_left_alone() -> None:
    own = {"bad": node("IDLE"), "job": job("PENDING", EligibleTime="1795399999")}
    assert kind_of(propose(intent(IntentKind.MOVE_JOB, job=KEY), own)) == "Wait"


def test_a_job_in_its_user_s_own_reservation_stays_in_it() -> None:
    line = job("RUNNING") + " Reservation=big"
    own = {"bad": node("MIXED+DRAIN", "accelwatch:inc-1:r x"), "job": line}
    assert kind_of(propose(intent(IntentKind.MOVE_JOB, job=KEY, spare="n3"), own)) == "requeue"


def test_a_job_that_has_become_too_large_for_its_reservation_is_let_out_of_it() -> None:
    wanted = intent(IntentKind.MOVE_JOB, job=KEY)
    name = "accelwatch-job-1"
    there = f"ReservationName={name} Nodes=n1,n2 Flags=MAINT State=ACTIVE"
    waits = {"Restarts": "1", "Priority": "0", "Reason": "BadConstraints", "NumNodes": "2-2"}
    own = {"bad": node("IDLE+DRAIN", "accelwatch:inc-1:r x"), "reservations": there}
    line = job("PENDING", **waits, ExcNodeList="n1") + f" Reservation={name}"
    step = propose(wanted, {**own, "job": line})
    assert isinstance(step, Step)
    assert step.arguments["ReservationName"] == ""
    out = job("PENDING", **waits, ExcNodeList="n1")
    assert kind_of(propose(wanted, {**own, "job": out})) == "delete_reservation"
    assert kind_of(propose(wanted, {**own, "job": out, "reservations": ""})) == "Wait"
    larger = there.replace("n1,n2", "n1,n2,n3")
    kept = propose(wanted, {**own, "job": out, "reservations": larger})
    assert isinstance(kept, Step)
    assert kept.arguments["ReservationName"] == name
    assert kind_of(propose(wanted, {**own, "job": line, "reservations": larger})) == "Wait"


def test_a_job_that_somebody_holds_is_not_moved() -> None:
    line = job("PENDING", Restarts="1", Priority="0", Reason="JobHeldUser")
    own = {"bad": node("IDLE+DRAIN", "accelwatch:inc-1:r x"), "job": line}
    refused = propose(intent(IntentKind.MOVE_JOB, job=KEY), own)
    assert isinstance(refused, Refusal)
    assert refused.kind is RefusalKind.OVERRIDDEN


def test_a_requeue_whose_end_nobody_saw() -> None:
    step = Step(
        kind="requeue", arguments={"job": "1"}, precondition={"restarts": "0", "nodes": "n1,n2"}
    )

    def verdict(line: str, started: float | None, answered: Report | None = None) -> Recovery:
        observed = Observed(time=NOW, own={"job": line})
        return action().recover(StartedStep(step=step, started=started, report=answered), observed)

    assert verdict(job("RUNNING", Restarts="1"), NOW - 1) is Recovery.DONE
    assert verdict(job("PENDING"), NOW - 1) is Recovery.DONE
    assert verdict(job("RUNNING"), NOW - 1) is Recovery.UNKNOWN
    assert verdict(job("RUNNING"), NOW - 60) is Recovery.REDO
    assert verdict(job("RUNNING"), None) is Recovery.REDO
    refused = Report(status=ReportStatus.REFUSED)
    assert verdict(job("RUNNING"), NOW - 1, refused) is Recovery.REDO


def test_a_reboot_whose_end_nobody_saw_is_not_done_again() -> None:
    step = Step(kind="reboot", arguments={"node": "n1"}, precondition={"boot": "1000.0"})

    def verdict(line: str, started: float | None = NOW - 3600) -> Recovery:
        return action().recover(
            StartedStep(step=step, started=started), Observed(time=NOW, own={"node": line})
        )

    assert verdict(node("IDLE+DRAIN")) is Recovery.UNKNOWN
    assert verdict(node("IDLE+DRAIN"), None) is Recovery.REDO
    assert verdict(node("IDLE+DRAIN+REBOOT_ISSUED")) is Recovery.DONE
    assert verdict(node("DOWN", boot=2000.0)) is Recovery.DONE
    assert verdict("") is Recovery.UNKNOWN


def test_the_reason_is_short_ascii_and_the_key_of_others_is_kept() -> None:
    wanted = msgspec.structs.replace(
        intent(IntentKind.QUARANTINE, mark=OwnerAnnotation("inc 1:x", 1)),
        reason="Lüfter\n" + "x" * 400,
    )
    reason = reason_of(wanted)
    assert reason.startswith("accelwatch:inc_1_x:r L?fter?x")
    assert len(reason) == 200
    mark = annotation_in('{"accelwatch":{"i":"inc-1","t":2,"since":1.0}}')
    assert merged('{"rack":7}', mark) == ('{"rack":7,"accelwatch":{"i":"inc-1","t":2,"since":1.0}}')
    assert merged("somebody's own text", mark) is None
    assert merged('{"rack":7,"accelwatch":{}}', None) == '{"rack":7}'
    assert annotation_in('{"accelwatch":{"i":7}}') is None


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"power_off": ["/bin/off"]}, "power_state"),
        ({"tests": {"x": ["dcgmi"]}}, "tests.x"),
        ({"tests": {"x": []}}, "tests.x"),
        ({"commands": "bin"}, "commands"),
        ({"mark": "label"}, "mark"),
        ({"sparse": "x"}, "spares"),
    ],
)
def test_wrong_options_name_their_key(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        action(**options)


def test_a_reboot_and_a_test_need_a_field_for_the_mark() -> None:
    own = {"node": node("IDLE+DRAIN", "accelwatch:inc-1:r x")}
    for kind in (IntentKind.REBOOT, IntentKind.TEST):
        refused = propose(intent(kind, test="x"), own, mark="none", tests={"x": ["/bin/true"]})
        assert isinstance(refused, Refusal)
        assert "mark is none" in refused.text


def test_the_second_reboot_of_an_incident_is_another_one() -> None:
    extra = '{"accelwatch":{"i":"inc-1","t":2,"since":1.0,"boot":500.0,"asked":%s}}'
    done = node("DOWN", "accelwatch:inc-1:r x : reboot complete", extra % NOW, boot=NOW + 90)
    assert isinstance(propose(intent(IntentKind.REBOOT), {"node": done}), Achieved)
    earlier = node("DOWN", "accelwatch:inc-1:r x : reboot complete", extra % (NOW - 900))
    assert isinstance(propose(intent(IntentKind.REBOOT), {"node": earlier}), Refusal)
    can = {"node": earlier, "reboots": "yes"}
    assert kind_of(propose(intent(IntentKind.REBOOT), can)) == "reboot"


def test_what_is_taken_back_is_only_what_this_move_changed() -> None:
    moved = {"exclude": "n5", "require": "n[1-2]"}
    wanted = intent(IntentKind.RESTORE_JOB, job=KEY, original=moved)

    def changes(**fields: str) -> dict[str, str]:
        line = job("PENDING", Restarts="2", SubmitTime="1795355700", **fields)
        step = propose(wanted, {"bad": node("IDLE"), "job": line})
        return {} if not isinstance(step, Step) else dict(step.arguments)

    assert changes(ExcNodeList="n[1,3,5]") == {
        "job": "1",
        "ExcNodeList": "n3,n5",
        "ReqNodeList": "n[1-2]",
    }
    assert "ReqNodeList" not in changes(ExcNodeList="n[1-2,5]")
    assert "ReqNodeList" not in changes(ExcNodeList="n[1,5]", ReqNodeList="n4")
    assert changes(ExcNodeList="n5", ReqNodeList="n[1-2]") == {}


def test_a_second_bad_node_of_a_job_grows_the_reservation_that_is_kept() -> None:
    reservation = "ReservationName=accelwatch-job-1 Nodes=n[2-3] Flags=MAINT State=ACTIVE"
    line = job("RUNNING", NodeList="n[1,3]") + " Reservation=accelwatch-job-1"
    own = {
        "bad": node("MIXED+DRAIN", "accelwatch:inc-2:r x"),
        "job": line,
        "reservations": reservation,
    }
    step = propose(intent(IntentKind.MOVE_JOB, job=KEY, spare="n4"), own)
    assert isinstance(step, Step)
    assert step.arguments["nodes"] == "n2,n3,n4"
    enough = propose(intent(IntentKind.MOVE_JOB, job=KEY, spare="n2"), own)
    assert kind_of(enough) == "requeue"


def test_a_reservation_that_is_too_small_for_the_job_is_not_kept() -> None:
    bad = {"bad": node("MIXED+DRAIN", "accelwatch:inc-1:r x")}
    alone = intent(IntentKind.MOVE_JOB, job=KEY)
    running = {**bad, "job": job("RUNNING", NumNodes="2")}
    assert kind_of(propose(alone, running)) == "requeue"
    with_spare = intent(IntentKind.MOVE_JOB, job=KEY, spare="n3")
    assert kind_of(propose(with_spare, running)) == "reserve"
    reservation = "ReservationName=accelwatch-job-1 Nodes=n[1-2] Flags=MAINT State=ACTIVE"
    waiting = job("PENDING", Restarts="1", NumNodes="2", ExcNodeList="n1")
    step = propose(alone, {**bad, "job": waiting, "reservations": reservation})
    assert kind_of(step) == "delete_reservation"
    inside = f"{waiting} Reservation=accelwatch-job-1"
    step = propose(alone, {**bad, "job": inside, "reservations": reservation})
    assert isinstance(step, Step)
    assert step.arguments == {"job": "1", "ReservationName": ""}
    roomy = reservation.replace("n[1-2]", "n[1-3]")
    assert kind_of(propose(alone, {**bad, "job": inside, "reservations": roomy})) == "Wait"


def test_a_restore_lets_a_job_go_that_a_fence_has_held_once_its_node_answers() -> None:
    wanted = intent(IntentKind.RESTORE_JOB, job=KEY)
    held = job("PENDING", Restarts="1", Priority="0", SubmitTime="1795355700")
    ours = f"{held} AdminComment=accelwatch:inc-1:held"
    silent = node("DOWN*", "accelwatch:inc-1:r fenced x")
    assert kind_of(propose(wanted, {"bad": silent, "job": ours})) == "Wait"
    assert kind_of(propose(wanted, {"bad": node("IDLE"), "job": ours})) == "let_go"
    # It may start at once, and a job that runs keeps the lists that it has.
    lists = intent(IntentKind.RESTORE_JOB, job=KEY, original={"exclude": "", "require": "n1"})
    steered = {"bad": node("IDLE"), "job": f"{ours} ExcNodeList=n1"}
    assert kind_of(propose(lists, steered)) == "unsteer"
    assert kind_of(propose(wanted, {"bad": node("IDLE"), "job": held})) == "Achieved"


def test_a_test_that_was_given_up_leaves_a_node_that_is_drained_or_released() -> None:
    extra = '{"accelwatch":{"i":"inc-1","t":2,"since":1.0}}'
    reservation = "ReservationName=accelwatch-verify-n1 Nodes=n1 Flags=MAINT State=ACTIVE"
    opened = {"node": node("IDLE", extra=extra), "reservations": reservation}
    assert kind_of(propose(intent(IntentKind.QUARANTINE), opened)) == "drain"
    assert kind_of(propose(intent(IntentKind.RELEASE), opened)) == "delete_reservation"
    assert kind_of(propose(intent(IntentKind.RELEASE), {**opened, "reservations": ""})) == "unmark"


def died(word: str = "FAILED", **fields: str) -> str:
    return job(word, Restarts="1", SubmitTime="1795355700", ExitCode="3:0", **fields)


@pytest.mark.parametrize(
    ("revive", "word", "requeue", "comes"),
    [
        (True, "FAILED", "1", "requeue"),
        (True, "NODE_FAIL", "1", "requeue"),
        (True, "FAILED", "0", "Refusal"),
        (True, "COMPLETED", "1", "Refusal"),
        (True, "CANCELLED", "1", "Refusal"),
        (False, "FAILED", "1", "Refusal"),
    ],
)
def test_only_a_job_that_has_died_is_restarted_and_only_when_requested(
    revive: bool, word: str, requeue: str, comes: str
) -> None:
    wanted = intent(IntentKind.MOVE_JOB, job=KEY, revive=revive, restarts=1)
    assert kind_of(propose(wanted, {"job": died(word, Requeue=requeue)})) == comes


def test_a_job_that_has_died_may_be_restarted_where_it_was() -> None:
    wanted = intent(IntentKind.MOVE_JOB, job=KEY, revive=True, bad_nodes=("n2",))
    waits = job("PENDING", Restarts="2", SubmitTime="1795355700", ExcNodeList="n2")
    assert kind_of(propose(wanted, {"job": waits})) == "Wait"
    runs = job("RUNNING", Restarts="2", SubmitTime="1795355700", NodeList="n1")
    assert isinstance(propose(wanted, {"job": runs}), Achieved)
    elsewhere = job("RUNNING", Restarts="2", SubmitTime="1795355700", NodeList="n2")
    assert not isinstance(propose(wanted, {"job": elsewhere}), Achieved)


@pytest.mark.parametrize(("bad", "comes"), [("n5", "Wait"), ("n3", "steer")])
def test_a_reservation_with_too_few_good_nodes_is_given_up_for_a_job_that_died(
    bad: str, comes: str
) -> None:
    reservation = "ReservationName=accelwatch-job-1 Nodes=n[2-3] Flags=MAINT State=ACTIVE"
    wanted = intent(IntentKind.MOVE_JOB, job=KEY, revive=True, bad_nodes=(bad,))
    waits = job("PENDING", Restarts="2", SubmitTime="1795355700", ExcNodeList=bad, NumNodes="2")
    own = {"job": waits + " Reservation=accelwatch-job-1", "reservations": reservation}
    step = propose(wanted, own)
    assert kind_of(step) == comes
    if isinstance(step, Step):
        assert step.arguments["ReservationName"] == ""
        assert kind_of(propose(wanted, {**own, "job": waits})) == "delete_reservation"


@pytest.mark.parametrize(("restarts", "recovery"), [("1", Recovery.UNKNOWN), ("2", Recovery.DONE)])
def test_whether_a_dead_job_was_requeued_is_seen_by_its_restarts(
    restarts: str, recovery: Recovery
) -> None:
    step = propose(intent(IntentKind.MOVE_JOB, job=KEY, revive=True), {"job": died()})
    assert isinstance(step, Step)
    now = job("FAILED", Restarts=restarts, SubmitTime="1795355700")
    context = Observed(time=NOW, own={"job": now})
    assert action().recover(StartedStep(step=step, started=NOW - 1), context) is recovery


def test_a_component_is_moved_only_when_all_of_its_job_is_shown() -> None:
    wanted = intent(IntentKind.MOVE_JOB, job=JobKey("lab", "1", 1795355571.0, "+1"))

    def part(at: int, state: str, **fields: str) -> str:
        answered = {"HetJobId": "1", "HetJobOffset": str(at), "NumNodes": "1", **fields}
        return job(state, **answered)

    second = part(1, "RUNNING", NodeList="n1")
    assert kind_of(propose(wanted, {"job": second})) == "Wait"
    assert kind_of(propose(wanted, {"job": second, "parts": second})) == "Wait"
    first = part(0, "RUNNING", NodeList="n2")
    step = propose(wanted, {"job": second, "parts": f"{first}\n{second}"}, hold_place=False)
    assert isinstance(step, Step)
    assert (step.kind, step.arguments["job"]) == ("requeue", "1")
    assert step.precondition["nodes"] == "n2,n1"
    ending = part(0, "COMPLETING", NodeList="n2")
    waits = part(1, "PENDING", Restarts="1")
    assert kind_of(propose(wanted, {"job": waits, "parts": f"{ending}\n{waits}"})) == "Wait"


@pytest.mark.parametrize(
    ("state", "reason", "jobs", "sent", "proposed"),
    [
        ("ALLOCATED", "", job("RUNNING"), "", "probe"),
        ("ALLOCATED+DRAIN", "accelwatch:inc-1:r x", job("RUNNING"), "", "probe"),
        ("ALLOCATED+DRAIN", "fan broken", job("RUNNING"), "", "Refusal"),
        ("ALLOCATED", "", job("COMPLETING"), "", "Refusal"),
        ("ALLOCATED", "", "", "", "Refusal"),
        ("ALLOCATED", "", "", "URG", "Wait"),
        ("ALLOCATED+NOT_RESPONDING", "", "", "URG", "Achieved"),
        ("ALLOCATED+NOT_RESPONDING", "", job("RUNNING"), "", "Achieved"),
    ],
)
def test_a_probe_is_sent_once_to_a_job_that_runs(
    state: str, reason: str, jobs: str, sent: str, proposed: str
) -> None:
    own = {"node": node(state, reason), "jobs": jobs, "signalled": sent}
    assert kind_of(propose(intent(IntentKind.PROBE), own, probe_silent=True)) == proposed


@pytest.mark.parametrize(
    ("started", "answered", "recovery"),
    [
        (None, None, Recovery.REDO),
        (NOW, None, Recovery.DONE),
        (NOW, ReportStatus.DONE, Recovery.DONE),
        (NOW, ReportStatus.UNKNOWN, Recovery.DONE),
        (NOW, ReportStatus.REFUSED, Recovery.REDO),
        (NOW, ReportStatus.RETRY, Recovery.REDO),
        (NOW, ReportStatus.NOT_STARTED, Recovery.REDO),
    ],
)
def test_a_probe_that_may_have_been_sent_is_not_sent_again(
    started: float | None, answered: ReportStatus | None, recovery: Recovery
) -> None:
    step = Step(kind="probe", arguments={"node": "n1", "job": "1", "asked": "1.0"})
    answer = None if answered is None else Report(status=answered)
    observed = Observed(time=NOW, own={"node": node("ALLOCATED")})
    started_step = StartedStep(step=step, started=started, report=answer)
    assert action(probe_silent=True).recover(started_step, observed) is recovery


@pytest.mark.parametrize(
    ("held", "after_s", "starts"), [(True, 2.0, True), (True, 0.5, False), (False, 2.0, False)]
)
def test_a_job_that_is_held_is_steered_and_started_by_one_update_but_not_in_its_requeues_second(
    held: bool, after_s: float, starts: bool
) -> None:
    waits = job("PENDING", Restarts="1", SubmitTime="1795355700")
    if held:
        waits = waits.replace("Priority=5", "Priority=0") + " AdminComment=accelwatch:inc-1:held"
    silent = node("DOWN*", "accelwatch:inc-1:r fenced x")
    own = {"bad": silent, "job": waits, "proof": "its power is off"}
    step = propose(intent(IntentKind.MOVE_JOB, job=KEY), own, time=1795355700.0 + after_s)
    assert isinstance(step, Step)
    assert (step.kind, step.arguments.get("StartTime")) == ("steer", "now" if starts else None)


def listed(step: Proposal) -> str | None:
    """The nodes that a job is kept off by a step."""
    return step.arguments.get("ExcNodeList") if isinstance(step, Step) else None


def test_a_job_that_waits_is_kept_off_what_is_bad_now_and_off_nothing_else() -> None:
    waits = {"Restarts": "1", "SubmitTime": "1795355700"}
    own = {"bad": node("IDLE+DRAIN", "accelwatch:inc-1:r x")}
    line = {**own, "job": job("PENDING", ExcNodeList="n5", **waits)}
    first = propose(intent(IntentKind.MOVE_JOB, job=KEY, bad_nodes=("n3", "n4")), line)
    assert listed(first) == "n5,n1,n3,n4"
    assert isinstance(first, Step)
    assert {name for name in first.original if name.startswith("added ")} == {
        *("added n1", "added n3", "added n4"),
    }
    line = {**own, "job": job("PENDING", ExcNodeList="n[1,3-7]", **waits)}
    answered = first.original
    now = intent(IntentKind.MOVE_JOB, job=KEY, bad_nodes=("n4", "n8"), original=answered)
    assert listed(propose(now, line)) == "n1,n4,n5,n6,n7,n8"
    same = {**own, "job": job("PENDING", ExcNodeList="n[1,4-8]", **waits)}
    assert listed(propose(now, same)) is None


def test_a_node_that_the_user_avoids_as_well_stays_on_the_list_when_it_is_well() -> None:
    waits = job("PENDING", Restarts="1", SubmitTime="1795355700", ExcNodeList="n[1,3,5]")
    own = {"bad": node("IDLE+DRAIN", "accelwatch:inc-1:r x"), "job": waits}
    answered = {"exclude": "n5", "added n1": "", "added n3": "", "added n5": ""}
    wanted = intent(IntentKind.MOVE_JOB, job=KEY, original=answered)
    assert listed(propose(wanted, own)) == "n1,n5"


def test_whatever_a_move_has_added_is_taken_back() -> None:
    answered = {"exclude": "n5", "added n1": "", "added n3": ""}
    wanted = intent(IntentKind.RESTORE_JOB, job=KEY, original=answered)
    line = job("PENDING", Restarts="2", SubmitTime="1795355700", ExcNodeList="n[1,3,5-6]")
    assert listed(propose(wanted, {"bad": node("IDLE"), "job": line})) == "n5,n6"


@pytest.mark.parametrize(
    ("reservation", "nodes", "step"),
    [("n[2-3]", 3, "n2,n3,n4"), ("n[2-4]", 3, ""), ("", 1, "n4"), ("", 3, "")],
)
def test_the_reservation_of_a_pending_job_takes_in_a_spare_that_is_drawn_late(
    reservation: str, nodes: int, step: str
) -> None:
    line = job("PENDING", Restarts="1", SubmitTime="1795355700", NumNodes=str(nodes))
    own = {"bad": node("IDLE+DRAIN", "accelwatch:inc-1:r x"), "job": line}
    if reservation:
        own["reservations"] = f"ReservationName=accelwatch-job-1 Nodes={reservation} Flags=MAINT"
    proposed = propose(intent(IntentKind.MOVE_JOB, job=KEY, spare="n4"), own)
    assert isinstance(proposed, Step)
    assert (proposed.kind == "reserve") is bool(step)
    assert proposed.arguments.get("nodes", "") == step


def test_a_spare_that_is_bad_by_now_is_not_taken_into_the_reservation() -> None:
    line = job("RUNNING", NodeList="n[1-2]")
    own = {"bad": node("MIXED+DRAIN", "accelwatch:inc-1:r x"), "job": line}
    wanted = intent(IntentKind.MOVE_JOB, job=KEY, spare="n4", bad_nodes=("n4",))
    step = propose(wanted, own)
    assert isinstance(step, Step)
    assert step.arguments.get("nodes") == "n2"


@pytest.mark.parametrize(
    ("ran_on", "step"), [(("n1",), "steer"), (("n1", "n9"), "hold"), ((), "hold")]
)
def test_a_silent_node_on_which_a_job_never_ran_keeps_it_from_nothing(
    ran_on: tuple[str, ...], step: str
) -> None:
    silent = node("DOWN*+DRAIN", "accelwatch:inc-2:r x").replace("NodeName=n1", "NodeName=n9")
    bad = node("IDLE+DRAIN", "accelwatch:inc-1:r x") + "\n" + silent
    waits = job("PENDING", Restarts="1", SubmitTime="1795355700")
    wanted = intent(IntentKind.MOVE_JOB, job=KEY, bad_nodes=("n1", "n9"), ran_on=ran_on)
    assert kind_of(propose(wanted, {"bad": bad, "job": waits})) == step


@pytest.mark.parametrize(
    ("state", "code", "option", "declines"),
    [
        ("FAILED", "93:0", 93, True),
        ("FAILED", "93:0", 0, False),
        ("FAILED", "1:0", 93, False),
        ("FAILED", "0:93", 93, False),
        ("COMPLETED", "93:0", 93, False),
        ("RUNNING", "93:0", 93, False),
    ],
)
def test_a_launcher_asks_for_no_restart_by_the_exit_code_that_is_configured(
    state: str, code: str, option: int, declines: bool
) -> None:
    job = job_of(f"JobId=17 JobState={state} ExitCode={code} SubmitTime=Unknown")
    context = ObservedContext(
        time=1.0,
        field="Extra",
        node=None,
        bad={},
        job=job,
        components=(),
        jobs=(),
        reservations={},
        own={},
        proven_dead=False,
    )
    options = SlurmOptions(no_restart_exit_code=option)
    seen = job_in_context(JobKey("c", "17", 0.0), context, options)
    expected = "its own launcher asks that it is not restarted (exit code 93)"
    assert seen.declined == (expected if declines else "")
