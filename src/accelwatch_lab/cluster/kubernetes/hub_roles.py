"""What the lab's hub may do in its cluster: roles of the example manifests, linked into `roles`."""

from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import yaml

from accelwatch_lab.cluster.kubernetes.api import Object

# The first has the account and its namespace's name.
_MANIFESTS = ("kubernetes-rbac.yaml", "hub-actions.yaml", "hub-status.yaml")
_RBAC = "/apis/rbac.authorization.k8s.io/v1"
_LISTS = {
    "ServiceAccount": ("/api/v1", "serviceaccounts"),
    "ClusterRole": (_RBAC, "clusterroles"),
    "ClusterRoleBinding": (_RBAC, "clusterrolebindings"),
    "Role": (_RBAC, "roles"),
    "RoleBinding": (_RBAC, "rolebindings"),
}


def roles() -> Iterator[tuple[str, Object]]:
    """Each object with the path that it is created under, in an order in which that can be."""
    yield "/api/v1/namespaces", {"metadata": {"name": "accelwatch"}}
    folder = files("accelwatch_lab.cluster.kubernetes").joinpath("roles")
    for name in _MANIFESTS:
        for entry in yaml.safe_load_all(folder.joinpath(name).read_text("utf-8")):
            yield _path(entry), entry


def _path(entry: Any) -> str:
    group, resource = _LISTS[entry["kind"]]
    namespace = entry["metadata"].get("namespace", "")
    return f"{group}/namespaces/{namespace}/{resource}" if namespace else f"{group}/{resource}"
