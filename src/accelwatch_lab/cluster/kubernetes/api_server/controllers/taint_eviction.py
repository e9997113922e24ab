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
            self._schedule(uid, tolerated_for(pod["spec"].get("tolerations") or [], taints), now)
            if self._due.get(uid, math.inf) <= now and _stays(pod):
                delete_pod(self._cluster, pod, _WHY)

    def _schedule(self, uid: str, tolerated_s: float | None, now: float) -> None:
        if tolerated_s is None:
            self._due[uid] = now
        elif math.isinf(tolerated_s):
            self._due.pop(uid, None)
        else:
            # As in the real controller, the first deadline stays while any taint is tolerated for a
            # time only, even if the taint that it was of is gone.
            self._due.setdefault(uid, now + tolerated_s)


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


def tolerated_for(tolerations: list[Object], taints: list[Object]) -> float | None:
    """Seconds for which all taints are tolerated; infinite: for ever, None: one is not."""
    shortest = math.inf
    for taint in taints:
        covering = [each for each in tolerations if tolerates(each, taint)]
        if not covering:
            return None
        limits = [each.get("tolerationSeconds") for each in covering]
        finite = [limit for limit in limits if limit is not None]
        if finite:
            shortest = min(shortest, max(0, min(finite)))
    return shortest
