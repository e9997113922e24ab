"""What the API server answers to dry runs of evictions, which spend nothing of a budget."""

from collections.abc import Sequence
from urllib.parse import quote

from accelwatch.api_client.kubernetes.errors import ApiError, KubernetesError
from accelwatch_kubernetes.access.answers import unavailable_if_unread
from accelwatch_kubernetes.drain.verdicts import (
    EvictionVerdict,
    Verdict,
    allowed,
    before_request,
    verdict_of,
)
from accelwatch_kubernetes.objects.budget import Budget, budgets_of
from accelwatch_kubernetes.objects.pod import Pod
from accelwatch_kubernetes.rows import Access


async def verdicts(access: Access, pods: Sequence[Pod], *, all_of_them: bool) -> list[Verdict]:
    """What the server says to the eviction of each pod, until one is allowed where not all are wanted.

    Where it does not answer at all, no other request is sent: each would wait its whole time.
    Raises ActionUnavailableError.
    """
    budgets: dict[str, Sequence[Budget]] = {}
    results: list[Verdict] = []
    for pod in pods:
        namespace = pod.metadata.namespace
        if namespace not in budgets:
            budgets[namespace] = await budgets_in(access, namespace)
        verdict, answered = await _verdict(access, pod, budgets[namespace])
        results.append(verdict)
        if not answered:
            break
        if verdict.answer is EvictionVerdict.ALLOWED and not all_of_them:
            break
    return results


async def _verdict(access: Access, pod: Pod, budgets: Sequence[Budget]) -> tuple[Verdict, bool]:
    """And whether the server has answered."""
    if (verdict := before_request(pod, budgets)) is not None:
        return verdict, True
    try:
        await access.client.evict(
            pod.metadata.namespace, pod.metadata.name, uid=pod.uid, dry_run=True
        )
    except KubernetesError as error:
        return verdict_of(pod, error, budgets), error.status != 0
    return allowed(pod), True


async def budgets_in(access: Access, namespace: str) -> Sequence[Budget]:
    """The budgets of a namespace; none where they may not be read: then no refusal names one."""
    path = f"/apis/policy/v1/namespaces/{quote(namespace, safe='')}/poddisruptionbudgets"
    with unavailable_if_unread():
        try:
            return budgets_of((await access.client.get(path)).decode())
        except ApiError as error:
            if error.status in (403, 404):
                return ()
            raise
