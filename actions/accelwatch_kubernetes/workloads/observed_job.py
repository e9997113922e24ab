"""A job as its own status and its pods show it. Pure."""

from collections.abc import Sequence

from accelwatch.action.intent import JobKey
from accelwatch.action.observed import JobObservation, JobState
from accelwatch_kubernetes.objects.pod import Pod
from accelwatch_kubernetes.objects.workload import Workload
from accelwatch_kubernetes.workloads.changes import is_suspended
from accelwatch_kubernetes.workloads.consequences import outcome_of
from accelwatch_kubernetes.workloads.kinds.kind import Kind
from accelwatch_kubernetes.workloads.kinds.outcome import Cause, Departure
from accelwatch_kubernetes.workloads.kinds.table import kind_of_workload
from accelwatch_kubernetes.workloads.lineage import Lineage, key_of

# Types of conditions of Kueue's Workload that say why it does not run, the most specific first.
_QUEUE_WAITS = ("Evicted", "Preempted", "Requeued")
_MOST_TEXT = 500


def observed_job(key: JobKey, lineage: Lineage, pods: Sequence[Pod]) -> JobObservation:
    """Its state; MISSING where it is gone, or where another one has its name by now."""
    job, kind = lineage.job, lineage.kind
    if job is None or kind is None or not is_of(job, key):
        return JobObservation(key=key, state=JobState.MISSING)
    live = [pod for pod in pods if not pod.is_over]
    running = [pod for pod in live if pod.runs]
    state = _state(lineage, job, kind, live)
    starts = [pod.started for pod in running if pod.started is not None]
    return JobObservation(
        key=key,
        state=state,
        user=lineage.user,
        submitted=job.metadata.created,
        nodes=tuple(sorted({pod.node for pod in live if pod.node})),
        restarts=_restarts(lineage, pods),
        # Of the pod that has started last: all of them have run since.
        started=max(starts) if starts and state is JobState.RUNNING else None,
        requeueable=_is_requeueable(lineage, live),
        interactive=kind.name == "Pod",
        failed=state is JobState.FINISHED and kind.has_failed(job),
        text=_text(lineage, job, kind, live)[:_MOST_TEXT],
    )


def is_of(job: Workload, key: JobKey) -> bool:
    """Whether an object is the job of a key, and no later one of the same name."""
    own = key_of(key.cluster, job)
    return own.id == key.id and (not key.submitted or own.submitted == key.submitted)


def _state(lineage: Lineage, job: Workload, kind: Kind, live: Sequence[Pod]) -> JobState:
    if kind.is_finished(job):
        return JobState.COMPLETING if live else JobState.FINISHED
    if job.metadata.deletion_timestamp:
        return JobState.COMPLETING if live else JobState.MISSING
    if kind.is_suspended(job) or is_suspended(lineage):
        if live:
            return JobState.COMPLETING
        # A queue suspends what it has not admitted; that waits for nobody's hand.
        return JobState.WAITING if lineage.queue and not is_suspended(lineage) else JobState.HELD
    phase = kind.in_phase(job)
    if phase not in (None, JobState.RUNNING, JobState.WAITING):
        return phase
    return _of_pods(lineage, job, kind, live)


def _of_pods(lineage: Lineage, job: Workload, kind: Kind, live: Sequence[Pod]) -> JobState:
    """A gang runs when all of it does; of others any pod will do."""
    running = sum(pod.runs for pod in live)
    pending = sum(not pod.runs and not pod.is_terminating for pod in live)
    terminating = sum(pod.is_terminating for pod in live)
    if not is_gang(job, kind):
        if running:
            return JobState.RUNNING
        return JobState.COMPLETING if terminating and not pending else JobState.WAITING
    if terminating:
        return JobState.COMPLETING
    return (
        JobState.RUNNING
        if running and not pending and running >= desired_pods(lineage)
        else JobState.WAITING
    )


def is_gang(job: Workload, kind: Kind) -> bool:
    """Whether all its pods run, or none gets on: of plain Jobs those whose pods know each other."""
    return kind.is_gang or job.text("spec.completionMode") == "Indexed"


def desired_pods(lineage: Lineage) -> int:
    """How many pods the job has while it runs; 0 where no object says it."""
    counts = (kind_of_workload(workload).pods(workload) for workload in reversed(lineage.chain))
    return next((count for count in counts if count is not None), 0)


def _restarts(lineage: Lineage, pods: Sequence[Pod]) -> int:
    """By the topmost object that counts them; else how often containers of its pods have restarted."""
    for workload in reversed(lineage.chain):
        count = kind_of_workload(workload).restarts(workload)
        if count is not None:
            return count
    if lineage.queued is not None:
        return kind_of_workload(lineage.queued).restarts(lineage.queued) or 0
    return sum(status.restart_count for pod in pods for status in pod.status.container_statuses)


def _is_requeueable(lineage: Lineage, live: Sequence[Pod]) -> bool:
    """Whether it goes on when one of its pods is evicted."""
    departure = Departure(cause=Cause.EVICTION, pods=tuple(live[:1]))
    return not outcome_of(lineage, departure).is_fatal


def _text(lineage: Lineage, job: Workload, kind: Kind, live: Sequence[Pod]) -> str:
    """Why it waits or has ended, in its kind's own words, else in the scheduler's about a pod."""
    if condition := job.condition(*kind.failed, *kind.finished, "Suspended"):
        return condition.text
    if kind.phase and kind.in_phase(job) is not JobState.RUNNING:
        details = (
            job.text(kind.phase),
            job.text("status.state.reason"),
            job.text("status.state.message"),
        )
        return ": ".join(filter(None, details))
    if lineage.queued is not None and (condition := lineage.queued.condition(*_QUEUE_WAITS)):
        return condition.text
    return next(filter(None, (pod.waits_for for pod in live)), "")
