"""Which step leads to a node on which provably nothing runs. Pure."""

import msgspec

from accelwatch.action.intent import Intent
from accelwatch.action.observed import HoldState, JobState
from accelwatch.action.step import Achieved, Proposal, Step, Wait
from accelwatch_slurm.proposals.draining import missing, not_ours
from accelwatch_slurm.proposals.job_step import hold
from accelwatch_slurm.texts import steps
from accelwatch_slurm.texts.annotations import (
    annotation_in,
    field_of,
    incident_in,
    is_fenced,
    reason_of,
)
from accelwatch_slurm.texts.job_text import SlurmJob, names_of
from accelwatch_slurm.texts.node_text import SlurmNode
from accelwatch_slurm.texts.observed_context import PROOF, ObservedContext, hold_token

# Boot times that differ by less are one: slurmd works it out from the uptime.
NEW_BOOT_S = 5.0
# How far clocks may be apart: a clock that is set moves the boot time, but not to now.
_SKEW_S = 60.0
_NEW_START_S = 1.0
_LATE_START_S = 5.0


class Answered(msgspec.Struct, frozen=True, kw_only=True):
    """What makes the answer of a slurmd a proof that it has ended its jobs.

    The controller gives the order once, when the node is set down, and marks a slurmd that does not
    accept it. One that was marked and answers again may have missed it; one that was seen to answer
    all the time since has got it.
    """

    # Seconds for which it has been seen to answer, without a break, since the node was set down.
    for_s: float
    # Seconds after which the controller marks a slurmd that did not accept the order.
    silence_s: float = 15.0
    # Seconds after which a job that is deaf to the order is killed.
    kill_s: float = 35.0


def propose_fence(intent: Intent, context: ObservedContext, *, power_off: bool) -> Proposal:
    """Hold its jobs, set it down, and wait for a proof.

    Jobs that Slurm would begin again by itself are held first, each until it is moved. Where nothing
    but requeued jobs is left on a silent node, its power goes before it is set down: then they begin
    elsewhere in the round of the scheduler that setting it down leads to. Where one still runs it is set
    down first, which requeues the job: a switch that lets programs end would have it fail before.
    """
    node = context.node
    if node is None:
        return missing(intent)
    if context.hold_state is HoldState.FOREIGN and (refusal := not_ours(context, node)):
        return refusal
    if context.hold_state is HoldState.OURS and is_set_down(node):
        return _proof(intent, context, node, power_off)
    if not context.jobs and node.answering and not node.is_("ALLOCATED", "MIXED", "COMPLETING"):
        return Achieved(f"nothing runs on {node.name}, and its slurmd answers")
    for job in context.jobs:
        free = intent.fenced_by_job and intent.job is not None and str(intent.job) == job.id
        held = job.priority == 0 or free
        runs = job.state is JobState.RUNNING and job.batch and job.requeueable
        if (runs or job.is_requeued) and not held:
            return hold(intent, job)
    is_completing = all(job.state is JobState.COMPLETING for job in context.jobs)
    if (
        power_off
        and not intent.fenced_by_job
        and is_lost(node)
        and is_completing
        and not context.proven_dead
    ):
        return _power_off(node)
    ready = [job.id for job in context.jobs if context.proven_dead and _is_ready(job, intent)]
    return Step(
        kind=steps.SET_DOWN,
        arguments={
            "node": node.name,
            "reason": reason_of(intent, fenced=True),
            **({"jobs": " ".join(ready), "word": hold_token(intent)} if ready else {}),
        },
        precondition={"standing": context.hold_state},
        original={"states": "+".join(node.states), "reason": node.reason},
        text=f"set {node.name} down",
    )


def _is(job: SlurmJob, intent: Intent) -> bool:
    return intent.job is not None and job.is_of(intent.job)


def is_set_down(node: SlurmNode) -> bool:
    """Whether a fence of ours has set it down."""
    return node.down and is_fenced(node.reason)


def is_out(node: SlurmNode) -> bool:
    """Whether nothing runs there if it has no power: its jobs were removed, or it is lost."""
    return is_set_down(node) or is_lost(node)


def is_lost(node: SlurmNode) -> bool:
    """Whether it is out by our own hold, and the controller knows that its slurmd is silent."""
    return node.drained and node.answering is False and bool(incident_in(node.reason))


def _is_ready(job: SlurmJob, intent: Intent) -> bool:
    """Whether its own move has held and steered it, and waits for nothing but the fence."""
    held = job.priority == 0 and hold_token(intent) in job.admin_comment
    return is_kept_off(job, intent.node) and held and job.is_requeued and not job.heterogeneous


def is_kept_off(job: SlurmJob, node: str) -> bool:
    """Whether Slurm will not begin it on a node."""
    return node in names_of(job.exclude)


def _power_off(node: SlurmNode) -> Step:
    return Step(kind=steps.POWER_OFF, arguments={"node": node.name}, text=f"power {node.name} off")


def _proof(intent: Intent, context: ObservedContext, node: SlurmNode, power_off: bool) -> Proposal:
    if context.proven_dead:
        return Achieved(f"nothing runs on {node.name}: {context.own.get(PROOF, '')}")
    if intent.fenced_by_job:
        return Achieved(f"{node.name} is down; the job itself keeps a second copy from writing")
    job = context.job
    if job is not None and job.state is JobState.WAITING and job.restarts and _is(job, intent):
        return hold(intent, job)
    if power_off and node.name not in context.off:
        return _power_off(node)
    return Wait(
        1.0,
        f"it is unknown whether {node.name} is still running its jobs: power it off or reboot it",
    )


def proof_of(context: ObservedContext, name: str, answered: Answered) -> str:
    """Why nothing can run on a node any more that we set down; empty when that is not proven."""
    node = context.bad.get(name)
    if node is None or not is_out(node):
        return ""
    if name in context.off:
        return "its power is off"
    if not is_set_down(node):
        return ""
    annotation = annotation_in(field_of(node, context.field))
    since = annotation.since if annotation is not None else node.set_at
    if since is None:
        return ""
    if has_booted(node, since, annotation.boot if annotation is not None else None):
        return "it has booted since"
    if not node.answering:
        return ""
    started = (
        annotation.slurmd if annotation is not None and annotation.slurmd is not None else since
    )
    if node.slurmd_start is not None and node.slurmd_start > started + _NEW_START_S:
        # It has reported to the controller what it found running, and got the order to end it.
        return "its slurmd was restarted" if answered.for_s >= answered.kill_s else ""
    watched = answered.for_s + _LATE_START_S >= context.time - since
    if watched and answered.for_s >= answered.silence_s + answered.kill_s:
        return "its slurmd has accepted the order to end its jobs"
    return ""


def has_booted(node: SlurmNode, since: float, before: float | None) -> bool:
    """Whether it has booted about or after a moment, and not only had its clock set."""
    if node.boot_time is None or node.boot_time < since - _SKEW_S:
        return False
    return node.boot_time > (before if before is not None else since) + NEW_BOOT_S
