"""On which node a pod may run: taints, `unschedulable`, node selectors, free GPUs. Pure."""

from collections.abc import Mapping, Sequence

from accelwatch_lab.cluster.kubernetes.api import Object

GPU = "nvidia.com/gpu"
_FINISHED = ("Succeeded", "Failed")
_KEEPS_AWAY = ("NoSchedule", "NoExecute")


def node_for(pod: Object, nodes: Sequence[Object], used: Mapping[str, int]) -> str:
    """Name of the first node that fits a pod; empty when none does. `used`: GPUs by node."""
    for node in sorted(nodes, key=lambda node: str(node["metadata"]["name"])):
        if not obstacle(pod, node, used.get(node["metadata"]["name"], 0)):
            return str(node["metadata"]["name"])
    return ""


def obstacle(pod: Object, node: Object, used: int) -> str:
    """Why a node does not fit a pod; empty when it does."""
    spec = node.get("spec") or {}
    if spec.get("unschedulable"):
        return "node(s) were unschedulable"
    for taint in spec.get("taints") or ():
        if taint["effect"] in _KEEPS_AWAY and not tolerates(pod, taint):
            return f"node(s) had untolerated taint {{{taint['key']}: {taint.get('value', '')}}}"
    labels = node["metadata"].get("labels") or {}
    if not (pod["spec"].get("nodeSelector") or {}).items() <= labels.items():
        return "node(s) didn't match Pod's node affinity/selector"
    if used + gpus_of(pod) > int(node["status"].get("allocatable", {}).get(GPU, 0)):
        return f"Insufficient {GPU}"
    return ""


def tolerates(pod: Object, taint: Object) -> bool:
    """Whether one of its tolerations is for the taint."""
    for toleration in pod["spec"].get("tolerations") or ():
        key, effect = toleration.get("key", ""), toleration.get("effect", "")
        if effect not in ("", taint["effect"]) or key not in ("", taint["key"]):
            continue
        if toleration.get("operator") == "Exists" or toleration.get("value", "") == taint.get(
            "value", ""
        ):
            return True
    return False


def used_gpus(pods: Sequence[Object]) -> dict[str, int]:
    """How many are given out, by node."""
    used: dict[str, int] = {}
    for pod in pods:
        node = pod["spec"].get("nodeName", "")
        if node and pod["status"].get("phase") not in _FINISHED:
            used[node] = used.get(node, 0) + gpus_of(pod)
    return used


def gpus_of(pod: Object) -> int:
    """How many a pod has."""
    limits = (
        (container.get("resources") or {}).get("limits") or {}
        for container in pod["spec"]["containers"]
    )
    return sum(int(limit.get(GPU, 0)) for limit in limits)
