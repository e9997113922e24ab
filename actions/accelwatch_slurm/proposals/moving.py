"""Which step leads to a job that runs on without the bad nodes. Pure.

A reservation keeps the job's good nodes and the spare before it is requeued: else
the next job in the queue gets them.
"""

from accelwatch.action.intent import Intent
from accelwatch.action.observed import JobState
from accelwatch.action.step import Achieved, Proposal, Refusal, RefusalKind, Step, Wait
from accelwatch_slurm.proposals.job_step import RESERVATION_MINUTES, job_step, renew_reservation
from accelwatch_slurm.proposals.leaving import propose_leaving, silent_node
from accelwatch_slurm.proposals.starting import propose_start
from accelwatch_slurm.proposals.steering import is_roomy
from accelwatch_slurm.texts import steps
from accelwatch_slurm.texts.job_components import combined, is_complete
from accelwatch_slurm.texts.job_text import SlurmJob
from accelwatch_slurm.texts.observed_context import ObservedContext, reservation_of


def propose_move(intent: Intent, context: ObservedContext, *, reserve_nodes: bool) -> Proposal:
    """Requeue it away from the bad nodes, into its reservation."""
    job = context.job
    if intent.job is None or job is None or not job.is_of(intent.job):
        return Refusal(RefusalKind.IMPOSSIBLE, f"Slurm knows no job {intent.job} any more")
    if job.state is JobState.FINISHED and not (intent.revive and job.died):
        return Refusal(RefusalKind.IMPOSSIBLE, f"job {job.id} has ended: {job.slurm_state.lower()}")
    if not job.heterogeneous:
        return _moved(intent, context, job, reserve_nodes)
    if not is_complete(context.components):
        return Wait(1.0, f"not all components of job {job.base_id} are shown")
    return _moved(intent, context, combined(context.components), reserve_nodes)


def _moved(
    intent: Intent, context: ObservedContext, job: SlurmJob, reserve_nodes: bool
) -> Proposal:
    if job.state is JobState.FINISHED:
        return _revived(intent, job)
    if job.state is JobState.RUNNING:
        return _away(intent, context, job, reserve_nodes)
    if job.state is JobState.COMPLETING:
        return propose_leaving(intent, context, job)
    if job.slurm_state == "CONFIGURING":
        return Wait(0.25, f"the nodes of job {job.id} are made ready")
    if job.restarts == 0:
        return Wait(2.0, f"job {job.id} has not started")
    if (
        reserve_nodes
        and job.state is JobState.WAITING
        and (reservation := propose_reservation(intent, context, job))
    ):
        return reservation  # a spare was drawn while it waits
    return propose_start(intent, context, job)


def _away(intent: Intent, context: ObservedContext, job: SlurmJob, reserve_nodes: bool) -> Proposal:
    bad = intent.avoided
    if not set(bad) & set(job.nodes):
        return Achieved(f"job {job.id} runs on {','.join(job.nodes)}", moved_to=job.nodes)
    if not job.batch:
        return Refusal(
            RefusalKind.IMPOSSIBLE,
            f"job {job.id} is not a batch job: only {job.user} can restart it",
        )
    if silent := silent_node(context, job.nodes):
        return Refusal(
            RefusalKind.UNSAFE,
            f"{silent} does not answer: fence it first, else job {job.id} never leaves it",
        )
    if not job.requeueable:
        if not intent.force_requeue:
            return Refusal(RefusalKind.NOT_ALLOWED, f"the user of job {job.id} forbade a requeue")
        firm = next(
            (component for component in context.components if not component.requeueable), job
        )
        return job_step(steps.ALLOW_REQUEUE, firm, f"allow job {firm.id} to be requeued")
    if reserve_nodes and (reservation := propose_reservation(intent, context, job)):
        return reservation
    return job_step(
        steps.REQUEUE,
        job,
        f"requeue job {job.id}",
        precondition={"restarts": str(job.restarts), "nodes": ",".join(job.nodes)},
    )


def _revived(intent: Intent, job: SlurmJob) -> Proposal:
    """Slurm begins a job again that has failed, as long as it remembers it (MinJobAge)."""
    if not job.requeueable and not intent.force_requeue:
        return Refusal(RefusalKind.NOT_ALLOWED, f"the user of job {job.id} forbade a requeue")
    return job_step(
        steps.REQUEUE,
        job,
        f"requeue job {job.id}, which has died",
        precondition={"restarts": str(job.restarts), "died": job.slurm_state},
    )


def reserve_first(intent: Intent, context: ObservedContext) -> Step | None:
    """The reservation with the spare in it that the move of a job will need, if it needs one."""
    job = combined(context.components) if is_complete(context.components) else context.job
    if intent.job is None or job is None or not job.is_of(intent.job):
        return None
    if job.state is JobState.RUNNING:
        leaves = set(intent.avoided) & set(job.nodes)
        may_move = job.batch and (job.requeueable or intent.force_requeue)
        return propose_reservation(intent, context, job) if leaves and may_move else None
    waits = job.state in (JobState.WAITING, JobState.HELD) and job.restarts > 0
    return propose_reservation(intent, context, job) if waits else None


def propose_reservation(intent: Intent, context: ObservedContext, job: SlurmJob) -> Step | None:
    """The reservation over the good nodes and the spare; none for a job that has one of its own.

    None either where that is too few nodes for the job: inside it could never start.
    """
    if job.reservation and job.reservation != reservation_of(intent):
        return None
    desired = [node for node in (*job.nodes, intent.spare) if node and node not in intent.avoided]
    desired = list(dict.fromkeys(desired))
    there = context.reservations.get(reservation_of(intent))
    kept = there.nodes if there is not None else ()
    if set(desired) <= set(kept):
        return renew_reservation(intent, context, job.id)
    desired = list(dict.fromkeys((*kept, *desired)))
    if not is_roomy(intent, job.node_count, desired):
        return None
    return Step(
        kind=steps.RESERVE,
        arguments={
            "job": job.id,
            "name": reservation_of(intent),
            "nodes": ",".join(desired),
            "user": job.user,
            "minutes": str(RESERVATION_MINUTES),
        },
        precondition={"restarts": str(job.restarts)},
        original={"place": ",".join(kept)},
        text=f"keep {','.join(desired)} for job {job.id}",
    )
