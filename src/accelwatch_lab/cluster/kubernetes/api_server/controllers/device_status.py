"""The condition of a DeviceTaintRule, in the words of Kubernetes 1.37 (pure)."""

from typing import Any

Object = dict[str, Any]
CONDITION = "EvictionInProgress"
_NOT_AGAIN = (
    "if the effect was NoExecute. This information will not be updated again."
    " Recreate the DeviceTaintRule to trigger an update."
)


def condition_of(
    rule: Object, published: int, allocated: int, pods: list[Object], evicted: int
) -> Object:
    """The condition without its time; pods are those that the rule would evict or evicts."""
    effect = rule["spec"]["taint"]["effect"]
    namespaces = _namespaces({pod["metadata"]["namespace"] for pod in pods})
    reason, message = "OtherEffect", "Eviction only happens for the NoExecute effect."
    if effect == "None":
        reason = "NoEffect"
        message = (
            f"{_count(published, 'published device')} selected."
            f" {_count(allocated, 'allocated device')} selected."
            f" {_count(len(pods), 'pod')} would be evicted in {namespaces} {_NOT_AGAIN}"
        )
    elif effect == "NoExecute" and pods:
        need = "needs" if len(pods) == 1 else "need"
        reason = "PodsPendingEviction"
        message = f"{_count(len(pods), 'pod')} {need} to be evicted in {namespaces}."
    elif effect == "NoExecute":
        reason, message = "Completed" if evicted else "NotStarted", ""
    if evicted:
        message = f"{message} {_count(evicted, 'pod')} evicted since starting the controller."
    return {
        "type": CONDITION,
        "status": "True" if reason == "PodsPendingEviction" else "False",
        "observedGeneration": rule["metadata"]["generation"],
        "reason": reason,
        "message": message.strip(),
    }


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _namespaces(names: set[str]) -> str:
    return "1 namespace" if len(names) == 1 else f"{len(names)} different namespaces"
