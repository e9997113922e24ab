"""The eviction of a pod, in the order of the real server: its budget, its uid, its deletion."""

from typing import Any

from accelwatch_lab.cluster.kubernetes.api_server import status
from accelwatch_lab.cluster.kubernetes.api_server.call import Call
from accelwatch_lab.cluster.kubernetes.api_server.objects import schema
from accelwatch_lab.cluster.kubernetes.api_server.objects.resources import BUDGETS, PODS
from accelwatch_lab.cluster.kubernetes.api_server.objects.selectors import matches_selector
from accelwatch_lab.cluster.kubernetes.api_server.objects.store import Entry, Store
from accelwatch_lab.cluster.kubernetes.api_server.objects.times import Clock
from accelwatch_lab.cluster.kubernetes.api_server.verbs import deleting
from accelwatch_lab.cluster.kubernetes.api_server.verbs.reading import Reader

Object = dict[str, Any]
_REFUSED = "Cannot evict pod as it would violate the pod's disruption budget."
_TWO_BUDGETS = (
    "This pod has more than one PodDisruptionBudget,"
    " which the eviction subresource does not support."
)
# A budget whose status is older than its spec: the server wants a retry.
_PROCESSED_AFTER_S = 10
BY_EVICTION = {"reason": "EvictionByEvictionAPI", "message": "Eviction API: evicting"}


class Evictor:
    """Evictions from one server."""

    def __init__(self, store: Store, reader: Reader, clock: Clock) -> None:
        self._store = store
        self._reader = reader
        self._clock = clock

    def evict(self, call: Call) -> Object:
        """Begin a pod's deletion if its budget allows it. Raises RequestError."""
        body = call.object()
        unknown = schema.pruned("policy.v1.Eviction", body)[1]
        if unknown and call.strict:
            fields = ", ".join(f'unknown field "{field}"' for field in unknown)
            where = 'Eviction in version "v1" cannot be handled as a Eviction'
            raise status.bad_request(f"{where}: strict decoding error: {fields}")
        if body.get("metadata", {}).get("name") != call.name:
            raise status.bad_request("name in URL does not match name in Eviction object")
        options = deleting.options_of(body.get("deleteOptions"))
        dry_run = call.dry_run or bool(options.dry_run)
        entry = self._reader.entry(call)
        if not _skips_budget(entry.object):
            self._spend(entry.object, dry_run)
        # The uid is compared after the budget has been spent: a wrong one costs a disruption.
        deleting.check(PODS, entry.object, options.preconditions)
        if not dry_run:
            disrupted = self.disrupt(entry, BY_EVICTION)
            deleting.delete(self._store, self._clock, PODS, disrupted, options.grace_period_seconds)
        return status.success(code=201)

    def disrupt(self, entry: Entry, why: Object) -> Entry:
        """Write a pod's condition DisruptionTarget."""
        pod = entry.object
        conditions = pod.get("status", {}).get("conditions", [])
        if any(
            each["type"] == "DisruptionTarget" and each["status"] == "True" for each in conditions
        ):
            return entry
        condition = {"type": "DisruptionTarget", "status": "True", **why, "lastProbeTime": None}
        condition["lastTransitionTime"] = self._clock.text()
        others = [each for each in conditions if each["type"] != "DisruptionTarget"]
        return self._store.put(
            PODS, {**pod, "status": {**pod.get("status", {}), "conditions": [*others, condition]}}
        )

    def _spend(self, pod: Object, dry_run: bool) -> None:
        """Raises RequestError: 429 where the budget does not allow it, 500 where there are two."""
        budgets = [
            budget
            for budget in self._store.objects(BUDGETS, pod["metadata"]["namespace"])
            if matches_selector(budget["spec"].get("selector"), pod["metadata"].get("labels") or {})
        ]
        if len(budgets) > 1:
            raise status.RequestError(500, "", _TWO_BUDGETS)
        for budget in budgets:
            if not is_ready(pod) and _allows_unhealthy(budget):
                continue
            spent = _spent(budget, pod["metadata"]["name"], self._clock.text())
            if not dry_run:
                self._store.put(BUDGETS, spent)


def is_ready(pod: Object) -> bool:
    """Whether its condition Ready says so."""
    conditions = pod.get("status", {}).get("conditions", ())
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def _skips_budget(pod: Object) -> bool:
    phase = pod.get("status", {}).get("phase")
    return phase in ("Pending", "Succeeded", "Failed") or "deletionTimestamp" in pod["metadata"]


def _allows_unhealthy(budget: Object) -> bool:
    """Whether a pod that is not ready may go without the budget."""
    if budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    current, desired = (
        budget["status"].get(key, 0) for key in ("currentHealthy", "desiredHealthy")
    )
    return bool(current >= desired > 0)


def _spent(budget: Object, pod: str, now: str) -> Object:
    """The budget with one disruption less. Raises RequestError."""
    name, state = budget["metadata"]["name"], budget["status"]
    if state.get("observedGeneration", 0) < budget["metadata"]["generation"]:
        message = f"The disruption budget {name} is still being processed by the server."
        raise _too_many(message, _PROCESSED_AFTER_S)
    if state["disruptionsAllowed"] <= 0:
        desired, current = state["desiredHealthy"], state["currentHealthy"]
        raise _too_many(
            f"The disruption budget {name} needs {desired} healthy pods and has {current} currently",
            0,
        )
    disrupted = {**state.get("disruptedPods", {}), pod: now}
    spent = {"disruptionsAllowed": state["disruptionsAllowed"] - 1, "disruptedPods": disrupted}
    return {**budget, "status": {**state, **spent}}


def _too_many(message: str, retry_after_s: int) -> status.RequestError:
    cause = {"reason": "DisruptionBudget", "message": message}
    return status.RequestError(
        429, "TooManyRequests", _REFUSED, causes=[cause], retry_after_s=retry_after_s
    )
