"""What a Volcano job makes of pods that leave: policies of job and task, maxRetry. Pure.

Source: batch.volcano.sh/v1alpha1 and the job controller of Volcano 1.13. A pod that is evicted may fail
first: its containers end with the code of a signal, and the policy for PodFailed is then applied
before the one for PodEvicted (volcano#4814, #5885).
"""

from collections.abc import Iterator

from accelwatch_kubernetes.objects.workload import Fields, Workload
from accelwatch_kubernetes.workloads.kinds.outcome import Departure, Fate, Outcome

# Annotation of a pod: of which of the job's tasks it is.
TASK = "volcano.sh/task-spec"
DEFAULT_MAX_RETRY = 3
_FAILED, _EVICTED, _ANY = "PodFailed", "PodEvicted", "*"
_RESTARTS = ("RestartJob", "RestartTask", "RestartPod", "RestartPartition")
# Worst first: what may be applied is believed to be.
_ORDER = (Fate.FAILED, Fate.STOPPED, Fate.ENDANGERED, Fate.RESTARTED, Fate.REPLACED)


def evaluate_volcano(job: Workload, departure: Departure, _below: Outcome) -> Outcome:
    """The worst of what its policies do to a pod that is evicted, or that fails as it is."""
    tasks = {pod.metadata.annotations.get(TASK, "") for pod in departure.pods} or {""}
    outcomes = [
        _if_it_fails(_by_action(job, event, _action(job, task, event)), event)
        for task in tasks
        for event in (_FAILED, _EVICTED)
    ]
    return min(outcomes, key=lambda outcome: _ORDER.index(outcome.fate))


def _if_it_fails(outcome: Outcome, event: str) -> Outcome:
    """Whether a pod fails before it is gone is up to its containers."""
    if event == _FAILED and outcome.is_fatal:
        return Outcome(fate=Fate.ENDANGERED, text=outcome.text)
    return outcome


def _action(job: Workload, task: str, event: str) -> str:
    """The action of the first policy for an event, the task's first; empty where there is none."""
    for policy in _policies(job, task):
        events = policy.get("events")
        names = {policy.get("event"), *(events if isinstance(events, list) else ())}
        if event in names or _ANY in names:
            return str(policy.get("action", ""))
        if event == _FAILED and policy.get("exitCode") in (143, 137):
            return str(policy.get("action", ""))
    return ""


def _policies(job: Workload, task: str) -> Iterator[Fields]:
    for fields in job.items("spec.tasks"):
        policies = fields.get("policies")
        if fields.get("name") == task and isinstance(policies, list):
            yield from (policy for policy in policies if isinstance(policy, dict))
    yield from job.items("spec.policies")


def _by_action(job: Workload, event: str, action: str) -> Outcome:
    retries, limit = job.number("status.retryCount") or 0, job.number("spec.maxRetry")
    limit = DEFAULT_MAX_RETRY if limit is None else limit
    policy = f"its policy for {event} is {action}"
    if action in _RESTARTS:
        if retries + 1 >= limit:
            text = (
                f"{policy}, and that is retry {retries + 1} of maxRetry {limit}: it is failed for "
                "good"
            )
            return Outcome(fate=Fate.FAILED, text=text)
        if action == "RestartTask" and limit - retries > 1:
            text = (
                f"{policy}: the pods that it ends trigger it again, up to maxRetry {limit} "
                "(volcano#4814)"
            )
            return Outcome(fate=Fate.ENDANGERED, text=text)
        scope = "all its pods restart" if action == "RestartJob" else "those pods restart"
        return Outcome(
            fate=Fate.RESTARTED, text=f"{policy}: {scope} (retry {retries + 1} of {limit})"
        )
    if action == "TerminateJob":
        return Outcome(
            fate=Fate.FAILED, text=f"{policy}: all its pods end, and it cannot be resumed"
        )
    if action == "CompleteJob":
        return Outcome(
            fate=Fate.FAILED, text=f"{policy}: all its pods end before their work is done"
        )
    if action == "AbortJob":
        return Outcome(
            fate=Fate.STOPPED, text=f"{policy}: all its pods end until a person resumes it"
        )
    return Outcome(
        fate=Fate.REPLACED, text=f"no policy of the job is for {event}: the pod is replaced"
    )
