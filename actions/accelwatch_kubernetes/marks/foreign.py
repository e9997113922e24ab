"""Who else holds nodes out of service, known by the keys of their taints. Pure; a table to add to."""

from collections.abc import Sequence
from types import MappingProxyType

from accelwatch_kubernetes.objects.node import Node, Taint

# Effects that keep new work away; PreferNoSchedule is a wish.
EFFECTS = frozenset({"NoSchedule", "NoExecute"})
# What the node controller sets beside `spec.unschedulable`, and removes with it.
CORDON_TAINT = "node.kubernetes.io/unschedulable"

# By key, or by what a key begins with. Not here: what the cluster itself sets on a node that does not
# answer or runs short (node.kubernetes.io/not-ready, unreachable, memory-pressure, ...), and taints that
# only keep nodes for some work, such as nvidia.com/gpu.
HOLDERS = MappingProxyType(
    {
        "node.kubernetes.io/out-of-service": "a fencing agent",
        "nvidia.com/gpu-error": "NVSentinel",
        "nvsentinel.": "NVSentinel",
        "amd-gpu-unhealthy": "AMD GPU operator",
        "karpenter.sh/disrupted": "Karpenter",
        "karpenter.sh/disruption": "Karpenter",
        "ToBeDeletedByClusterAutoscaler": "cluster autoscaler",
        "medik8s.io/": "medik8s",
        "aws-node-termination-handler/": "AWS node termination handler",
    }
)
# Labels and annotations that say who has cordoned a node.
_CORDON_OWNER_LABELS = ("k8saas.nvidia.com/cordon-by",)


def holder_of_taint(taint: Taint, configured: Sequence[str]) -> str:
    """Whose taint takes the node out; empty for one that does not, and for one that only reserves it."""
    key = str(taint.get("key", ""))
    if taint.get("effect") not in EFFECTS:
        return ""
    for prefix, holder in HOLDERS.items():
        if key == prefix or (prefix[-1] in "/." and key.startswith(prefix)):
            return holder
    named = any(
        key == entry or (entry[-1:] == "/" and key.startswith(entry)) for entry in configured
    )
    return key.partition("/")[0] if named else ""


def cordon_owner(node: Node) -> str:
    """Who has cordoned a node, where that is written on it."""
    written = (node.metadata.labels.get(key) for key in _CORDON_OWNER_LABELS)
    return next(filter(None, written), "")


def taint_text(taint: Taint) -> str:
    """As kubectl prints it."""
    value = f"={taint['value']}" if taint.get("value") else ""
    return f"{taint.get('key', '')}{value}:{taint.get('effect', '')}"
