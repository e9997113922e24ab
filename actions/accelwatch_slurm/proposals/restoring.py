"""Which step gives a moved job its owner's wishes back, and the cluster its place. Pure.

The place is given back as soon as the job runs or is gone: a job that runs leaves its reservation, which
then can be deleted. The lists of a job can be changed only while it waits.
"""

from accelwatch.action.intent import Intent
from accelwatch.action.observed import JobState
from accelwatch.action.step import Achieved, Proposal, Step, Wait
from accelwatch_slurm.proposals.job_step import give_place_back, job_step, renew_place
from accelwatch_slurm.proposals.leaving import silent_node
from accelwatch_slurm.proposals.steering import added
from accelwatch_slurm.texts import steps
from accelwatch_slurm.texts.job_text import SlurmJob, names_of
from accelwatch_slurm.texts.moving_parts import is_whole, whole_of
from accelwatch_slurm.texts.scene import Scene, held_word, place_of


def propose_restore(intent: Intent, scene: Scene) -> Proposal:
    """Give the place back when the job is done with it, and the user's lists while it waits."""
    job = whole_of(scene.parts) if is_whole(scene.parts) else scene.job
    there = place_of(intent) in scene.reservations
    if (
        intent.job is None
        or job is None
        or not job.is_of(intent.job)
        or job.state is JobState.ENDED
    ):
        if not there:
            return Achieved(f"nothing is kept for job {intent.job}")
        return give_place_back(intent, f"{intent.job}")
    if job.state not in (JobState.WAITING, JobState.HELD) or job.word == "CONFIGURING":
        return _while_it_holds_nodes(intent, scene, job)
    for part in scene.parts or (job,):
        # Before it is let go: it may start at once, and then its lists cannot be changed.
        if step := _unsteered(intent, part):
            return step
    for part in scene.parts or (job,):
        if part.state is JobState.HELD and held_word(intent) in part.admin_comment:
            if silent := silent_node(scene, intent.may_run_on):
                return Wait(5.0, f"the old copy of job {job.id} may still run on {silent}")
            return job_step(steps.LET_GO, part, f"let job {part.id} go", word=held_word(intent))
    if there:
        return give_place_back(intent, job.id)
    return Achieved(f"job {job.id} is as its user wanted it")


def _while_it_holds_nodes(intent: Intent, scene: Scene, job: SlurmJob) -> Proposal:
    """It runs, or ends, or its nodes are made ready."""
    place = place_of(intent)
    parts = scene.parts or (job,)
    if all(part.word == "RUNNING" for part in parts):
        for part in parts:
            if part.reservation == place:
                return _left_reservation(intent, part)
        if place in scene.reservations:
            return give_place_back(intent, job.id)
    elif step := renew_place(intent, scene, job.id):
        return step
    elif place in scene.reservations:
        return Wait(1.0, f"job {job.id} is {job.word.lower()} in the place that is kept for it")
    if not any(_lists(intent, part) for part in parts):
        return Achieved(f"nothing is left to give back for job {job.id}")
    seconds = 1.0 if job.state is JobState.ENDING else 30.0
    text = "its user's own lists come back when it waits again"
    return Wait(seconds, f"job {job.id} is {job.word.lower()}: {text}")


def _left_reservation(intent: Intent, job: SlurmJob) -> Step:
    """It keeps its nodes by itself now; and a reservation that ends would end it, too."""
    before = intent.original.get(f"reservation{job.component}", "")
    return Step(
        kind=steps.LEAVE_RESERVATION,
        arguments={"job": job.id, "ReservationName": before},
        precondition={"restarts": str(job.restarts)},
        text=f"have job {job.id} run on without its reservation",
    )


def _unsteered(intent: Intent, job: SlurmJob) -> Step | None:
    changes = _lists(intent, job)
    if job.reservation == place_of(intent):
        changes["ReservationName"] = intent.original.get(f"reservation{job.component}", "")
    if not changes:
        return None
    return Step(
        kind=steps.UNSTEER,
        arguments={"job": job.id, **changes},
        precondition={"restarts": str(job.restarts)},
        text=f"give job {job.id} its user's own lists back",
    )


def _lists(intent: Intent, job: SlurmJob) -> dict[str, str]:
    """What is taken back: what another move, or the user, has changed since stays."""
    bad = {*intent.avoided, *added(intent)}
    changes = {}
    excluded = names_of(job.exclude)
    asked = set(names_of(intent.original.get(f"exclude{job.component}", job.exclude)))
    left = [node for node in excluded if node not in bad or node in asked]
    if len(left) < len(excluded):
        changes["ExcNodeList"] = ",".join(left)
    required = intent.original.get(f"require{job.component}", "")
    if required and not job.require and not set(names_of(required)) & set(left):
        changes["ReqNodeList"] = required
    return changes
