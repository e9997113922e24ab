"""Nodes as an API server sends them, and what an action makes of them."""

import copy
import json
from collections.abc import Mapping, Sequence
from typing import Any

from accelwatch.action.intent import Intent, IntentKind, OwnerAnnotation
from accelwatch.action.observed import Observed
from accelwatch_kubernetes.objects.node import Node, node_of
from accelwatch_kubernetes.observed_context import NODE, SPARE, ObservedContext, observed_context_of
from accelwatch_kubernetes.settings.options import KubernetesOptions

Object = dict[str, Any]
OPTIONS = KubernetesOptions()
NOW = 1_795_355_600.0
GPU = {"key": "nvidia.com/gpu", "effect": "NoSchedule", "value": "present"}


def node(
    name: str = "n1",
    *,
    uid: str = "",
    taints: Sequence[Mapping[str, str]] = (),
    cordoned: bool = False,
    annotations: Mapping[str, str] = {},
    labels: Mapping[str, str] = {},
    ready: str = "True",
    deleting: bool = False,
    version: str = "7",
) -> Object:
    """A node."""
    spec: Object = {"podCIDR": "10.0.0.0/24"}
    if taints:
        spec["taints"] = [dict(taint) for taint in taints]
    if cordoned:
        spec["unschedulable"] = True
    metadata: Object = {
        "name": name,
        "uid": uid or f"uid-of-{name}",
        "resourceVersion": version,
        "creationTimestamp": "2026-11-28T10:00:00Z",
        "annotations": dict(annotations),
        "labels": {"kubernetes.io/hostname": name, **labels},
    }
    if deleting:
        metadata["deletionTimestamp"] = "2026-11-28T11:00:00Z"
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": metadata,
        "spec": spec,
        "status": {
            "conditions": [{"type": "Ready", "status": ready}],
            "addresses": [
                {"type": "InternalIP", "address": "10.1.0.1"},
                {"type": "Hostname", "address": f"{name}.example"},
            ],
            "nodeInfo": {"bootID": f"boot-of-{name}", "systemUUID": f"machine-of-{name}"},
        },
    }


def parsed(document: Object) -> Node:
    """As the action reads it."""
    found = node_of(json.dumps(document))
    assert found is not None
    return found


def merged(document: Object, patch: Mapping[str, Any]) -> Object:
    """A document after a merge patch (RFC 7386)."""
    result = copy.deepcopy(document)
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, Mapping):
            before = result.get(key)
            result[key] = merged(before if isinstance(before, dict) else {}, value)
        else:
            result[key] = copy.deepcopy(value)
    return result


def stored(document: Object, patch: Mapping[str, Any], version: str = "8") -> Object:
    """A node after a patch, as the server has it then: written anew, and without what is empty."""
    assert patch["metadata"]["resourceVersion"] == document["metadata"]["resourceVersion"]
    after = merged(document, patch)
    after["metadata"]["resourceVersion"] = version
    return after


def intent(
    kind: IntentKind = IntentKind.QUARANTINE,
    name: str = "n1",
    *,
    incident: str = "inc-1",
    token: int = 3,
    **more: Any,
) -> Intent:
    """What is wanted of a node."""
    more = {"reason": "Xid 79 on GPU 3", "rule": "nvidia.gpu.lost", "deadline": NOW + 600.0, **more}
    return Intent(kind=kind, mark=OwnerAnnotation(incident, token), node=name, **more)


def context(
    document: Object | None, options: KubernetesOptions = OPTIONS, spare: Object | None = None
) -> ObservedContext:
    """What an observation of a node shows."""
    own = {
        key: json.dumps(shown)
        for key, shown in ((NODE, document), (SPARE, spare))
        if shown is not None
    }
    return observed_context_of(Observed(time=NOW, own=own), options)
