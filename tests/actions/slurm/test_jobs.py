"""Jobs of a real Slurm: moved off a bad node into a place that is kept for them, never twice at once."""

import asyncio
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from accelwatch.action.contract import ActionUnavailableError
from accelwatch.action.intent import IntentKind, JobKey
from accelwatch.action.step import (
    Achieved,
    Recovery,
    Refusal,
    RefusalKind,
    ReportStatus,
    StartedStep,
    Step,
    Wait,
)
from accelwatch_slurm.texts.job_text import SlurmJob, job_of, names_of
from accelwatch_slurm.texts.reservation_text import reservations_of
from support.actions.pursuits import committed
from support.slurm.action_on_cluster import Hand
from support.slurm.lab_cluster import WorkingSlurm, until

Hands = Callable[..., Hand]
MOVE = ["reserve", "requeue", "steer", "start"]


def job(slurm: WorkingSlurm, number: str) -> SlurmJob:
    found = job_of(slurm.job(number))
    assert found is not None
    return found


def running(slurm: WorkingSlurm, *options: str, script: str = "sleep 600 & wait") -> str:
    number = slurm.submit(*options, script=script)
    until(lambda: job(slurm, number).slurm_state == "RUNNING", f"job {number} runs")
    return number


def test_a_job_keeps_its_reservation_and_its_users_wishes(slurm: WorkingSlurm, hand: Hands) -> None:
    one = hand()
    number = running(slurm, "-N2", "--nodelist=n1,n2", "--exclude=n5")
    rival = slurm.submit("-N4")
    one.pursue(IntentKind.QUARANTINE, "n1")
    key = one.key(number)
    moved = one.pursue(IntentKind.MOVE_JOB, "n1", job=key, spare="n3")
    assert moved.kinds == MOVE
    assert isinstance(moved.ending, Achieved)
    assert moved.ending.moved_to == ("n2", "n3")
    now = job(slurm, number)
    assert (now.restarts, set(now.exclude.split(","))) == (1, {"n1", "n5"})
    assert now.require == ""
    assert job(slurm, rival).slurm_state == "PENDING"
    assert moved.original["exclude"] == "n5"
    (kept,) = asyncio.run(one.action.reservations())
    assert (kept.name, str(kept.job)) == (f"accelwatch-job-{number}", number)
    left = one.pursue(IntentKind.RESTORE_JOB, kept.node, job=kept.job, twice=True)
    assert left.kinds == ["leave_reservation", "delete_reservation"]
    assert asyncio.run(one.action.reservations()) == []
    assert (job(slurm, number).slurm_state, job(slurm, rival).slurm_state) == ("RUNNING", "PENDING")
    assert job(slurm, number).reservation == ""
    waits = one.intent(IntentKind.RESTORE_JOB, "n1", job=key, original=moved.original)
    assert isinstance(one.action.propose(waits, asyncio.run(one.action.observe(waits))), Wait)
    slurm.scontrol("requeue", number)
    restored = one.pursue(IntentKind.RESTORE_JOB, "n1", job=key, original=moved.original)
    assert restored.kinds == ["unsteer"]
    assert job(slurm, number).exclude == "n5"
    assert job(slurm, number).require in ("n1,n2", "n[1-2]")
    assert "accelwatch" not in slurm.scontrol("show", "reservations")


def test_who_wants_to_be_restarted_says_so_in_the_comment_and_for_nobody_else(
    slurm: WorkingSlurm, hand: Hands
) -> None:
    wants = running(slurm, "-w", "n1", "--comment=night run accelwatch:retry")
    forged = f"\n99|2026-01-01T00:00:00|n2|accelwatch:retry\n{wants}|N/A|n2|"
    running(slurm, "-w", "n2", f"--comment={forged}")
    seen = {one.name: one for one in asyncio.run(hand().action.observe_all())}
    assert {str(key) for key in seen["n1"].restartable} == {wants}
    assert (len(seen["n2"].jobs), seen["n2"].restartable) == (1, frozenset())
    owner = job(slurm, wants).user
    assert owner != ""
    assert seen["n1"].owners == {wants: owner}
    assert [*seen["n2"].owners.values()] == [owner], "a comment names nobody"


