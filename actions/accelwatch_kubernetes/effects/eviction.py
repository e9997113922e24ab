"""Steps that end pods: an eviction or a deletion of one pod, and the suspension of a whole job.

A request with a wrong uid is refused, but spends the pod's disruption budget all the same: so each pod
is read again right before, and nothing is sent for one that has changed.
"""

from collections.abc import Mapping
from urllib.parse import quote

from accelwatch.action.kit.performing import ChangedError
from accelwatch.action.step import Committed, Recovery, Report, ReportStatus, StartedStep, Step
from accelwatch.api_client.kubernetes.errors import (
    DISRUPTION_BUDGET,
    ApiError,
    KubernetesError,
    decoded,
)
from accelwatch_kubernetes.access.answers import DONE, unavailable_if_unread, write_errors
from accelwatch_kubernetes.drain import steps
from accelwatch_kubernetes.drain.job_view import LINEAGE, PODS
from accelwatch_kubernetes.drain.verdicts import TWO_BUDGETS
from accelwatch_kubernetes.objects.pod import Pod, pods_of
from accelwatch_kubernetes.observed_context import ObservedContext
from accelwatch_kubernetes.rows import Access, Effect
from accelwatch_kubernetes.workloads.changes import is_suspended
from accelwatch_kubernetes.workloads.lineage import Lineage, lineage_of


def pod_path(namespace: str, name: str) -> str:
    """Where a pod is."""
    return f"/api/v1/namespaces/{quote(namespace, safe='')}/pods/{quote(name, safe='')}"


async def _pod(access: Access, step: Step) -> Pod:
    """The very pod of a step, read now. Raises ChangedError, ActionUnavailableError."""
    namespace, name = step.arguments["namespace"], step.arguments["pod"]
    with unavailable_if_unread():
        try:
            body = await access.client.get(pod_path(namespace, name))
        except ApiError as error:
            if error.status != 404:
                raise
            raise ChangedError(f"{namespace}/{name} is gone") from error
        pod = decoded(body, Pod)
    if pod.uid != step.precondition["uid"]:
        raise ChangedError(f"{pod.path} is another pod by now")
    if pod.node != step.arguments["node"]:
        raise ChangedError(f"{pod.path} is on {pod.node} by now")
    if pod.is_terminating or pod.is_over:
        raise ChangedError(f"{pod.path} is ending by now")
    return pod


async def _evict(access: Access, step: Step, operation: Committed) -> Report:
    pod = await _pod(access, step)
    try:
        with write_errors():
            await access.client.evict(
                pod.metadata.namespace,
                pod.metadata.name,
                uid=pod.uid,
                resource_version=pod.metadata.resource_version,
                withdrawn=operation.withdrawn,
            )
    except KubernetesError as error:
        if error.status == 429 and DISRUPTION_BUDGET in error.causes:
            # Somebody else has used the budget up since the dry run: the next dry run checks it again.
            text = f"{pod.path}: its PodDisruptionBudget allows no eviction any more"
            return Report(status=ReportStatus.RETRY, text=text)
        if TWO_BUDGETS in error.message:
            return Report(status=ReportStatus.REFUSED, text=f"{pod.path}: {error.message}")
        raise
    return DONE


async def _delete(access: Access, step: Step, operation: Committed) -> Report:
    if not await access.power.is_off(step.arguments["node"]):
        raise ChangedError(f"{step.arguments['node']} is not known to be off any more")
    pod = await _pod(access, step)
    with write_errors():
        await access.client.delete(
            pod_path(pod.metadata.namespace, pod.metadata.name),
            uid=pod.uid,
            resource_version=pod.metadata.resource_version,
            withdrawn=operation.withdrawn,
        )
    return DONE


async def _change(access: Access, step: Step, operation: Committed) -> Report:
    """The patch has the version that was read: another object of the name has another one."""
    with write_errors():
        await access.client.patch(
            step.arguments["path"],
            step.arguments["body"].encode(),
            withdrawn=operation.withdrawn,
        )
    return DONE


def _has_left(step: Step, context: ObservedContext) -> bool | None:
    """Whether the very pod has left, or is about to; None where no pods were read."""
    text = context.own.get(PODS)
    if text is None:
        return None
    uid = step.precondition.get("uid", "")
    return not any(
        pod.uid == uid and not pod.is_terminating and not pod.is_over for pod in pods_of(text)
    )


def _recovered(started_step: StartedStep, context: ObservedContext) -> Recovery:
    """An eviction that got no answer may come as long as the server has it; then it never will."""
    has_left = _has_left(started_step.step, context)
    if has_left is None:
        return Recovery.UNKNOWN
    if has_left:
        return Recovery.DONE
    started = started_step.started
    if started is None or started_step.is_without_effect:
        return Recovery.REDO
    is_late = context.time - started >= steps.KINDS[steps.EVICT].settle_s
    return Recovery.REDO if is_late else Recovery.UNKNOWN


def _is_suspended(step: Step, context: ObservedContext) -> bool | None:
    """A job that is gone, or is another one by now, cannot be suspended any more."""
    text = context.own.get(LINEAGE)
    if text is None:
        return None
    lineage = lineage_of(text)
    return not _is_the_job(step, lineage) or is_suspended(lineage)


def _has_started_again(step: Step, context: ObservedContext) -> bool | None:
    text = context.own.get(LINEAGE)
    if text is None:
        return None
    lineage = lineage_of(text)
    return not _is_the_job(step, lineage) or not is_suspended(lineage)


def _is_the_job(step: Step, lineage: Lineage) -> bool:
    objects = (*lineage.chain, *([lineage.queued] if lineage.queued is not None else []))
    return any(entry.metadata.uid == step.precondition.get("uid") for entry in objects)


POD_EFFECTS: Mapping[str, Effect] = {
    steps.EVICT: Effect(
        kind=steps.KINDS[steps.EVICT],
        perform=_evict,
        is_observed=_has_left,
        recover=_recovered,
    ),
    steps.DELETE_POD: Effect(
        kind=steps.KINDS[steps.DELETE_POD],
        perform=_delete,
        is_observed=_has_left,
        recover=_recovered,
    ),
    steps.SUSPEND: Effect(
        kind=steps.KINDS[steps.SUSPEND], perform=_change, is_observed=_is_suspended
    ),
    steps.START_AGAIN: Effect(
        kind=steps.KINDS[steps.START_AGAIN], perform=_change, is_observed=_has_started_again
    ),
}
