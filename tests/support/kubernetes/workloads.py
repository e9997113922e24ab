"""Objects that pods belong to, as an API server sends them."""

import json
from typing import Any

from accelwatch_kubernetes.objects.pod import Pod
from accelwatch_kubernetes.workloads.kinds.outcome import Cause, Departure
from accelwatch_kubernetes.workloads.lineage import Lineage, lineage_of, lineage_text
from support.kubernetes.pods import Object, pod, pod_of

CREATED = "2026-11-28T10:00:00Z"
CREATED_S = 1795860000.0
# A podFailurePolicy that does not count what is evicted.
IGNORES = {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]}


def workload(
    version: str,
    kind: str,
    name: str = "trainer",
    spec: Object | None = None,
    status: Object | None = None,
    **metadata: Any,
) -> Object:
    """An object in the namespace `ml`."""
    return {
        "apiVersion": version,
        "kind": kind,
        "metadata": {
            "name": name,
            "namespace": "ml",
            "uid": f"uid-of-{name}",
            "resourceVersion": "7",
            "creationTimestamp": CREATED,
            **metadata,
        },
        "spec": spec or {},
        "status": status or {},
    }


def plain_job(status: Object | None = None, **spec: Any) -> Object:
    """A Job of batch/v1."""
    return workload("batch/v1", "Job", spec=spec, status=status)


def condition(type_: str, reason: str = "", message: str = "") -> Object:
    """One that holds."""
    return {"type": type_, "status": "True", "reason": reason, "message": message}


def lineage(*chain: Object, queued: Object | None = None) -> Lineage:
    """From the nearest owner to the topmost, by way of JSON as in an observation."""
    text = json.dumps(queued).encode() if queued else b""
    return lineage_of(lineage_text([json.dumps(entry).encode() for entry in chain], text))


def controller(document: Object) -> Object:
    """What is in the ownerReferences of what an object makes."""
    metadata = document["metadata"]
    return {
        "apiVersion": document["apiVersion"],
        "kind": document["kind"],
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
    }


def pods(count: int = 1, **fields: Any) -> tuple[Pod, ...]:
    """Several on nodes of their own: `trainer-0` on n0."""
    documents = (pod(f"trainer-{at}", **{"node": f"n{at}", **fields}) for at in range(count))
    return tuple(map(pod_of, documents))


def leaving(*those: Pod, cause: Cause = Cause.EVICTION) -> Departure:
    """Pods that leave; any one where none is named."""
    return Departure(cause=cause, pods=those or pods())