def test_the_reservation_is_given_back_when_the_job_has_ended(
    slurm: WorkingSlurm, hand: Hands
) -> None:
    one = hand()
    array = slurm.submit("--array=7", "-w", "n1")
    until(lambda: job(slurm, f"{array}_7").slurm_state == "RUNNING", "the task runs")
    one.pursue(IntentKind.QUARANTINE, "n1")
    key = one.key(f"{array}_7")
    assert str(key) == f"{array}_7"
    moved = one.pursue(IntentKind.MOVE_JOB, "n1", job=key, spare="n4", twice=True)
    assert moved.kinds == MOVE
    assert isinstance(moved.ending, Achieved)
    assert moved.ending.moved_to == ("n4",)
    slurm.run("scancel", array)
    restored = one.pursue(IntentKind.RESTORE_JOB, "n1", job=key, original=moved.original)
    assert "delete_reservation" in restored.kinds
    assert "accelwatch" not in slurm.scontrol("show", "reservations")


def test_a_reservation_ends_by_itself_and_one_that_a_suspended_job_needs_is_renewed(
    slurm: WorkingSlurm, hand: Hands
) -> None:
    one = hand()
    number = running(slurm, "-N2", "--nodelist=n1,n2", "--time=UNLIMITED")
    key = one.key(number)
    moved = one.pursue(IntentKind.MOVE_JOB, "n1", job=key, spare="n3")
    assert isinstance(moved.ending, Achieved)
    name = f"accelwatch-job-{number}"

    def hours_left() -> float:
        ends = reservations_of(slurm.scontrol("-o", "show", "reservations"))[name].end_time
        assert ends is not None
        return (ends - time.time()) / 3600

    assert 11.9 < hours_left() < 12.1
    slurm.scontrol("suspend", number)
    slurm.scontrol("update", f"reservationname={name}", "endtime=now+60minutes")
    restore = one.intent(IntentKind.RESTORE_JOB, "n2", job=key)
    step = one.action.propose(restore, asyncio.run(one.action.observe(restore)))
    assert isinstance(step, Step)
    assert step.kind == "renew_reservation"
    report = asyncio.run(one.action.perform(step, committed(restore)))
    assert report.status is ReportStatus.DONE
    assert 11.9 < hours_left() < 12.1
    observed = asyncio.run(one.action.observe(restore))
    assert one.action.recover(StartedStep(step=step, started=1.0), observed) is Recovery.DONE
    assert isinstance(one.action.propose(restore, observed), Wait)
    slurm.scontrol("resume", number)
    left = one.pursue(IntentKind.RESTORE_JOB, "n2", job=key)
    assert left.kinds == ["leave_reservation", "delete_reservation"]


@pytest.mark.parametrize("options", [(), ("--array=7",)])
def test_a_reservation_that_nobody_remembers_is_given_back_whatever_its_job_does(
    slurm: WorkingSlurm, hand: Hands, options: tuple[str, ...]
) -> None:
    one = hand()
    submitted = slurm.submit("--begin=now+1hour", "--exclude=n5", *options)
    number = f"{submitted}_7" if options else submitted
    name = f"accelwatch-job-{number.replace('_', '-')}"
    made = ("create", "reservation", "users=root", "starttime=now", "duration=60", "nodes=n2")
    slurm.scontrol(*made, f"reservationname={name}", "flags=maint,ignore_jobs")
    slurm.scontrol("update", f"jobid={number}", f"ReservationName={name}")
    (kept,) = asyncio.run(one.action.reservations())
    assert str(kept.job) == number
    waiting = one.pursue(IntentKind.RESTORE_JOB, kept.node, job=kept.job)
    assert waiting.kinds == ["unsteer", "delete_reservation"]
    assert (job(slurm, number).exclude, job(slurm, number).reservation) == ("n5", "")
    slurm.run("scancel", submitted)
    slurm.scontrol(*made, f"reservationname={name}", "flags=maint,ignore_jobs")
    slurm.scontrol(*made, "reservationname=accelwatch-job-999-1", "flags=maint,ignore_jobs")
    for kept in asyncio.run(one.action.reservations()):
        gone = one.pursue(IntentKind.RESTORE_JOB, kept.node, job=kept.job)
        assert gone.kinds == ["delete_reservation"]
    assert asyncio.run(one.action.reservations()) == []


