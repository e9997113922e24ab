"""What the server fills in when an object is created: the types' defaults, its admission."""

from collections.abc import Callable
from typing import Any

from accelwatch_lab.cluster.kubernetes.api_server.objects.resources import (
    BUDGETS,
    JOBS,
    NAMESPACES,
    NODES,
    PODS,
    TAINT_RULES,
    Resource,
)

Object = dict[str, Any]
_CONTAINER = {
    "resources": {},
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
    "imagePullPolicy": "IfNotPresent",
}
_POD = {
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "securityContext": {},
    "schedulerName": "default-scheduler",
    "enableServiceLinks": True,
}
# Admission DefaultTolerationSeconds.
_TOLERATED_S = 300
_TOLERATED = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_NODE_INFO = (
    *("architecture", "bootID", "containerRuntimeVersion", "kernelVersion", "kubeProxyVersion"),
    *("kubeletVersion", "machineID", "operatingSystem", "osImage", "systemUUID"),
)
_NO_BUDGET = {"disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0}


def with_defaults(resource: Resource, created: Object, now: str) -> Object:
    """An object that is being created, as the server stores it."""
    fill = _FILLS.get(resource.key)
    return fill(created, now) if fill is not None else created


def _node(node: Object, _now: str) -> Object:
    spec, status = node.get("spec", {}), node.get("status", {})
    # Admission TaintNodesByCondition: off again when the node lifecycle controller sees it Ready.
    key = "node.kubernetes.io/not-ready"
    taints = spec.get("taints", [])
    if not any(taint["key"] == key for taint in taints):
        taints = [*taints, {"key": key, "effect": "NoSchedule"}]
    info = dict.fromkeys(_NODE_INFO, "") | status.get("nodeInfo", {})
    daemons = {"kubeletEndpoint": {"Port": 0}} | status.get("daemonEndpoints", {})
    status = {**status, "daemonEndpoints": daemons, "nodeInfo": info}
    return {**node, "spec": {**spec, "taints": taints}, "status": status}


def _pod(pod: Object, _now: str) -> Object:
    spec = pod_spec(pod.get("spec", {}))
    tolerations = list(spec.get("tolerations", ()))
    for key in _TOLERATED:
        if not any(_tolerates(toleration, key) for toleration in tolerations):
            added = {"key": key, "operator": "Exists", "effect": "NoExecute"}
            tolerations.append({**added, "tolerationSeconds": _TOLERATED_S})
    spec = {
        "priority": 0,
        "preemptionPolicy": "PreemptLowerPriority",
        **spec,
        "tolerations": tolerations,
    }
    return {**pod, "spec": spec, "status": {"phase": "Pending", "qosClass": "BestEffort"}}


def _tolerates(toleration: Object, key: str) -> bool:
    effect = toleration.get("effect", "")
    return toleration.get("key", "") in ("", key) and effect in ("", "NoExecute")


def pod_spec(spec: Object) -> Object:
    """Of a pod or of a template."""
    containers = [_CONTAINER | container for container in spec.get("containers", ())]
    return {**_POD, **spec, "containers": containers}


def _namespace(namespace: Object, _now: str) -> Object:
    name = namespace["metadata"]["name"]
    labels = {"kubernetes.io/metadata.name": name} | namespace["metadata"].get("labels", {})
    metadata = {**namespace["metadata"], "labels": labels}
    spec, status = {"finalizers": ["kubernetes"]}, {"phase": "Active"}
    return {**namespace, "metadata": metadata, "spec": spec, "status": status}


def _job(job: Object, _now: str) -> Object:
    metadata, spec = job["metadata"], job.get("spec", {})
    uid, name = metadata["uid"], metadata["name"]
    prefix = "batch.kubernetes.io/"
    labels = {f"{prefix}controller-uid": uid, f"{prefix}job-name": name}
    labels |= {"controller-uid": uid, "job-name": name}
    template = spec.get("template", {})
    template_metadata = template.get("metadata", {})
    template = {
        **template,
        "metadata": {
            **template_metadata,
            "labels": {**template_metadata.get("labels", {}), **labels},
        },
        "spec": pod_spec(template.get("spec", {})),
    }
    parallelism = spec.get("parallelism", 1)
    # A work queue: parallelism without completions.
    completions = {} if "parallelism" in spec and "completions" not in spec else {"completions": 1}
    filled = {
        **completions,
        # A Job that limits the failures of each index has no other limit.
        "backoffLimit": 2**31 - 1 if "backoffLimitPerIndex" in spec else 6,
        "completionMode": "NonIndexed",
        "suspend": False,
        "manualSelector": False,
        "podReplacementPolicy": "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed",
        **spec,
        "parallelism": parallelism,
        "selector": {"matchLabels": {f"{prefix}controller-uid": uid}},
        "template": template,
    }
    job_labels = {**labels, **metadata.get("labels", {})}
    return {**job, "metadata": {**metadata, "labels": job_labels}, "spec": filled, "status": {}}


def _budget(budget: Object, _now: str) -> Object:
    return {**budget, "status": dict(_NO_BUDGET)}


def _taint_rule(rule: Object, now: str) -> Object:
    spec = rule.get("spec", {})
    taint = {"timeAdded": now} | spec.get("taint", {})
    return {**rule, "spec": {"deviceSelector": {}, **spec, "taint": taint}, "status": {}}


_FILLS: dict[tuple[str, str], Callable[[Object, str], Object]] = {
    NODES.key: _node,
    PODS.key: _pod,
    NAMESPACES.key: _namespace,
    JOBS.key: _job,
    BUDGETS.key: _budget,
    TAINT_RULES.key: _taint_rule,
}
