"""Where a job may run, and in which reservation: one update of all that has to differ. Pure."""

from collections.abc import Iterable

from accelwatch.action.intent import Intent
from accelwatch.action.observed import JobState
from accelwatch.action.step import Step
from accelwatch_slurm.texts import steps
from accelwatch_slurm.texts.job_text import SlurmJob, names_of
from accelwatch_slurm.texts.observed_context import (
    ObservedContext,
    checkpoint_token,
    reservation_of,
)

# A launch in the wall-clock second of the requeue is revoked by slurmd, and the job fails.
NEXT_SECOND_S = 1.05
_CHECKPOINT_PREFIX = "accelwatch:begin:"
# In `original`, before each node that was added to the lists of a job.
ADDED = "added "


def steering(intent: Intent, context: ObservedContext, job: SlurmJob, count: int) -> Step | None:
    """One update of all that has to differ; what the user requested stays otherwise."""
    bad = intent.avoided
    excluded, required = names_of(job.exclude), names_of(job.require)
    desired = _excluded(intent, job)
    changes = {}
    if set(desired) != set(excluded):
        changes["ExcNodeList"] = ",".join(desired)
    if set(bad) & set(required):
        changes["ReqNodeList"] = ""
    reservation = reservation_of(intent)
    there = context.reservations.get(reservation)
    roomy = there is not None and is_roomy(intent, count, there.nodes)
    if roomy and job.reservation != reservation:
        changes["ReservationName"] = reservation
    elif not roomy and job.reservation == reservation:
        changes["ReservationName"] = ""
    token = checkpoint_token(intent, job.restarts)
    if token and token not in job.admin_comment.split():
        others = [
            entry for entry in job.admin_comment.split() if not entry.startswith(_CHECKPOINT_PREFIX)
        ]
        changes["AdminComment"] = " ".join((*others, token))
    if not changes:
        return None
    if job.state is JobState.HELD and context.time >= job.submitted + NEXT_SECOND_S:
        # While it is held this does not start it: one update less between the fence and its start.
        changes["StartTime"] = "now"
    return Step(
        kind=steps.STEER,
        arguments={"job": job.id, **changes},
        precondition={"restarts": str(job.restarts)},
        original={
            f"exclude{job.component}": job.exclude,
            f"require{job.component}": job.require,
            f"reservation{job.component}": ""
            if job.reservation == reservation
            else job.reservation,
            **{f"{ADDED}{node}": "" for node in desired if node not in excluded},
        },
        text=f"keep job {job.id} off {','.join(bad)}",
    )


def added(intent: Intent) -> frozenset[str]:
    """The nodes that were added to the lists of a job since its first move."""
    return frozenset(key.removeprefix(ADDED) for key in intent.original if key.startswith(ADDED))


def _excluded(intent: Intent, job: SlurmJob) -> tuple[str, ...]:
    """The job's own list with the nodes that are bad now, without those that we added and are not."""
    requested = names_of(intent.original.get(f"exclude{job.component}", ""))
    well = added(intent) - set(requested) - set(intent.avoided)
    left = [node for node in names_of(job.exclude) if node not in well]
    return tuple(dict.fromkeys((*left, *intent.avoided)))


def is_roomy(intent: Intent, count: int, nodes: Iterable[str]) -> bool:
    """Whether a job of so many nodes fits on those that are good."""
    return len(set(nodes) - set(intent.avoided)) >= count