def test_no_rival_takes_a_spare_between_two_steps(slurm: WorkingSlurm, hand: Hands) -> None:
    made = ("create", "reservation", "users=root", "duration=infinite", "starttime=now")
    slurm.scontrol(*made, "reservationname=spares", "nodes=n4,n5", "flags=ignore_jobs")
    one = hand(spares="spares")
    number = running(slurm, "-N2", "--nodelist=n1,n2")
    running(slurm, "-w", "n3")
    rival = slurm.submit("-N1")

    async def look(_: Step) -> None:
        await asyncio.sleep(1.2)  # a round of the scheduler
        assert job(slurm, rival).slurm_state == "PENDING"

    for bad, spare in (("n1", "n4"), ("n2", "n5")):
        one.pursue(IntentKind.QUARANTINE, bad)
        key = one.key(number)
        drawn = one.pursue(IntentKind.DRAW_SPARE, bad, job=key, spare=spare, before=look)
        assert drawn.kinds == ["reserve", "draw"]
        moved = one.pursue(IntentKind.MOVE_JOB, bad, job=key, spare=spare, before=look)
        assert isinstance(moved.ending, Achieved)
        assert spare in moved.ending.moved_to
    assert job(slurm, rival).slurm_state == "PENDING"


def test_what_cannot_or_may_not_be_restarted_is_refused(slurm: WorkingSlurm, hand: Hands) -> None:
    one = hand(hold_place=False)
    firm = running(slurm, "--no-requeue", "-w", "n1")
    slurm.run("salloc", "--no-shell", "-N1", "-w", "n2")
    (typed,) = slurm.run("squeue", "-h", "-o", "%i", "-w", "n2").split()
    firmly = one.pursue(IntentKind.MOVE_JOB, "n1", job=one.key(firm)).ending
    by_hand = one.pursue(IntentKind.MOVE_JOB, "n2", job=one.key(typed)).ending
    gone = one.pursue(IntentKind.MOVE_JOB, "n1", job=one.key(firm).__class__("lab", "999", 1.0))
    assert isinstance(firmly, Refusal)
    assert firmly.kind is RefusalKind.NOT_ALLOWED
    assert isinstance(by_hand, Refusal)
    assert by_hand.kind is RefusalKind.IMPOSSIBLE
    assert isinstance(gone.ending, Refusal)
    assert job(slurm, firm).slurm_state == job(slurm, typed).slurm_state == "RUNNING"
    forced = one.pursue(IntentKind.MOVE_JOB, "n1", job=one.key(firm), force_requeue=True)
    assert forced.kinds == ["allow_requeue", "requeue", "steer", "start"]


def test_a_deaf_job_is_waited_for_and_one_that_somebody_holds_is_theirs(
    slurm: WorkingSlurm, hand: Hands, tmp_path: Path
) -> None:
    one = hand(hold_place=False)
    script = f"trap '' TERM; while [ ! -e {tmp_path}/end ]; do sleep 0.2; done"
    deaf = running(slurm, "-w", "n1", script=script)
    held = running(slurm, "-w", "n2")

    async def hold(step: Step) -> None:
        if step.kind == "steer":
            slurm.scontrol("hold", held)

    taken = one.pursue(IntentKind.MOVE_JOB, "n2", job=one.key(held), before=hold).ending
    assert isinstance(taken, Refusal)
    assert taken.kind is RefusalKind.OVERRIDDEN
    assert job(slurm, held).priority == 0
    moved = one.pursue(IntentKind.MOVE_JOB, "n1", job=one.key(deaf))
    assert isinstance(moved.ending, Achieved)
    assert job(slurm, deaf).restarts == 1
    (tmp_path / "end").touch()


