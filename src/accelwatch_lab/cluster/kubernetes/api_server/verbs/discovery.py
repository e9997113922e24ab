"""What is served: /version, /api, /apis and the resources of each group."""

from typing import Any

from accelwatch_lab.cluster.kubernetes.api_server.objects.resources import Registry, Resource

Object = dict[str, Any]
# The release that the stand-in answers like.
VERSION = "1.37.2"
_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
_ACCESS = {
    "name": "selfsubjectaccessreviews",
    "singularName": "selfsubjectaccessreview",
    "namespaced": False,
    "kind": "SelfSubjectAccessReview",
    "verbs": ["create"],
}
AUTHORIZATION = "authorization.k8s.io"


def document(registry: Registry, path: str) -> Object | None:
    """What is answered to a path of discovery; None where it is none, or nothing is there."""
    segments = path.strip("/").split("/")
    match segments:
        case ["version"]:
            return _version()
        case ["api"]:
            return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}
        case ["api", "v1"]:
            return _resources(registry, "", "v1")
        case ["apis"]:
            groups = [
                _group(group, versions) for group, versions in sorted(_groups(registry).items())
            ]
            return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
        case ["apis", group] if group in _groups(registry):
            about = {"kind": "APIGroup", "apiVersion": "v1"}
            return about | _group(group, _groups(registry)[group])
        case ["apis", group, version] if version in _groups(registry).get(group, ()):
            return _resources(registry, group, version)
    return None


def _version() -> Object:
    major, minor, _ = VERSION.split(".")
    about = {"major": major, "minor": minor, "gitVersion": f"v{VERSION}", "gitTreeState": ""}
    return about | {"platform": "linux/amd64", "compiler": "stand-in"}


def _groups(registry: Registry) -> dict[str, list[str]]:
    """Versions by group, the preferred one first."""
    groups: dict[str, list[str]] = {AUTHORIZATION: ["v1"]}
    for resource in registry.all():
        if resource.group:
            versions = groups.setdefault(resource.group, [])
            versions += [version for version in resource.versions if version not in versions]
    return groups


def _group(group: str, versions: list[str]) -> Object:
    served = [{"groupVersion": f"{group}/{version}", "version": version} for version in versions]
    return {"name": group, "versions": served, "preferredVersion": served[0]}


def _resources(registry: Registry, group: str, version: str) -> Object:
    entries: list[Object] = []
    for resource in registry.all():
        if resource.group == group and version in resource.versions:
            entries += _entries(resource)
    if group == AUTHORIZATION:
        entries.append(_ACCESS)
    name = f"{group}/{version}" if group else version
    about = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": name}
    return about | {"resources": entries}


def _entries(resource: Resource) -> list[Object]:
    about = {
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "singularName": resource.kind.lower(),
    }
    entries: list[Object] = [{"name": resource.plural, **about, "verbs": list(_VERBS)}]
    if resource.has_status:
        verbs = ["get", "patch", "update"]
        entries.append(
            {**about, "name": f"{resource.plural}/status", "singularName": "", "verbs": verbs}
        )
    if resource.plural == "pods":
        eviction = {"name": "pods/eviction", "namespaced": True, "kind": "Eviction"}
        entries.append({**eviction, "group": "policy", "version": "v1", "verbs": ["create"]})
    return entries
