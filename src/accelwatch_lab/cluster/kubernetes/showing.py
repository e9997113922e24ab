"""Nodes and Jobs of Kubernetes in a lab's own words. Pure."""

from collections.abc import Sequence

import msgspec

from accelwatch_lab.cluster.kubernetes.api import Object
from accelwatch_lab.cluster.scheduler import JobNow, NodeNow

_HOLD = "accelwatch.io/hold"
QUARANTINE = "accelwatch.io/quarantine"
# Where an administrator of the lab writes why.
REASON = "example.com/reason"
_OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"


class _Hold(msgspec.Struct):
    """What of the hub's annotation people read."""

    incident: str = ""
    rule: str = ""
    reason: str = ""


def node_shown(node: Object, *, busy: bool, off: bool = False) -> NodeNow:
    """A node and why it accepts no work; `off`: it has no power."""
    spec, metadata = node["spec"], node["metadata"]
    keys = {taint["key"] for taint in spec.get("taints") or ()}
    cordoned, ours = bool(spec.get("unschedulable")), QUARANTINE in keys
    states = ["ALLOCATED" if busy else "IDLE"]
    states += ["DRAIN"] if cordoned or ours else []
    states += ["DOWN"] if off or _OUT_OF_SERVICE in keys else []
    states += [] if _is_ready(node) else ["NOT_RESPONDING"]
    annotations = metadata.get("annotations") or {}
    if ours:
        hold = msgspec.json.decode(annotations.get(_HOLD, "{}"), type=_Hold)
        reason = f"accelwatch:{hold.incident}:{hold.rule} {hold.reason}".strip()
    else:
        reason = annotations.get(REASON, "") if cordoned else ""
    return NodeNow(tuple(states), reason)


def _is_ready(node: Object) -> bool:
    return any(
        condition["type"] == "Ready" and condition["status"] == "True"
        for condition in node["status"].get("conditions") or ()
    )


def job_shown(job: Object, active: Sequence[Object], restarts: int) -> JobNow:
    """A Job with its pods that have not ended and are not being deleted."""
    finished = [
        condition["type"].upper()
        for condition in job.get("status", {}).get("conditions") or ()
        if condition["type"] in ("Complete", "Failed") and condition["status"] == "True"
    ]
    running = [pod for pod in active if pod["status"].get("phase") == "Running"]
    complete = len(running) == job["spec"]["parallelism"]
    nodes = sorted(pod["spec"]["nodeName"] for pod in running)
    state = finished[0] if finished else "RUNNING" if complete else "PENDING"
    return JobNow(state, tuple(nodes), restarts)