def test_a_checkpoint_is_requested_once(slurm: WorkingSlurm, hand: Hands, tmp_path: Path) -> None:
    one = hand()
    wish = tmp_path / "wish"
    trap = f"trap 'echo x >> {wish}' USR1; touch {tmp_path}/on; while :; do sleep 0.1; done"
    number = running(slurm, "-w", "n1", script=trap)
    until((tmp_path / "on").exists, "the trap is set")
    signalled = one.pursue(IntentKind.SIGNAL_JOB, "n1", job=one.key(number), signal="USR1")
    assert signalled.kinds == ["signal"]
    until(wish.exists, "the job was told")
    again = one.pursue(IntentKind.SIGNAL_JOB, "n1", job=one.key(number), signal="USR1")
    assert again.kinds == []


def test_a_controller_that_hangs_freezes_and_does_late_what_was_requested(
    slurm: WorkingSlurm, hand: Hands
) -> None:
    # A command that was sent is to be cut off before its answer, and not before it was sent.
    one, sends, slow = hand(timeout_s=0.5), hand(timeout_s=5.0), hand()
    intent = one.intent(IntentKind.QUARANTINE, "n1")
    step = slow.action.propose(intent, asyncio.run(slow.action.observe(intent)))
    assert isinstance(step, Step)
    with slurm.stopped("slurmctld"):
        for look in (one.action.observe_all(), one.action.observe(intent)):
            with pytest.raises(ActionUnavailableError, match="timeout"):
                asyncio.run(_of(look))
        # Its first look is in vain, so nothing was done.
        report = asyncio.run(one.action.perform(step, committed(intent)))
        assert report.status is ReportStatus.RETRY
        # One that was sent is not known: the controller does it when it wakes.
        words = ("update", "nodename=n1", "state=drain", f"reason={step.arguments['reason']}")
        sent = asyncio.run(sends.action._commands.run("scontrol", *words))
        assert sent.failure == "timeout"
    until(lambda: "DRAIN" in slurm.node("n1"), "it did so")
    observed = asyncio.run(slow.action.observe(intent))
    assert slow.action.recover(StartedStep(step=step, started=1.0), observed) is Recovery.DONE
    assert slow.pursue(IntentKind.QUARANTINE, "n1").kinds == []


async def _of(look: object) -> None:
    await look  # type: ignore[misc]


WRITER = """
while :; do echo ${{SLURM_RESTART_COUNT:-0}} $$ $PPID >> {file}; sleep 0.1; done & wait
"""


def power_of_n1(
    slurm: WorkingSlurm, folder: Path, checkpoint: Path
) -> tuple[int, dict[str, list[str]]]:
    """Pid of the writer on n1, and commands that end all of that node as taking its power would."""
    until(lambda: checkpoint.exists() and "\n" in checkpoint.read_text(), "the job writes")
    _, script, stepd = checkpoint.read_text().split()[:3]
    group = Path(f"/proc/{script}/task/{script}/children").read_text().split()
    pids = " ".join([str(slurm.pid("slurmd.n1")), stepd, script, *group])
    for name, text in (("off", f"kill -9 {pids}"), ("state", f"! kill -0 {pids}")):
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    words = {f"power_{name}": [str(folder / name), "{node}"] for name in ("off", "state")}
    return int(script), words


def writing(slurm: WorkingSlurm, folder: Path) -> tuple[str, Path]:
    """A job on n1 and n2 that writes into a checkpoint, which only n5 can take over."""
    checkpoint = folder / "checkpoint"
    number = running(slurm, "-N2", "-x", "n3,n4", script=WRITER.format(file=checkpoint))
    assert job(slurm, number).nodes == ("n1", "n2")
    return number, checkpoint


