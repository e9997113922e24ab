"""Which step leads to a node on which provably nothing runs, and to one that was rebooted. Pure."""

import msgspec

from accelwatch.action.intent import Intent
from accelwatch.action.observed import JobState, Standing
from accelwatch.action.step import Achieved, Proposal, Refusal, RefusalKind, Step, Wait
from accelwatch_slurm import steps
from accelwatch_slurm.holding import missing, not_ours
from accelwatch_slurm.job_text import SlurmJob
from accelwatch_slurm.marks import field_of, is_fenced, mark_in, reason_of
from accelwatch_slurm.node_text import SlurmNode
from accelwatch_slurm.scene import PROOF, Scene, held_word

NEW_BOOT_S = 5.0
"""Boot times that differ by less are one: slurmd works it out from the uptime."""
_SKEW_S = 60.0
"""How far clocks may be apart: a clock that is set moves the boot time, but not to now."""
_NEW_START_S = 1.0
_BEGUN_LATE_S = 5.0


class Answered(msgspec.Struct, frozen=True, kw_only=True):
    """What makes the answer of a slurmd a proof that it has ended its jobs.

    The controller gives the order once, when the node is set down, and marks a slurmd that does not
    take it. One that was marked and answers again need not have heard it; one that was seen to answer
    all the time since has.
    """

    for_s: float
    """Seconds for which it has been seen to answer, without a break, since the node was set down."""
    silence_s: float = 15.0
    """Seconds after which the controller marks a slurmd that did not take the order."""
    kill_s: float = 35.0
    """Seconds after which a job that is deaf to the order is killed."""


def propose_fence(intent: Intent, scene: Scene, *, power_off: bool) -> Proposal:
    """Hold its jobs, set it down, and wait for a proof.

    Jobs that Slurm would begin again by itself are held first, each until it is moved.
    """
    node = scene.node
    if node is None:
        return missing(intent)
    if scene.standing is Standing.FOREIGN and (refusal := not_ours(scene, node)):
        return refusal
    fenced = node.down and is_fenced(node.reason)
    if fenced:
        return _proof(intent, scene, node, power_off)
    if not scene.jobs and node.answering and not node.is_("ALLOCATED", "MIXED", "COMPLETING"):
        return Achieved(f"nothing runs on {node.name}, and its slurmd answers")
    for job in scene.jobs:
        free = intent.fenced_by_job and intent.job is not None and str(intent.job) == job.id
        held = job.priority == 0 or free
        runs = job.state is JobState.RUNNING and job.batch and job.requeueable
        if (runs or job.begins_again) and not held:
            return _hold(intent, job)
    return Step(
        kind=steps.SET_DOWN,
        arguments={"node": node.name, "reason": reason_of(intent, fenced=True)},
        precondition={"standing": scene.standing},
        original={"states": "+".join(node.states), "reason": node.reason},
        text=f"set {node.name} down",
    )


def _is(job: SlurmJob, intent: Intent) -> bool:
    return intent.job is not None and job.is_of(intent.job)


def _hold(intent: Intent, job: SlurmJob) -> Step:
    return Step(
        kind=steps.HOLD,
        arguments={"job": job.id, "word": held_word(intent), "comment": job.admin_comment},
        precondition={"restarts": str(job.restarts)},
        text=f"hold job {job.id} until it cannot run twice",
    )


def _proof(intent: Intent, scene: Scene, node: SlurmNode, power_off: bool) -> Proposal:
    if scene.proven_dead:
        return Achieved(f"nothing runs on {node.name}: {scene.own.get(PROOF, '')}")
    if intent.fenced_by_job:
        return Achieved(f"{node.name} is down; the job itself keeps a second copy from writing")
    job = scene.job
    if job is not None and job.state is JobState.WAITING and job.restarts and _is(job, intent):
        return _hold(intent, job)
    if power_off and node.name not in scene.off:
        return Step(
            kind=steps.POWER_OFF, arguments={"node": node.name}, text=f"power {node.name} off"
        )
    return Wait(
        1.0, f"nobody knows whether {node.name} still runs what it ran: power it off, or reboot it"
    )


