"""Every request that our code sends to an API server, as RBAC has it: what the manifests have to allow.

A row is a call in a module. Tests hold the rows against the calls that the modules make, and against the
rules of the manifests, so a call that is added, and one that goes, has to be told here and there.
"""

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from accelwatch_kubernetes.workloads.kinds.table import KINDS

ROOT = Path(__file__).resolve().parents[3]
ACTION = "actions/accelwatch_kubernetes"
STATUS = "alerts/accelwatch_kubernetes_status"
HUB = "src/accelwatch/fleet"

# Names of `KubernetesClient`, and the mirror's way.
CALLS = frozenset({"get", "create", "patch", "delete", "evict"})
COLLECTIONS = frozenset({"Collection", "FollowedCollection"})


class Request(NamedTuple):
    """One kind of request."""

    # Relative to the folder of its owner.
    module: str
    call: str
    verbs: tuple[str, ...]
    resource: str
    group: str = ""
    namespace: str = ""


_WATCHED = ("list", "watch")

# Of `nodes` the discovery mirrors only metadata; of the versions of groups everybody may ask.
REQUESTS: dict[str, tuple[Request, ...]] = {
    HUB: (
        Request("evidence/node_watch.py", "Collection", _WATCHED, "nodes"),
        Request("targets/kubernetes/discovery.py", "FollowedCollection", _WATCHED, "pods"),
        Request("targets/kubernetes/discovery.py", "FollowedCollection", _WATCHED, "nodes"),
        Request(
            "targets/kubernetes/discovery.py",
            "FollowedCollection",
            _WATCHED,
            "endpointslices",
            "discovery.k8s.io",
        ),
    ),
    ACTION: (
        Request("cache/cluster_cache.py", "Collection", _WATCHED, "nodes"),
        Request("cache/cluster_cache.py", "Collection", _WATCHED, "pods"),
        Request("access/reader.py", "get", ("get",), "nodes"),
        Request("effects/node_patch.py", "patch", ("patch",), "nodes"),
        *(
            Request("readings/devices.py", "get", ("list",), resource, "resource.k8s.io")
            for resource in ("devicetaintrules", "resourceclaims", "resourceslices")
        ),
        *(
            Request(
                "effects/device_taints.py", verb, (verb,), "devicetaintrules", "resource.k8s.io"
            )
            for verb in ("get", "create", "patch", "delete")
        ),
        # What oneself may do, everybody may ask.
        Request(
            "access/permissions.py",
            "create",
            (),
            "selfsubjectaccessreviews",
            "authorization.k8s.io",
        ),
        Request("readings/pods.py", "get", ("list",), "pods"),
        Request("readings/pods.py", "get", ("list",), "workloads", "kueue.x-k8s.io"),
        *(
            Request("readings/owners.py", "get", ("get",), kind.plural, kind.group)
            for kind in KINDS
            if kind.versions
        ),
        Request("readings/evictions.py", "get", ("list",), "poddisruptionbudgets", "policy"),
        Request("readings/evictions.py", "evict", ("create",), "pods/eviction"),
        Request("effects/eviction.py", "get", ("get",), "pods"),
        Request("effects/eviction.py", "evict", ("create",), "pods/eviction"),
        Request("effects/eviction.py", "delete", ("delete",), "pods"),
        *(
            Request("effects/eviction.py", "patch", ("patch",), kind.plural, kind.group)
            for kind in KINDS
            if kind.suspend
        ),
    ),
    STATUS: (
        Request("nodes.py", "get", ("get", "list"), "nodes"),
        Request("status_writing.py", "get", ("get",), "nodes"),
        Request("status_writing.py", "patch", ("patch",), "nodes/status"),
        Request("event_writing.py", "create", ("create",), "events", "", "default"),
        Request("event_writing.py", "get", ("get",), "events", "", "default"),
        Request("event_writing.py", "patch", ("patch",), "events", "", "default"),
    ),
}


class Permission(NamedTuple):
    """As a rule of a role has it; the namespace is empty for the whole cluster."""

    group: str
    resource: str
    verb: str
    namespace: str = ""


def needed(owner: str) -> set[Permission]:
    """What the requests of an owner need."""
    return {
        Permission(request.group, request.resource, verb, request.namespace)
        for request in REQUESTS[owner]
        for verb in request.verbs
    }


def granted(manifests: Iterable[dict[str, Any]]) -> set[Permission]:
    """What the roles among objects allow. Raises AssertionError for a rule that allows everything."""
    found = set()
    for manifest in manifests:
        if manifest["kind"] in ("Role", "ClusterRole"):
            for rule in manifest["rules"]:
                assert set(rule) == {"apiGroups", "resources", "verbs"}
                found |= {
                    Permission(group, resource, verb, manifest["metadata"].get("namespace", ""))
                    for group in rule["apiGroups"]
                    for resource in rule["resources"]
                    for verb in rule["verbs"]
                }
    assert not any("*" in permission for permission in found)
    return found


def calls(owner: str) -> set[tuple[str, str]]:
    """Module and call of each request that the modules of an owner send."""
    folder = ROOT / owner
    return {
        (str(file.relative_to(folder)), name)
        for file in sorted(folder.rglob("*.py"))
        for name in _names(ast.parse(file.read_text("utf-8")))
    }


def _names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        called = node.func
        if isinstance(called, ast.Name) and called.id in COLLECTIONS:
            yield called.id
        elif (
            isinstance(called, ast.Attribute) and called.attr in CALLS and _is_client(called.value)
        ):
            yield called.attr


def _is_client(node: ast.expr) -> bool:
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    return name in ("client", "_client")