def writers(checkpoint: Path) -> set[str]:
    """Restart counts of the copies that have written."""
    return {line.split()[0] for line in checkpoint.read_text().splitlines()}


def test_a_job_that_was_requeued_on_a_hung_node_leaves_it_after_the_fence(
    slurm: WorkingSlurm, hand: Hands, tmp_path: Path
) -> None:
    number, checkpoint = writing(slurm, tmp_path)
    script, power = power_of_n1(slurm, tmp_path, checkpoint)
    one, other = hand(), hand(**power)
    key = one.key(number)
    assert one.pursue(IntentKind.QUARANTINE, "n1").kinds == ["drain"]
    with slurm.stopped("slurmd.n1"):
        # Slurm takes the node for one that answers, and tells it to end the job. A slurmd that has
        # answered in the second of that message is given twice the time.
        time.sleep(1.1)
        refused = one.pursue(IntentKind.MOVE_JOB, "n1", job=key)
        assert refused.kinds == ["requeue", "hold", "steer"]
        assert isinstance(refused.ending, Refusal)
        assert refused.ending.kind is RefusalKind.UNSAFE
        assert "fence it first" in refused.ending.text
        fence = one.intent(IntentKind.FENCE, "n1")
        down = one.action.propose(fence, asyncio.run(one.action.observe(fence)))
        assert isinstance(down, Step)
        assert down.kind == "set_down"
        asyncio.run(one.action.perform(down, committed(fence)))
        until(lambda: job(slurm, number).slurm_state == "PENDING", "it has left the node")
        assert job(slurm, number).priority == 0
        before = len(checkpoint.read_text().splitlines())
        until(lambda: len(checkpoint.read_text().splitlines()) > before, "the old copy writes on")
        assert writers(checkpoint) == {"0"}
        assert isinstance(one.pursue(IntentKind.MOVE_JOB, "n1", job=key).ending, Refusal)
        assert other.pursue(IntentKind.FENCE, "n1").kinds == ["power_off"]
        until(lambda: not _is_alive(script), "the old copy is gone")
        moved = other.pursue(IntentKind.MOVE_JOB, "n1", job=key)
        slurm.start_node("n1")
    assert isinstance(moved.ending, Achieved)
    assert moved.ending.moved_to == ("n2", "n5")
    until(lambda: writers(checkpoint) == {"0", "1"}, "the new copy writes")
    until(lambda: "NOT_RESPONDING" not in slurm.node("n1"), "slurmd is back")


def test_a_job_starts_elsewhere_as_soon_as_its_hung_node_without_power_is_set_down(
    slurm: WorkingSlurm, hand: Hands, tmp_path: Path
) -> None:
    number, checkpoint = writing(slurm, tmp_path)
    script, power = power_of_n1(slurm, tmp_path, checkpoint)
    one = hand(**power)
    key = one.key(number)
    one.pursue(IntentKind.QUARANTINE, "n1")
    with slurm.stopped("slurmd.n1"):
        time.sleep(1.1)
        refused = one.pursue(IntentKind.MOVE_JOB, "n1", job=key)
        assert refused.kinds == ["requeue", "hold", "steer"]
        assert _is_alive(script)
        assert one.pursue(IntentKind.FENCE, "n1").kinds == ["power_off", "set_down"]
        assert not _is_alive(script)
        assert job(slurm, number).priority != 0
        moved = one.pursue(IntentKind.MOVE_JOB, "n1", job=key)
        slurm.start_node("n1")
    assert moved.kinds in ([], ["start"]), "it was let go already"
    assert isinstance(moved.ending, Achieved)
    assert moved.ending.moved_to == ("n2", "n5")
    assert "held" not in job(slurm, number).admin_comment
    until(lambda: writers(checkpoint) == {"0", "1"}, "the new copy writes")
    until(lambda: "NOT_RESPONDING" not in slurm.node("n1"), "slurmd is back")


