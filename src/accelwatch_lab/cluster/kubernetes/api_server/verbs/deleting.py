"""Deletion as the API does it: preconditions, a pod's grace, finalizers."""

from typing import Any

import msgspec

from accelwatch_lab.cluster.kubernetes.api_server.objects.resources import PODS, Resource
from accelwatch_lab.cluster.kubernetes.api_server.objects.store import Entry, Store, name_of
from accelwatch_lab.cluster.kubernetes.api_server.objects.times import Clock
from accelwatch_lab.cluster.kubernetes.api_server.status import bad_request, precondition_failed

Object = dict[str, Any]
_FINISHED = ("Succeeded", "Failed")


class Preconditions(msgspec.Struct, frozen=True, rename="camel"):
    """Which object is meant."""

    uid: str | None = None
    resource_version: str | None = None


class DeleteOptions(msgspec.Struct, frozen=True, rename="camel"):
    """How to delete."""

    preconditions: Preconditions = Preconditions()
    # None: the object's own.
    grace_period_seconds: int | None = None
    dry_run: list[str] = []
    propagation_policy: str = ""


def options_of(document: Any) -> DeleteOptions:
    """Raises RequestError."""
    try:
        return msgspec.convert(document or {}, DeleteOptions)
    except msgspec.ValidationError as error:
        raise bad_request(f"DeleteOptions: {error}") from error


def check(resource: Resource, stored: Object, desired: Preconditions) -> None:
    """Raises RequestError: 409 where the object is not the one that is meant."""
    metadata = stored["metadata"]
    for field, value, actual in (
        ("UID", desired.uid, metadata["uid"]),
        ("ResourceVersion", desired.resource_version, metadata["resourceVersion"]),
    ):
        if value is not None and value != actual:
            raise precondition_failed(resource.kind, metadata["name"], field, value, actual)


def delete(
    store: Store, clock: Clock, resource: Resource, entry: Entry, grace_s: int | None
) -> Entry:
    """Begin or finish a deletion; the object as it is then."""
    stored = entry.object
    metadata = stored["metadata"]
    grace = _grace(resource, stored, grace_s)
    deleting = "deletionTimestamp" in metadata
    if (
        deleting
        and grace >= metadata.get("deletionGracePeriodSeconds", 0)
        and (grace or metadata.get("finalizers"))
    ):
        return entry
    if not grace and not metadata.get("finalizers"):
        store.remove(resource, *name_of(stored))
        return entry
    metadata = {
        **metadata,
        "deletionTimestamp": clock.text(grace),
        "deletionGracePeriodSeconds": grace,
    }
    if "generation" in metadata and not deleting:
        metadata["generation"] += 1
    return store.put(resource, {**stored, "metadata": metadata})


def _grace(resource: Resource, stored: Object, requested: int | None) -> int:
    if resource.key != PODS.key:
        return 0
    spec = stored.get("spec", {})
    if not spec.get("nodeName") or stored.get("status", {}).get("phase") in _FINISHED:
        return 0
    if requested is None:
        return int(spec.get("terminationGracePeriodSeconds", 30))
    return requested


def is_over(stored: Object) -> bool:
    """Whether nothing keeps an object any longer whose deletion has started."""
    metadata = stored["metadata"]
    return (
        "deletionTimestamp" in metadata
        and not metadata.get("deletionGracePeriodSeconds")
        and not metadata.get("finalizers")
    )