def proof_of(scene: Scene, name: str, answered: Answered) -> str:
    """Why nothing can run on a node any more that we set down; empty when that is not proven."""
    node = scene.bad.get(name)
    if node is None or not (node.down and is_fenced(node.reason)):
        return ""
    if name in scene.off:
        return "its power is off"
    mark = mark_in(field_of(node, scene.field))
    since = mark.since if mark is not None else node.set_at
    if since is None:
        return ""
    if _has_booted(node, since, mark.boot if mark is not None else None):
        return "it has booted since"
    if not node.answering:
        return ""
    began = mark.slurmd if mark is not None and mark.slurmd is not None else since
    if node.slurmd_start is not None and node.slurmd_start > began + _NEW_START_S:
        # It has told the controller what it found running, and was told to end it.
        return "its slurmd has begun anew" if answered.for_s >= answered.kill_s else ""
    watched = answered.for_s + _BEGUN_LATE_S >= scene.time - since
    if watched and answered.for_s >= answered.silence_s + answered.kill_s:
        return "its slurmd has taken the order to end its jobs"
    return ""


def _has_booted(node: SlurmNode, since: float, before: float | None) -> bool:
    """Whether it has booted about or after a moment, and not only had its clock set."""
    if node.boot_time is None or node.boot_time < since - _SKEW_S:
        return False
    return node.boot_time > (before if before is not None else since) + NEW_BOOT_S


def propose_reboot(intent: Intent, scene: Scene, *, has_field: bool) -> Proposal:
    """Reboot a node that we hold and that is empty; seen by its boot time."""
    node = scene.node
    if node is None:
        return missing(intent)
    if not has_field:
        return no_field("reboot", node.name)
    if refusal := held_by_us(scene, node):
        return refusal
    if node.rebooting:
        return Wait(2.0, f"{node.name} is being rebooted")
    if ending := _rebooted(intent, scene, node):
        return ending
    if scene.jobs or node.is_("ALLOCATED", "MIXED", "COMPLETING"):
        return Wait(5.0, f"jobs still run on {node.name}")
    if node.boot_time is None:
        return Refusal(RefusalKind.UNSAFE, f"the boot time of {node.name} is not known")
    return Step(
        kind=steps.REBOOT,
        arguments={
            "node": node.name,
            "reason": reason_of(intent),
            "asked": repr(intent.asked),
        },
        precondition={"boot": repr(node.boot_time)},
        text=f"reboot {node.name}",
    )


def _rebooted(intent: Intent, scene: Scene, node: SlurmNode) -> Proposal | None:
    """What has come of the reboot that was asked for; None when it was not yet, or is not seen."""
    mark = scene.mark
    if mark is None or mark.asked != intent.asked or mark.boot is None:
        return None
    if _has_booted(node, intent.asked, mark.boot):
        if node.answering:
            return Achieved(f"{node.name} has booted again and answers")
        return Wait(2.0, f"slurmd of {node.name} does not answer yet")
    if "reboot timed out" in node.reason:
        return Refusal(RefusalKind.IMPOSSIBLE, f"{node.name} did not come back from its reboot")
    return None


def no_field(what: str, node: str) -> Refusal:
    """What cannot be told from an earlier one without a field of the node."""
    return Refusal(
        RefusalKind.IMPOSSIBLE, f"{what} of {node}: the option mark is none, set extra or comment"
    )


def held_by_us(scene: Scene, node: SlurmNode) -> Refusal | None:
    """Why a node is not ours to work on."""
    if refusal := not_ours(scene, node):
        return refusal
    if scene.standing is not Standing.OURS:
        return Refusal(RefusalKind.UNSAFE, f"{node.name} takes work: it has to be drained first")
    return None
