"""The pods of a Job: which have failed, what its pod failure policy says of them, new ones (pure)."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal

Object = dict[str, Any]
TRACKING = "batch.kubernetes.io/job-tracking"
INDEX = "batch.kubernetes.io/job-completion-index"
_FINISHED = ("Succeeded", "Failed")
Verdict = Literal["Count", "Ignore", "FailJob"]


def replaces_only_failed(job: Object) -> bool:
    """Whether a terminating pod is waited for before it is counted and replaced."""
    return bool(job["spec"]["podReplacementPolicy"] == "Failed")


def has_failed(pod: Object, job: Object) -> bool:
    """Whether the pod counts as a failure: a deletion does at once, unless failed ones alone do."""
    phase = pod["status"].get("phase")
    if phase == "Failed":
        return True
    return not replaces_only_failed(job) and is_terminating(pod)


def is_active(pod: Object) -> bool:
    """Whether it runs, or will."""
    return (
        pod["status"].get("phase") not in _FINISHED and "deletionTimestamp" not in pod["metadata"]
    )


def is_terminating(pod: Object) -> bool:
    """Whether its deletion has started, and it has not finished."""
    return pod["status"].get("phase") not in _FINISHED and "deletionTimestamp" in pod["metadata"]


def verdict(job: Object, pod: Object) -> Verdict:
    """What the first rule that matches says of a failed pod."""
    policy = job["spec"].get("podFailurePolicy") or {}
    for rule in policy.get("rules", ()):
        codes, patterns = rule.get("onExitCodes"), rule.get("onPodConditions")
        if (codes and _exited(pod, codes)) or (patterns and _has_condition(pod, patterns)):
            action: Verdict = rule["action"] if rule["action"] in ("Ignore", "FailJob") else "Count"
            return action
    return "Count"


def _exited(pod: Object, requirement: Object) -> bool:
    container = requirement.get("containerName")
    for each in pod["status"].get("containerStatuses", ()):
        code = each.get("state", {}).get("terminated", {}).get("exitCode", 0)
        meant = container in (None, each["name"]) and code
        if meant and (code in requirement["values"]) is (requirement["operator"] == "In"):
            return True
    return False


def _has_condition(pod: Object, patterns: Iterable[Object]) -> bool:
    statuses = {each["type"]: each["status"] for each in pod["status"].get("conditions", ())}
    return any(statuses.get(each["type"]) == each.get("status", "True") for each in patterns)


def index_of(pod: Object) -> int | None:
    """Of an indexed Job's pod."""
    text = (pod["metadata"].get("annotations") or {}).get(INDEX)
    return int(text) if text is not None else None


def new_pod(job: Object, suffix: str, index: int | None) -> Object:
    """A pod of the Job's template, as the controller creates it."""
    metadata, template = job["metadata"], job["spec"]["template"]
    of_template: Mapping[str, Any] = template.get("metadata", {})
    infix = "" if index is None else f"{index}-"
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": metadata["name"]}
    owner |= {"uid": metadata["uid"], "controller": True, "blockOwnerDeletion": True}
    made: Object = {
        "name": f"{metadata['name']}-{infix}{suffix}",
        "generateName": f"{metadata['name']}-{infix}",
        "namespace": metadata["namespace"],
        "labels": dict(of_template.get("labels", {})),
        "annotations": dict(of_template.get("annotations", {})),
        "ownerReferences": [owner],
        "finalizers": [TRACKING],
    }
    spec = template["spec"]
    if index is not None:
        made["labels"][INDEX] = made["annotations"][INDEX] = str(index)
        variable = {"name": "JOB_COMPLETION_INDEX", "value": str(index)}
        containers = [
            {**each, "env": [*each.get("env", ()), variable]} for each in spec["containers"]
        ]
        spec = {**spec, "containers": containers, "hostname": f"{metadata['name']}-{index}"}
    return {"kind": "Pod", "apiVersion": "v1", "metadata": made, "spec": spec}
