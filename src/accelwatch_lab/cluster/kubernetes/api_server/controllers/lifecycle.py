"""The node lifecycle controller: silence becomes Ready Unknown; conditions and cordons become taints."""

from typing import Any

from accelwatch_lab.cluster.kubernetes.api_server.cluster import Cluster
from accelwatch_lab.cluster.kubernetes.api_server.objects.resources import LEASES, NODES

Object = dict[str, Any]
# kube-controller-manager's --node-startup-grace-period.
_STARTUP_GRACE_S = 60.0
_PREFIX = "node.kubernetes.io/"
_LEASES_NAMESPACE = "kube-node-lease"
_UNSCHEDULABLE = (f"{_PREFIX}unschedulable", "NoSchedule")
# Taints by condition and status.
_OF_CONDITIONS = {
    ("MemoryPressure", "True"): "memory-pressure",
    ("DiskPressure", "True"): "disk-pressure",
    ("PIDPressure", "True"): "pid-pressure",
    ("NetworkUnavailable", "True"): "network-unavailable",
}
_OF_READY = {"False": "not-ready", "Unknown": "unreachable"}
_SCHEDULING = {*_OF_CONDITIONS.values(), *_OF_READY.values(), "unschedulable"}


class NodeLifecycle:
    """Of one server."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        # The last heartbeat of each node by uid, and when it came: clocks of nodes are not trusted.
        self._heartbeats: dict[str, tuple[str, float]] = {}

    def round(self) -> None:
        """Bring every node's conditions and taints up to date."""
        nodes = self._cluster.store.objects(NODES)
        for uid in self._heartbeats.keys() - {node["metadata"]["uid"] for node in nodes}:
            del self._heartbeats[uid]
        for node in nodes:
            changed = self._silenced(node)
            taints = self._taints(changed)
            if taints != (node["spec"].get("taints") or []):
                spec = {key: value for key, value in changed["spec"].items() if key != "taints"}
                changed = {**changed, "spec": spec | ({"taints": taints} if taints else {})}
            if changed is not node:
                self._cluster.store.put(NODES, changed)

    def _silenced(self, node: Object) -> Object:
        """The node, Ready Unknown if it has been silent for too long."""
        ready = _ready(node)
        uid, name = node["metadata"]["uid"], node["metadata"]["name"]
        lease = self._cluster.store.get(LEASES, _LEASES_NAMESPACE, name)
        renewed = lease.object["spec"].get("renewTime", "") if lease is not None else ""
        beat = f"{ready.get('lastHeartbeatTime')} {renewed}"
        now = self._cluster.clock.now()
        last, at = self._heartbeats.get(uid, ("", now))
        at = at if last == beat else now
        self._heartbeats[uid] = beat, at
        grace_s = self._cluster.node_grace_s if ready else _STARTUP_GRACE_S
        if ready.get("status") == "Unknown" or now - at < grace_s:
            return node
        condition = {"lastHeartbeatTime": None, **ready, "type": "Ready", "status": "Unknown"}
        condition |= {"lastTransitionTime": self._cluster.clock.text(), **_silence(ready)}
        conditions = node["status"].get("conditions", [])
        others = [each for each in conditions if each["type"] != "Ready"]
        return {**node, "status": {**node["status"], "conditions": [*others, condition]}}

    def _taints(self, node: Object) -> list[Object]:
        """The node's taints: those of others as they are, and those that follow from its state."""
        before = node["spec"].get("taints") or []
        due = _due(node)
        kept = [taint for taint in before if not _is_ours(taint) or _key(taint) in due]
        missing = sorted(due - {_key(taint) for taint in kept})
        now = self._cluster.clock.text()
        return [
            *kept,
            *({"key": key, "effect": effect, "timeAdded": now} for key, effect in missing),
        ]


def _silence(ready: Object) -> Object:
    if ready:
        return {
            "reason": "NodeStatusUnknown",
            "message": "Kubelet stopped posting node status.",
        }
    return {"reason": "NodeStatusNeverUpdated", "message": "Kubelet never posted node status."}


def _ready(node: Object) -> Object:
    for condition in node["status"].get("conditions", ()):
        if condition["type"] == "Ready":
            return dict(condition)
    return {}


def _due(node: Object) -> set[tuple[str, str]]:
    """Key and effect of every taint that follows from the node's state."""
    due = {_UNSCHEDULABLE} if node["spec"].get("unschedulable") else set()
    for condition in node["status"].get("conditions", ()):
        name = _OF_CONDITIONS.get((condition["type"], condition["status"]))
        if name:
            due.add((f"{_PREFIX}{name}", "NoSchedule"))
    ready = _ready(node)
    state = _OF_READY.get(ready.get("status", ""))
    if state:
        due |= {(f"{_PREFIX}{state}", effect) for effect in ("NoSchedule", "NoExecute")}
    if not ready:
        # What admission put there stays until the kubelet has spoken.
        ours = {_key(taint) for taint in node["spec"].get("taints") or () if _is_ours(taint)}
        due |= ours - {_UNSCHEDULABLE}
    return due


def _key(taint: Object) -> tuple[str, str]:
    return taint["key"], taint["effect"]


def _is_ours(taint: Object) -> bool:
    key = str(taint["key"])
    return key.startswith(_PREFIX) and key.removeprefix(_PREFIX) in _SCHEDULING
