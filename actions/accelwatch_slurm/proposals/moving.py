"""Which step leads to a job that runs on without the bad nodes. Pure.

The job's place is kept by a reservation over its good nodes and the spare before it is requeued: else
the next in the queue takes them.
"""

from accelwatch.action.intent import Intent
from accelwatch.action.observed import JobState
from accelwatch.action.step import Achieved, Proposal, Refusal, RefusalKind, Step, Wait
from accelwatch_slurm.proposals.beginning import propose_beginning
from accelwatch_slurm.proposals.job_step import PLACE_MINUTES, job_step, renew_place
from accelwatch_slurm.proposals.leaving import propose_leaving, silent_node
from accelwatch_slurm.proposals.steering import is_roomy
from accelwatch_slurm.texts import steps
from accelwatch_slurm.texts.job_text import SlurmJob
from accelwatch_slurm.texts.moving_parts import is_whole, whole_of
from accelwatch_slurm.texts.scene import Scene, place_of


def propose_move(intent: Intent, scene: Scene, *, hold_place: bool) -> Proposal:
    """Requeue it away from the bad nodes, into the place that is kept for it."""
    job = scene.job
    if intent.job is None or job is None or not job.is_of(intent.job):
        return Refusal(RefusalKind.IMPOSSIBLE, f"Slurm knows no job {intent.job} any more")
    if job.state is JobState.ENDED and not (intent.revive and job.died):
        return Refusal(RefusalKind.IMPOSSIBLE, f"job {job.id} has ended: {job.word.lower()}")
    if not job.heterogeneous:
        return _moved(intent, scene, job, hold_place)
    if not is_whole(scene.parts):
        return Wait(1.0, f"not all components of job {job.whole} are shown")
    return _moved(intent, scene, whole_of(scene.parts), hold_place)


def _moved(intent: Intent, scene: Scene, job: SlurmJob, hold_place: bool) -> Proposal:
    if job.state is JobState.ENDED:
        return _revived(intent, job)
    if job.state is JobState.RUNNING:
        return _away(intent, scene, job, hold_place)
    if job.state is JobState.ENDING:
        return propose_leaving(intent, scene, job)
    if job.word == "CONFIGURING":
        return Wait(0.25, f"the nodes of job {job.id} are made ready")
    if job.restarts == 0:
        return Wait(2.0, f"job {job.id} has not begun")
    if hold_place and job.state is JobState.WAITING and (place := keep_place(intent, scene, job)):
        return place  # a spare was drawn while it waits
    return propose_beginning(intent, scene, job)


def _away(intent: Intent, scene: Scene, job: SlurmJob, hold_place: bool) -> Proposal:
    bad = intent.avoided
    if not set(bad) & set(job.nodes):
        return Achieved(f"job {job.id} runs on {','.join(job.nodes)}", moved_to=job.nodes)
    if not job.batch:
        return Refusal(
            RefusalKind.IMPOSSIBLE,
            f"job {job.id} is not a batch job: only {job.user} can restart it",
        )
    if silent := silent_node(scene, job.nodes):
        return Refusal(
            RefusalKind.UNSAFE,
            f"{silent} does not answer: fence it first, else job {job.id} never leaves it",
        )
    if not job.requeueable:
        if not intent.force_requeue:
            return Refusal(RefusalKind.NOT_ALLOWED, f"the user of job {job.id} forbade a requeue")
        firm = next((part for part in scene.parts if not part.requeueable), job)
        return job_step(steps.ALLOW_REQUEUE, firm, f"allow job {firm.id} to be requeued")
    if hold_place and (place := keep_place(intent, scene, job)):
        return place
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
        precondition={"restarts": str(job.restarts), "died": job.word},
    )


def reserve_first(intent: Intent, scene: Scene) -> Step | None:
    """The reservation with the spare in it that the move of a job will need, if it needs one."""
    job = whole_of(scene.parts) if is_whole(scene.parts) else scene.job
    if intent.job is None or job is None or not job.is_of(intent.job):
        return None
    if job.state is JobState.RUNNING:
        leaves = set(intent.avoided) & set(job.nodes)
        may_move = job.batch and (job.requeueable or intent.force_requeue)
        return keep_place(intent, scene, job) if leaves and may_move else None
    waits = job.state in (JobState.WAITING, JobState.HELD) and job.restarts > 0
    return keep_place(intent, scene, job) if waits else None


def keep_place(intent: Intent, scene: Scene, job: SlurmJob) -> Step | None:
    """The reservation over the good nodes and the spare; none for a job that has one of its own.

    None either where that is too few nodes for the job: inside it could never start.
    """
    if job.reservation and job.reservation != place_of(intent):
        return None
    wanted = [node for node in (*job.nodes, intent.spare) if node and node not in intent.avoided]
    wanted = list(dict.fromkeys(wanted))
    there = scene.reservations.get(place_of(intent))
    kept = there.nodes if there is not None else ()
    if set(wanted) <= set(kept):
        return renew_place(intent, scene, job.id)
    wanted = list(dict.fromkeys((*kept, *wanted)))
    if not is_roomy(intent, job.node_count, wanted):
        return None
    return Step(
        kind=steps.RESERVE,
        arguments={
            "job": job.id,
            "name": place_of(intent),
            "nodes": ",".join(wanted),
            "user": job.user,
            "minutes": str(PLACE_MINUTES),
        },
        precondition={"restarts": str(job.restarts)},
        original={"place": ",".join(kept)},
        text=f"keep {','.join(wanted)} for job {job.id}",
    )
