"""Objects as an administrator creates them, and their paths."""

from collections.abc import Mapping
from typing import Any

Object = dict[str, Any]
NODES = "/api/v1/nodes"
NAMESPACE = "/api/v1/namespaces/default"
PODS = f"{NAMESPACE}/pods"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
TAINT_RULES = "/apis/resource.k8s.io/v1/devicetaintrules"
# Kinds of bodies of a PATCH.
MERGE, JSON, STRATEGIC = "merge-patch+json", "json-patch+json", "strategic-merge-patch+json"


def node(name: str = "n1", *taints: Object, labels: Mapping[str, str] = {}) -> Object:
    """A node that its kubelet has not reported of."""
    metadata = {"name": name, "labels": {"kubernetes.io/hostname": name, **labels}}
    about: Object = {"apiVersion": "v1", "kind": "Node", "metadata": metadata}
    return about | {"spec": {"taints": list(taints)}}


def pod(name: str = "p1", node_name: str = "n1", *, grace_s: int = 30, **labels: str) -> Object:
    """A pod on a node, where one is named; nothing runs it."""
    spec: Object = {
        "containers": [{"name": "main", "image": "example.invalid/none"}],
        "terminationGracePeriodSeconds": grace_s,
        # As a pod of a training: it does not follow its node's heartbeats.
        "tolerations": [
            {"operator": "Exists", "effect": "NoExecute", "key": "node.kubernetes.io/not-ready"}
        ],
    }
    if node_name:
        spec["nodeName"] = node_name
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels},
        "spec": spec,
    }


def running(*, ready: bool = True) -> Object:
    """A merge patch of a pod's status, as its kubelet would write it."""
    condition = {"type": "Ready", "status": "True" if ready else "False"}
    return {"status": {"phase": "Running", "conditions": [condition]}}


def budget(name: str = "b", *, min_available: int = 1, **labels: str) -> Object:
    """A PodDisruptionBudget of pods with the labels."""
    spec = {"minAvailable": min_available, "selector": {"matchLabels": labels}}
    about = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name}}
    return about | {"spec": spec}


def eviction(name: str = "p1", **options: Any) -> Object:
    """An eviction of a pod, with DeleteOptions."""
    about: Object = {"apiVersion": "policy/v1", "kind": "Eviction"}
    about["metadata"] = {"name": name, "namespace": "default"}
    return about | ({"deleteOptions": options} if options else {})
