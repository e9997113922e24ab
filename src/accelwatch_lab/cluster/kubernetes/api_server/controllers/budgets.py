"""Disruption budgets: how many of the pods that each selects may be evicted now."""

from typing import Any

from accelwatch_lab.cluster.kubernetes.api_server.cluster import Cluster
from accelwatch_lab.cluster.kubernetes.api_server.objects.resources import (
    BUDGETS,
    PODS,
    REPLICA_SETS,
)
from accelwatch_lab.cluster.kubernetes.api_server.objects.selectors import matches_selector
from accelwatch_lab.cluster.kubernetes.api_server.objects.times import seconds
from accelwatch_lab.cluster.kubernetes.api_server.verbs.eviction import is_ready

Object = dict[str, Any]
# An evicted pod that is not deleting after so long stays: kube-controller-manager's DeletionTimeout.
_DELETION_TIMEOUT_S = 120.0


class UncountableError(Exception):
    """The pods' owner has no number of replicas, of which a budget wants a share."""


class BudgetController:
    """Of one server."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._store = cluster.store

    def round(self) -> None:
        """Bring the status of every budget up to date."""
        for budget in self._store.objects(BUDGETS):
            selector = budget["spec"].get("selector")
            pods = [
                pod
                for pod in self._store.objects(PODS, budget["metadata"]["namespace"])
                if matches_selector(selector, pod["metadata"].get("labels") or {})
            ]
            status = self._status(budget, pods)
            if status != budget["status"]:
                self._store.put(BUDGETS, {**budget, "status": status})

    def _status(self, budget: Object, pods: list[Object]) -> Object:
        before = budget["status"]
        kept = {"observedGeneration": budget["metadata"]["generation"]}
        try:
            expected, desired = self._counts(budget["spec"], pods)
        except UncountableError as error:
            condition = self._condition(before, "False", "SyncFailed", str(error))
            return {**before, **kept, "disruptionsAllowed": 0, "conditions": [condition]}
        staying = [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]
        disrupted = self._disrupted(before.get("disruptedPods") or {}, staying)
        healthy = sum(is_ready(pod) for pod in staying if pod["metadata"]["name"] not in disrupted)
        allowed = max(0, healthy - desired) if expected > 0 else 0
        reason = "SufficientPods" if allowed else "InsufficientPods"
        status: Object = {
            "disruptionsAllowed": allowed,
            "currentHealthy": healthy,
            "desiredHealthy": desired,
            "expectedPods": expected,
            **kept,
            "conditions": [self._condition(before, "True" if allowed else "False", reason, "")],
        }
        return status | ({"disruptedPods": disrupted} if disrupted else {})

    def _disrupted(self, disrupted: dict[str, str], staying: list[Object]) -> dict[str, str]:
        """Evicted pods whose deletion is to come: a refused eviction leaves its pod here too."""
        names = {pod["metadata"]["name"] for pod in staying}
        now = self._cluster.clock.now()
        return {
            name: at
            for name, at in disrupted.items()
            if name in names and seconds(at) + _DELETION_TIMEOUT_S > now
        }

    def _counts(self, spec: Object, pods: list[Object]) -> tuple[int, int]:
        """Pods that are expected, and how many must be healthy. Raises UncountableError."""
        minimum, away = spec.get("minAvailable"), spec.get("maxUnavailable")
        if away is not None:
            expected = self._replicas(pods)
            return expected, max(0, expected - _scaled(away, expected))
        if isinstance(minimum, str):
            expected = self._replicas(pods)
            return expected, _scaled(minimum, expected)
        return len(pods), int(minimum or 0)

    def _replicas(self, pods: list[Object]) -> int:
        """Of all controllers of the pods. Raises UncountableError."""
        sets = {each["metadata"]["uid"]: each for each in self._store.objects(REPLICA_SETS)}
        owners = {
            owner["uid"]: owner
            for pod in pods
            for owner in pod["metadata"].get("ownerReferences", ())
            if owner.get("controller")
        }
        for uid, owner in owners.items():
            if uid not in sets:
                kind = owner["kind"].lower()
                raise UncountableError(f"{kind}s does not implement the scale subresource")
        return sum(int(sets[uid]["spec"].get("replicas", 1)) for uid in owners)

    def _condition(self, before: Object, value: str, reason: str, message: str) -> Object:
        condition = {"type": "DisruptionAllowed", "status": value, "reason": reason}
        condition["message"] = message
        for each in before.get("conditions", ()):
            if all(each.get(key) == text for key, text in condition.items()):
                return dict(each)
        return condition | {"lastTransitionTime": self._cluster.clock.text()}


def _scaled(amount: int | str, total: int) -> int:
    """A number, or a percentage rounded up."""
    if isinstance(amount, int):
        return amount
    return -(-int(amount.removesuffix("%")) * total // 100)
