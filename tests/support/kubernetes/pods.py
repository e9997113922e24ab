"""Pods and PodDisruptionBudgets as an API server sends them."""

from collections.abc import Mapping
from typing import Any

import msgspec

from accelwatch_kubernetes.objects.budget import Budget
from accelwatch_kubernetes.objects.pod import Pod

Object = dict[str, Any]


def pod(
    name: str = "trainer-0",
    *,
    node: str = "n1",
    namespace: str = "ml",
    uid: str = "",
    owner: tuple[str, str, str] | None = ("batch/v1", "Job", "trainer"),
    labels: Mapping[str, str] = {},
    annotations: Mapping[str, str] = {},
    phase: str = "Running",
    ending: bool = False,
    created: str = "2026-11-28T10:00:00Z",
    grace_s: int = 30,
    resources: Mapping[str, str] = {},
    claims: Mapping[str, str] = {},
    devices: Mapping[str, tuple[str, ...]] = {},
    container: str = "main",
) -> Object:
    """A pod; `owner` is API version, kind and name of its controller, None for none.

    `claims` are names of claim objects by their names in the pod, `devices` the ids by resource that its
    kubelet shows.
    """
    metadata: Object = {
        "name": name,
        "namespace": namespace,
        "uid": uid or f"uid-of-{name}",
        "resourceVersion": "7",
        "creationTimestamp": created,
        "labels": dict(labels),
        "annotations": dict(annotations),
    }
    if owner is not None:
        version, kind, owner_name = owner
        reference = {"apiVersion": version, "kind": kind, "name": owner_name, "controller": True}
        metadata["ownerReferences"] = [{**reference, "uid": f"uid-of-{owner_name}"}]
    if ending:
        metadata["deletionTimestamp"] = "2026-11-28T11:00:00Z"
    allocated = [
        {"name": resource, "resources": [{"resourceID": id_, "health": "Healthy"} for id_ in ids]}
        for resource, ids in devices.items()
    ]
    return {
        "metadata": metadata,
        "spec": {
            "nodeName": node,
            "terminationGracePeriodSeconds": grace_s,
            "containers": [{"name": container, "resources": {"limits": dict(resources)}}],
            "resourceClaims": [
                {"name": name, "resourceClaimTemplateName": "gpu"} for name in claims
            ],
        },
        "status": {
            "phase": phase,
            "startTime": created,
            "containerStatuses": [{"name": container, "allocatedResourcesStatus": allocated}],
            "resourceClaimStatuses": [
                {"name": name, "resourceClaimName": object_name}
                for name, object_name in claims.items()
            ],
        },
    }


def budget(
    name: str = "trainers",
    *,
    namespace: str = "ml",
    selector: Mapping[str, Any] | None = None,
    allowed: int = 0,
    healthy: int = 2,
    desired: int = 2,
    expected: int = 2,
    generation: int = 1,
) -> Object:
    """A PodDisruptionBudget; without a `selector` about the pods with the label `app=trainer`."""
    return {
        "metadata": {"name": name, "namespace": namespace, "generation": generation},
        "spec": {"selector": selector or {"matchLabels": {"app": "trainer"}}},
        "status": {
            "disruptionsAllowed": allowed,
            "currentHealthy": healthy,
            "desiredHealthy": desired,
            "expectedPods": expected,
            "observedGeneration": 1,
        },
    }


def pod_of(document: Object) -> Pod:
    """A pod as the action reads it."""
    return msgspec.convert(document, Pod)


def budget_of(document: Object) -> Budget:
    """A budget as the action reads it."""
    return msgspec.convert(document, Budget)


def listed(*documents: Object) -> str:
    """A list of them, as JSON."""
    return msgspec.json.encode({"items": documents}).decode()
