"""Writes by which a job is stopped without a failure and started again. Pure.

One merge patch each, with the version that was read, and with an annotation that says whose it is: a
job that its user has suspended is never started by us.
"""

from collections.abc import Sequence

import msgspec

from accelwatch.action.intent import OwnerAnnotation
from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch_kubernetes.objects.pod import Pod
from accelwatch_kubernetes.objects.workload import Workload, version_of
from accelwatch_kubernetes.workloads.kinds.kind import Kind
from accelwatch_kubernetes.workloads.kinds.table import kind_of_workload
from accelwatch_kubernetes.workloads.lineage import Lineage

# Of what we have suspended: for which incident, as JSON.
SUSPENDED = "accelwatch.io/suspended"
_NOBODY = OwnerAnnotation(incident="", token=0)


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One write to the API."""

    # Of the object, or of the collection where something is created.
    path: str
    # A JSON merge patch, or what is created.
    body: str
    # For people: `suspend Job train/llama`.
    text: str
    # Of the object that was read: it has to be still the same.
    uid: str
    creates: bool = False


def suspend_patch(lineage: Lineage, annotation: OwnerAnnotation = _NOBODY) -> Change | None:
    """Ends all pods of a job without a failure; None for a kind that cannot, or where it is done."""
    target = _target(lineage)
    if target is None:
        return None
    workload, kind = target
    if kind.is_suspended(workload) or kind.is_finished(workload):
        return None
    return _patch(workload, kind, annotation, suspended=True)


def restart_patch(lineage: Lineage, pods: Sequence[Pod]) -> Change | None:
    """Starts a job again that we suspended, once all its old pods are gone; None until then.

    Started before, a plain Job runs its new pods beside the old ones.
    """
    target = _target(lineage)
    if target is None or suspended_by(lineage) is None or any(not pod.is_over for pod in pods):
        return None
    workload, kind = target
    return _patch(workload, kind, None, suspended=False) if kind.is_suspended(workload) else None


def suspended_by(lineage: Lineage) -> OwnerAnnotation | None:
    """For which incident we suspended it; None where we did not."""
    target = _target(lineage)
    text = "" if target is None else target[0].metadata.annotations.get(SUSPENDED, "")
    try:
        return msgspec.json.decode(text, type=OwnerAnnotation) if text else None
    except DECODE_ERRORS:
        return None  # another client wrote something under our name


def is_suspended(lineage: Lineage) -> bool:
    """Whether anybody has stopped it by the field of its kind."""
    target = _target(lineage)
    return target is not None and target[1].is_suspended(target[0])


def _target(lineage: Lineage) -> tuple[Workload, Kind] | None:
    """What carries the flag: Kueue's Workload of a job in a queue, else the job itself.

    Kueue reverts what others do to `suspend` of a job that it has admitted. Where its
    Workload was not read, nothing is right.
    """
    workload = lineage.queued if lineage.queue else lineage.job
    # One that was not read has no version: the patch would change whatever has its name by then.
    if workload is None or not workload.was_read:
        return None
    kind = kind_of_workload(workload)
    return (workload, kind) if kind.suspend else None


def _patch(
    workload: Workload, kind: Kind, annotation: OwnerAnnotation | None, *, suspended: bool
) -> Change:
    metadata = workload.metadata
    written = None if annotation is None else msgspec.json.encode(annotation).decode()
    value: object = kind.suspended if suspended else not kind.suspended
    for name in reversed(kind.suspend.split(".")):
        value = {name: value}
    body = {
        "metadata": {
            "resourceVersion": metadata.resource_version,
            "annotations": {SUSPENDED: written},
        }
    } | (value if isinstance(value, dict) else {})
    verb = "suspend" if suspended else "start again"
    return Change(
        path=kind.path(metadata.namespace, metadata.name, version_of(workload.api_version)),
        body=msgspec.json.encode(body).decode(),
        text=f"{verb} {kind.name} {metadata.namespace}/{metadata.name}",
        uid=metadata.uid,
    )