def test_a_job_that_hangs_on_another_silent_node_too_is_held_on(
    slurm: WorkingSlurm, hand: Hands, tmp_path: Path
) -> None:
    number, checkpoint = writing(slurm, tmp_path)
    _, power = power_of_n1(slurm, tmp_path, checkpoint)
    one = hand(**power)
    one.pursue(IntentKind.QUARANTINE, "n1")
    with slurm.stopped("slurmd.n1"), slurm.stopped("slurmd.n2"):
        time.sleep(1.1)
        one.pursue(IntentKind.MOVE_JOB, "n1", job=one.key(number))
        until(lambda: "NOT_RESPONDING" in slurm.node("n2"), "n2 is known to be silent")
        assert one.pursue(IntentKind.FENCE, "n1").kinds == ["power_off", "set_down"]
        assert job(slurm, number).priority == 0
        assert job(slurm, number).slurm_state == "COMPLETING"
        slurm.run("scancel", number)
        slurm.scontrol("update", "node=n2", "state=down", "reason=the job leaves it")
        slurm.start_node("n1")
    until(lambda: "NOT_RESPONDING" not in slurm.node("n1"), "slurmd is back")
    until(lambda: "NOT_RESPONDING" not in slurm.node("n2"), "slurmd goes on")


def test_a_job_is_never_started_beside_its_old_copy(
    slurm: WorkingSlurm, hand: Hands, tmp_path: Path
) -> None:
    checkpoint = tmp_path / "checkpoint"
    number = running(slurm, "-w", "n1", script=WRITER.format(file=checkpoint))
    script, power = power_of_n1(slurm, tmp_path, checkpoint)
    one = hand()
    key = one.key(number)
    with slurm.stopped("slurmd.n1"):
        fence = one.intent(IntentKind.FENCE, "n1", job=key)
        for kind in ("hold", "set_down"):
            step = one.action.propose(fence, asyncio.run(one.action.observe(fence)))
            assert isinstance(step, Step)
            assert step.kind == kind
            asyncio.run(one.action.perform(step, committed(fence)))
        observed = asyncio.run(one.action.observe(fence))
        assert not observed.proven_dead
        assert isinstance(one.action.propose(fence, observed), Wait)
        refused = one.pursue(IntentKind.MOVE_JOB, "n1", job=key).ending
        assert isinstance(refused, Refusal)
        assert refused.kind is RefusalKind.UNSAFE
        assert job(slurm, number).priority == 0
        before = len(checkpoint.read_text().splitlines())
        until(lambda: len(checkpoint.read_text().splitlines()) > before, "the old copy writes on")
        assert {line.split()[0] for line in checkpoint.read_text().splitlines()} == {"0"}
        other = hand(**power)
        assert other.pursue(IntentKind.FENCE, "n1", job=key).kinds == ["power_off"]
        until(lambda: not _is_alive(script), "the old copy is gone")
        length = len(checkpoint.read_text().splitlines())
        moved = other.pursue(IntentKind.MOVE_JOB, "n1", job=key)
        slurm.start_node("n1")
    assert moved.kinds[:2] == ["steer", "let_go"], "and a start, within the second of the requeue"
    assert isinstance(moved.ending, Achieved)
    until(lambda: len(checkpoint.read_text().splitlines()) > length, "the new copy writes")
    writers = {tuple(line.split()[:2]) for line in checkpoint.read_text().splitlines()[length:]}
    assert {restarts for restarts, _ in writers} == {"1"}
    assert len(writers) == 1
    assert "held" not in job(slurm, number).admin_comment
    until(lambda: "NOT_RESPONDING" not in slurm.node("n1"), "slurmd is back")
    assert one.pursue(IntentKind.RELEASE, "n1").kinds == ["resume"]


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, signal.SIG_DFL)
    except ProcessLookupError:
        return False
    return True


