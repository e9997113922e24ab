"""The taint manager: pods that do not tolerate a NoExecute taint are deleted, budgets or not."""

import math
from typing import Any

from accelwatch_lab.cluster.kubernetes.api_server.cluster import Cluster
from accelwatch_lab.cluster.kubernetes.api_server.controllers.deletion import delete_pod
from accelwatch_lab.cluster.kubernetes.api_server.objects.resources import NODES, PODS

Object = dict[str, Any]
_WHY = {
    "reason": "DeletionByTaintManager",
    "message": "Taint manager: deleting due to NoExecute taint",
}
_FINISHED = ("Succeeded", "Failed")


class TaintEviction:
    """Of one server."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        # When a pod is deleted, by uid; seconds of the server's clock.
        self._due: dict[str, float] = {}

    def round(self) -> None:
        """Delete the pods whose time has come."""
        nodes = self._cluster.store.objects(NODES)
        tainted = {node["metadata"]["name"]: _no_execute(node) for node in nodes}
        tainted = {name: taints for name, taints in tainted.items() if taints}
        if not tainted:
            self._due.clear()
            return
        now = self._cluster.clock.now()
        for pod in self._cluster.store.objects(PODS):
            uid = pod["metadata"]["uid"]
            taints = tainted.get(pod["spec"].get("nodeName", ""))
            if taints is None:
                self._due.pop(uid, None)
                continue
            tolerated_s = tolerated_for(pod["spec"].get("tolerations") or [], taints)
            # A pod that tolerates for ever what is left keeps the deadline of a taint that is gone:
            # the real controller forgets it only when no NoExecute taint is left.
            if not math.isinf(tolerated_s):
                self._due[uid] = min(self._due.get(uid, math.inf), now + tolerated_s)
            if self._due.get(uid, math.inf) <= now and _stays(pod):
                delete_pod(self._cluster, pod, _WHY)


def _no_execute(node: Object) -> list[Object]:
    return [taint for taint in node["spec"].get("taints") or () if taint["effect"] == "NoExecute"]


def _stays(pod: Object) -> bool:
    phase = pod["status"].get("phase")
    return "deletionTimestamp" not in pod["metadata"] and phase not in _FINISHED


def tolerates(toleration: Object, taint: Object) -> bool:
    """Whether a toleration covers a taint."""
    if toleration.get("effect") not in (None, "", taint["effect"]):
        return False
    key = toleration.get("key", "")
    if key and key != taint["key"]:
        return False
    if toleration.get("operator", "Equal") == "Exists":
        return True
    return bool(key) and toleration.get("value", "") == taint.get("value", "")


def tolerated_for(tolerations: list[Object], taints: list[Object]) -> float:
    """Seconds for which all taints are tolerated; 0 where one is not, infinite where none ends."""
    shortest = math.inf
    for taint in taints:
        covering = [each for each in tolerations if tolerates(each, taint)]
        if not covering:
            return 0.0
        limits = [each.get("tolerationSeconds") for each in covering]
        finite = [limit for limit in limits if limit is not None]
        if finite:
            shortest = min(shortest, max(0, min(finite)))
    return shortest
