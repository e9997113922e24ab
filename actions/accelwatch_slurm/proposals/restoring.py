"""Which step restores a moved job's settings, and returns its reservation. Pure.

The reservation goes as soon as the job runs or is gone: a job that runs leaves its reservation, which
then can be deleted. The lists of a job can be changed only while it waits.
"""

from accelwatch.action.intent import Intent
from accelwatch.action.observed import JobState
from accelwatch.action.step import Achieved, Proposal, Step, Wait
from accelwatch_slurm.proposals.job_step import job_step, release_reservation, renew_reservation
from accelwatch_slurm.proposals.leaving import silent_node
from accelwatch_slurm.proposals.steering import added
from accelwatch_slurm.texts import steps
from accelwatch_slurm.texts.job_components import combined, is_complete
from accelwatch_slurm.texts.job_text import SlurmJob, names_of
from accelwatch_slurm.texts.observed_context import ObservedContext, hold_token, reservation_of


def propose_restore(intent: Intent, context: ObservedContext) -> Proposal:
    """Delete the reservation when the job is done with it; restore the user's lists while it waits."""
    job = combined(context.components) if is_complete(context.components) else context.job
    there = reservation_of(intent) in context.reservations
    if (
        intent.job is None
        or job is None
        or not job.is_of(intent.job)
        or job.state is JobState.FINISHED
    ):
        if not there:
            return Achieved(f"nothing is reserved for job {intent.job}")
        return release_reservation(intent, f"{intent.job}")
    if job.state not in (JobState.WAITING, JobState.HELD) or job.slurm_state == "CONFIGURING":
        return _while_allocated(intent, context, job)
    for component in context.components or (job,):
        # Before it is let go: it may start at once, and then its lists cannot be changed.
        if step := _unsteered(intent, component):
            return step
    for component in context.components or (job,):
        if component.state is JobState.HELD and hold_token(intent) in component.admin_comment:
            if silent := silent_node(context, intent.may_run_on):
                return Wait(5.0, f"the old copy of job {job.id} may still run on {silent}")
            return job_step(
                steps.LET_GO, component, f"let job {component.id} go", word=hold_token(intent)
            )
    if there:
        return release_reservation(intent, job.id)
    return Achieved(f"job {job.id} needs no change")


def _while_allocated(intent: Intent, context: ObservedContext, job: SlurmJob) -> Proposal:
    """It runs, or ends, or its nodes are made ready."""
    reservation = reservation_of(intent)
    components = context.components or (job,)
    if all(component.slurm_state == "RUNNING" for component in components):
        for component in components:
            if component.reservation == reservation:
                return _left_reservation(intent, component)
        if reservation in context.reservations:
            return release_reservation(intent, job.id)
    elif step := renew_reservation(intent, context, job.id):
        return step
    elif reservation in context.reservations:
        return Wait(1.0, f"job {job.id} is {job.slurm_state.lower()} on the nodes reserved for it")
    if not any(_lists(intent, component) for component in components):
        return Achieved(f"nothing is left to give back for job {job.id}")
    seconds = 1.0 if job.state is JobState.COMPLETING else 30.0
    text = "its user's own lists come back when it waits again"
    return Wait(seconds, f"job {job.id} is {job.slurm_state.lower()}: {text}")


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
    if job.reservation == reservation_of(intent):
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
    """What is restored: what another move, or the user, has changed since stays."""
    bad = {*intent.avoided, *added(intent)}
    changes = {}
    excluded = names_of(job.exclude)
    requested = set(names_of(intent.original.get(f"exclude{job.component}", job.exclude)))
    left = [node for node in excluded if node not in bad or node in requested]
    if len(left) < len(excluded):
        changes["ExcNodeList"] = ",".join(left)
    required = intent.original.get(f"require{job.component}", "")
    if required and not job.require and not set(names_of(required)) & set(left):
        changes["ReqNodeList"] = required
    return changes