def test_a_job_that_dies_again_is_seen_and_restarted_from_its_checkpoint(
    slurm: WorkingSlurm, hand: Hands, tmp_path: Path
) -> None:
    pattern = f"{tmp_path}/{{job}}/step-{{step}}"
    one = hand(checkpoints={"pattern": pattern, "earlier": True})
    checkpoint_line = "scontrol -o show job $SLURM_JOB_ID | grep -o 'accelwatch:begin:[0-9][^ ]*'"
    script = (
        f"{checkpoint_line} >>{tmp_path}/told\n"
        f"while [ ! -e {tmp_path}/die ]; do sleep 0.1; done; rm {tmp_path}/die; exit 3"
    )
    number = running(slurm, "-w", "n1", script=script)
    for step in (800, 900):
        (tmp_path / number / f"step-{step}").mkdir(parents=True)
    key = one.key(number)
    runs = asyncio.run(one.action.observe(one.intent(IntentKind.FOLLOW_JOB, "n1", job=key))).job
    assert runs is not None
    assert (runs.step, runs.failed) == (900, False)
    earlier = f"{tmp_path}/{number}/step-800"
    assert runs.earlier == earlier
    watching = one.intent(IntentKind.FOLLOW_JOB, "n1", job=key, restarts=0, run_s=600.0)
    assert isinstance(one.action.propose(watching, asyncio.run(one.action.observe(watching))), Wait)
    (tmp_path / "die").touch()
    end = one.pursue(IntentKind.FOLLOW_JOB, "n1", job=key, restarts=0, run_s=600.0).ending
    assert isinstance(end, Refusal)
    assert (end.kind, end.text) == (RefusalKind.DIED, "failed, exit code 3:0")
    again = one.pursue(
        IntentKind.MOVE_JOB,
        "n1",
        job=key,
        revive=True,
        restarts=0,
        bad_nodes=("n1",),
        checkpoint=earlier,
    )
    assert again.kinds == ["requeue", "steer", "start"]
    assert isinstance(again.ending, Achieved)
    assert "n1" not in again.ending.moved_to
    assert job(slurm, number).restarts == 1
    ran = one.pursue(IntentKind.FOLLOW_JOB, "n1", job=key, restarts=1, run_s=0.5).ending
    assert isinstance(ran, Achieved)
    until((tmp_path / "told").read_text, "the job has looked from where to begin")
    assert (tmp_path / "told").read_text() == f"accelwatch:begin:1:{earlier}\n"


def test_a_job_that_is_cancelled_is_over_and_another_of_its_number_is_not(
    slurm: WorkingSlurm, hand: Hands
) -> None:
    one = hand()
    number = running(slurm, "-w", "n1")
    key = one.key(number)
    other = JobKey(key.cluster, key.id, key.submitted + 100.0)
    assert isinstance(one.pursue(IntentKind.CANCEL_JOB, "n1", job=other).ending, Achieved)
    assert job(slurm, number).slurm_state == "RUNNING"
    ended = one.pursue(IntentKind.CANCEL_JOB, "n1", job=key, twice=True)
    assert ended.kinds == ["cancel"]
    assert isinstance(ended.ending, Achieved)
    assert job(slurm, number).slurm_state == "CANCELLED"


def heterogeneous(slurm: WorkingSlurm, folder: Path) -> str:
    """A running job of a component on two nodes and one on a third."""
    script = folder / "job.sh"
    script.write_text(
        "#!/bin/sh\n#SBATCH -N2 --exclude=n5\n#SBATCH hetjob\n#SBATCH -N1 --nodelist=n3\n"
        "sleep 600 & wait\n"
    )
    output = f"--output={slurm.folder}/job.%j.out"
    number = slurm.run("sbatch", "--parsable", output, str(script)).partition(";")[0]
    until(lambda: slurm.run("squeue", "-h", "-o", "%T") == "RUNNING\nRUNNING", "both parts run", 60)
    return number


