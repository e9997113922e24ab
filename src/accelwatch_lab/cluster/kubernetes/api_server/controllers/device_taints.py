"""Device taints: rules with NoExecute evict the pods that hold the devices; every rule has a status.

Only DeviceTaintRules are read: taints that a driver publishes in its slices evict nobody here.
"""

from collections.abc import Iterator
from typing import Any

from accelwatch_lab.cluster.kubernetes.api_server.cluster import Cluster
from accelwatch_lab.cluster.kubernetes.api_server.controllers.deletion import delete_pod
from accelwatch_lab.cluster.kubernetes.api_server.controllers.device_status import (
    CONDITION,
    condition_of,
)
from accelwatch_lab.cluster.kubernetes.api_server.controllers.taint_eviction import tolerates
from accelwatch_lab.cluster.kubernetes.api_server.objects.resources import (
    CLAIMS,
    PODS,
    SLICES,
    TAINT_RULES,
)
from accelwatch_lab.cluster.kubernetes.api_server.objects.times import seconds

Object = dict[str, Any]
_WHY = {
    "reason": "DeletionByDeviceTaintManager",
    "message": "Device Taint manager: deleting due to NoExecute taint",
}
# The real controller's: a status is written again after ten seconds, not at once.
_STATUS_PERIOD_S = 10.0
_FINISHED = ("Succeeded", "Failed")


class DeviceTaintEviction:
    """Of one server."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._store = cluster.store
        # Pods that were evicted for a rule, by uid of the rule.
        self._evicted: dict[str, int] = {}

    def round(self) -> None:
        """Bring every rule's status up to date, and evict."""
        for rule in self._store.objects(TAINT_RULES):
            pods = list(self._pods(rule))
            self._report(rule, pods)
            for pod in pods if rule["spec"]["taint"]["effect"] == "NoExecute" else ():
                delete_pod(self._cluster, pod, _WHY)
                uid = rule["metadata"]["uid"]
                self._evicted[uid] = self._evicted.get(uid, 0) + 1

    def _report(self, rule: Object, pods: list[Object]) -> None:
        status = rule.get("status", {})
        before: Object = next(
            (each for each in status.get("conditions", ()) if each["type"] == CONDITION), {}
        )
        is_current = before.get("observedGeneration") == rule["metadata"]["generation"]
        now = self._cluster.clock.now()
        if is_current and now - seconds(before["lastTransitionTime"]) < _STATUS_PERIOD_S:
            return
        if is_current and rule["spec"]["taint"]["effect"] == "None":
            # It is counted once for each version of the rule.
            return
        evicted = self._evicted.get(rule["metadata"]["uid"], 0)
        condition = condition_of(rule, self._published(rule), self._allocated(rule), pods, evicted)
        if condition == {
            key: value for key, value in before.items() if key != "lastTransitionTime"
        }:
            return
        condition["lastTransitionTime"] = self._cluster.clock.text()
        others = [each for each in status.get("conditions", ()) if each["type"] != CONDITION]
        self._store.put(
            TAINT_RULES, {**rule, "status": {**status, "conditions": [*others, condition]}}
        )

    def _pods(self, rule: Object) -> Iterator[Object]:
        """Pods that the rule would evict."""
        taint = {**rule["spec"]["taint"], "effect": "NoExecute"}
        uids = set()
        for claim in self._store.objects(CLAIMS):
            selected = [each for each in _results(claim) if _selects(rule, each)]
            if any(not _is_tolerated(each, taint) for each in selected):
                uids |= {user["uid"] for user in claim["status"].get("reservedFor", ())}
        for pod in self._store.objects(PODS) if uids else ():
            leaves = "deletionTimestamp" in pod["metadata"]
            finished = pod["status"].get("phase") in _FINISHED
            if pod["metadata"]["uid"] in uids and not leaves and not finished:
                yield pod

    def _published(self, rule: Object) -> int:
        """Devices of slices that the rule selects."""
        return sum(
            _selects(rule, {**spec, "pool": spec["pool"]["name"], "device": device["name"]})
            for spec in (each["spec"] for each in self._store.objects(SLICES))
            for device in spec.get("devices", ())
        )

    def _allocated(self, rule: Object) -> int:
        """Devices of claims that the rule selects."""
        claims = self._store.objects(CLAIMS)
        return sum(_selects(rule, each) for claim in claims for each in _results(claim))


def _results(claim: Object) -> list[Object]:
    """The devices that a claim has."""
    allocation = claim.get("status", {}).get("allocation", {})
    return list(allocation.get("devices", {}).get("results", ()))


def _selects(rule: Object, device: Object) -> bool:
    """An empty selector selects every device of the cluster."""
    selector = rule["spec"].get("deviceSelector") or {}
    return all(device.get(key) == value for key, value in selector.items())


def _is_tolerated(device: Object, taint: Object) -> bool:
    return any(tolerates(each, taint) for each in device.get("tolerations", ()))
