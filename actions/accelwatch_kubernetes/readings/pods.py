"""Pods as they are now: of a namespace, of a node, of a job with all that they belong to."""

from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import quote

import msgspec

from accelwatch.action.intent import JobKey
from accelwatch.api_client.kubernetes.errors import ApiError, decoded
from accelwatch_kubernetes.access.answers import unavailable_if_unread
from accelwatch_kubernetes.objects.metadata import Metadata, OwnerReference
from accelwatch_kubernetes.objects.pod import Pod
from accelwatch_kubernetes.objects.workload import Workload, version_of
from accelwatch_kubernetes.readings.owners import resolve_owners
from accelwatch_kubernetes.rows import Access
from accelwatch_kubernetes.workloads.kinds.batch_kinds import KUEUE_WORKLOAD
from accelwatch_kubernetes.workloads.kinds.table import kind_named, kind_of
from accelwatch_kubernetes.workloads.lineage import QUEUE, JobName, lineage_text, name_of, stub_of
from accelwatch_kubernetes.workloads.owner_index import (
    MOST_STEPS,
    controller_of,
    first_reference,
    is_owner,
)

_PAGE = "500"
# What is refused so is not there for us: it is gone, its version is not served, or we may not read it.
_UNREAD = frozenset({403, 404})
# Of a job without pods only this says that it is gone: one that we have suspended has none.
_NOT_FOUND = frozenset({404})
# Label of Kueue's Workload of a job: the uid of that.
_JOB_UID = "kueue.x-k8s.io/job-uid"


class _ListMeta(msgspec.Struct, frozen=True):
    continue_: str = msgspec.field(default="", name="continue")


class _PodPage(msgspec.Struct, frozen=True):
    metadata: _ListMeta = _ListMeta()
    items: tuple[Pod, ...] | None = ()


class _AnyObject(msgspec.Struct, frozen=True):
    metadata: Metadata = Metadata()


class _RawList(msgspec.Struct, frozen=True):
    items: tuple[msgspec.Raw, ...] | None = ()


async def pods_of_node(access: Access, node: str) -> list[Pod]:
    """All that are bound to a node, of every namespace. Raises ActionUnavailableError."""
    return await _pods(access, "/api/v1/pods", {"fieldSelector": f"spec.nodeName={node}"})


async def _pods(access: Access, path: str, query: Mapping[str, str]) -> list[Pod]:
    pods: list[Pod] = []
    query = {**query, "limit": _PAGE}
    while True:
        with unavailable_if_unread():
            page = decoded(await access.client.get(path, query), _PodPage)
        pods.extend(page.items or ())
        if not page.metadata.continue_:
            return pods
        query["continue"] = page.metadata.continue_


def pods_text(pods: Iterable[Pod]) -> str:
    """As they stand in an observation, with the fields that are read."""
    return msgspec.json.encode({"items": list(pods)}).decode()


async def pods_of_job(access: Access, key: JobKey) -> list[Pod]:
    """All of a job, wherever they are. Raises ActionUnavailableError."""
    name = name_of(key)
    if name is None:
        return []
    path = f"/api/v1/namespaces/{quote(name.namespace, safe='')}/pods"
    pods = await _pods(access, path, {})
    await resolve_owners(access, pods)
    jobs = ((pod, access.owners.job_of_pod(pod)) for pod in pods)
    return [pod for pod, job in jobs if job is not None and job.key.id == key.id]


async def _object(access: Access, namespace: str, reference: OwnerReference) -> bytes | None:
    """An owner; None for one that is gone or may not be read. Raises ActionUnavailableError."""
    kind = kind_of(reference.api_version, reference.kind)
    if not kind.versions:
        return None
    return await _read(
        access, kind.path(namespace, reference.name, version_of(reference.api_version))
    )


async def _read(
    access: Access,
    path: str,
    query: Mapping[str, str] | None = None,
    *,
    absent: frozenset[int] = _UNREAD,
) -> bytes | None:
    with unavailable_if_unread():
        try:
            return await access.client.get(path, query)
        except ApiError as error:
            if error.status in absent:
                return None
            raise


async def lineage_of_job(access: Access, key: JobKey, pods: Sequence[Pod]) -> str:
    """What `workloads.lineage_of` reads: the objects from the first of some pods to the job's own.

    Empty for a job that is gone. Raises ActionUnavailableError.
    """
    name = name_of(key)
    if name is None:
        return ""
    chain = await _chain(access, name, pods)
    if not chain:
        return ""
    queued = await _queued(access, name.namespace, chain)
    return lineage_text(chain, queued)


async def _chain(access: Access, name: JobName, pods: Sequence[Pod]) -> list[bytes]:
    chain: list[bytes] = []
    reference = first_reference(pods[0]) if pods else None
    for _ in range(MOST_STEPS):
        if reference is None:
            break
        body = await _object(access, name.namespace, reference)
        if body is None:
            chain.append(stub_of(reference, name.namespace))
            break
        with unavailable_if_unread():
            metadata = decoded(body, _AnyObject).metadata
        if not is_owner(reference, name.namespace, metadata):
            # One that was made later under its name is another job.
            chain.append(stub_of(reference, name.namespace))
            break
        chain.append(body)
        reference = controller_of(metadata)
    if chain:
        return chain
    kind = kind_named(name.kind)
    if kind is None or not kind.versions:
        return []
    for version in kind.versions:
        path = kind.path(name.namespace, name.name, version)
        body = await _read(access, path, absent=_NOT_FOUND)
        if body is not None:
            return [body]
    return []


async def _queued(access: Access, namespace: str, chain: Sequence[bytes]) -> bytes:
    """Kueue's Workload of a job in one of its queues; empty where none is, or it may not be read."""
    with unavailable_if_unread():
        objects = [decoded(body, Workload) for body in chain]
    if not any(QUEUE in entry.metadata.labels for entry in objects):
        return b""
    kind = KUEUE_WORKLOAD
    for version in kind.versions:
        path = f"/apis/{kind.group}/{version}/namespaces/{quote(namespace, safe='')}/{kind.plural}"
        for entry in reversed(objects):
            body = await _read(access, path, {"labelSelector": f"{_JOB_UID}={entry.metadata.uid}"})
            with unavailable_if_unread():
                items = () if body is None else decoded(body, _RawList).items or ()
            if items:
                # In a list the server sends no kind with each object.
                types = {"apiVersion": f"{kind.group}/{version}", "kind": kind.kind}
                return msgspec.json.encode({**types, **msgspec.json.decode(items[0])})
    return b""