def components(slurm: WorkingSlurm, number: str) -> list[SlurmJob]:
    return [job(slurm, f"{number}+{at}") for at in (0, 1)]


def test_a_heterogeneous_job_is_moved_as_a_whole(
    slurm: WorkingSlurm, hand: Hands, tmp_path: Path
) -> None:
    one = hand()
    number = heterogeneous(slurm, tmp_path)
    before = components(slurm, number)
    assert before[1].nodes == ("n3",)
    one.pursue(IntentKind.QUARANTINE, "n3")
    key = one.key(f"{number}+1")
    assert str(key) == f"{number}+1"
    moved = one.pursue(IntentKind.MOVE_JOB, "n3", job=key, spare="n4", within_s=60.0)
    assert moved.kinds[:2] == ["reserve", "requeue"]
    assert (moved.kinds.count("steer"), "start" in moved.kinds) == (2, True)
    assert isinstance(moved.ending, Achieved)
    assert set(moved.ending.moved_to) == {"n1", "n2", "n4"}
    parts = components(slurm, number)
    assert [part.restarts for part in parts] == [1, 1]
    assert all("n3" in names_of(part.exclude) for part in parts)
    assert parts[1].require == ""
    slurm.scontrol("requeue", number)
    restored = one.pursue(IntentKind.RESTORE_JOB, "n3", job=key, original=moved.original)
    assert restored.kinds == ["unsteer", "unsteer", "delete_reservation"]
    parts = components(slurm, number)
    assert [(one.exclude, one.require) for one in parts] == [
        (one.exclude, one.require) for one in before
    ]


def test_a_heterogeneous_job_is_cancelled_as_a_whole(
    slurm: WorkingSlurm, hand: Hands, tmp_path: Path
) -> None:
    one = hand()
    number = heterogeneous(slurm, tmp_path)
    ended = one.pursue(IntentKind.CANCEL_JOB, "n3", job=one.key(f"{number}+1"))
    assert isinstance(ended.ending, Achieved)
    assert {part.slurm_state for part in components(slurm, number)} == {"CANCELLED"}


def test_a_power_switch_is_queried_only_after_nodes_that_were_set_down_and_not_at_every_poll(
    slurm: WorkingSlurm, hand: Hands, tmp_path: Path
) -> None:
    requested, switch = tmp_path / "asked", tmp_path / "switch"
    switch.write_text(f"#!/bin/sh\necho $1 >> {requested}\n")
    switch.chmod(0o755)
    one = hand(power_off=["/bin/true"], power_state=[str(switch), "{node}"])
    fence = one.intent(IntentKind.FENCE, "n1", bad_nodes=("n2",))
    assert not asyncio.run(one.action.observe(fence)).proven_dead
    assert not requested.exists()
    slurm.scontrol("update", "node=n1", "state=down", "reason=accelwatch:inc-1:r fenced x")
    for _ in range(3):
        assert asyncio.run(one.action.observe(fence)).own["off"] == "n1"
    assert requested.read_text().split() == ["n1"]


def test_a_requeue_sets_the_submission_anew_under_the_key_of_before(
    slurm: WorkingSlurm, hand: Hands
) -> None:
    one = hand()
    number = slurm.submit("-w", "n1")
    until(lambda: "JobState=RUNNING" in slurm.job(number), "the job runs")
    key = one.key(number)
    until(lambda: time.time() > key.submitted + 2, "another second")
    slurm.scontrol("requeue", number)
    until(lambda: job(slurm, number).restarts == 1, "it is requeued")
    # Slurm counts the restart first, and sets the submission when the job has left its node.
    until(lambda: job(slurm, number).slurm_state != "COMPLETING", "it has left its node")
    looks = one.intent(IntentKind.FOLLOW_JOB, "n1", job=key)
    seen = asyncio.run(one.action.observe(looks)).job
    assert seen is not None
    assert seen.key == key
    assert seen.submitted > key.submitted
