"""Which resources are served, in which versions; custom ones are added while the server runs."""

import msgspec

# Definitions of types.json are named `core.v1.Node`: the group's first part, the version, the kind.


class Resource(msgspec.Struct, frozen=True, kw_only=True):
    """One resource of an API group."""

    # Empty is the core group.
    group: str
    # The preferred one first; objects are stored in it.
    versions: tuple[str, ...]
    plural: str
    kind: str
    namespaced: bool
    # Of types.json; empty: any fields (a custom resource).
    schema: str = ""
    has_status: bool = True
    # metadata.generation counts changes of the spec.
    counts_generations: bool = True

    @property
    def key(self) -> tuple[str, str]:
        """Of its table in the store."""
        return self.group, self.plural

    def api_version(self, version: str = "") -> str:
        """`v1`, `apps/v1`; of the preferred version without one."""
        version = version or self.versions[0]
        return f"{self.group}/{version}" if self.group else version


def _builtin(
    group: str,
    plural: str,
    kind: str,
    *,
    namespaced: bool = True,
    status: bool = True,
    counts: bool = True,
) -> Resource:
    return Resource(
        group=group,
        versions=("v1",),
        plural=plural,
        kind=kind,
        namespaced=namespaced,
        schema=f"{group.split('.', maxsplit=1)[0] or 'core'}.v1.{kind}",
        has_status=status,
        counts_generations=counts,
    )


NODES = _builtin("", "nodes", "Node", namespaced=False, counts=False)
PODS = _builtin("", "pods", "Pod")
NAMESPACES = _builtin("", "namespaces", "Namespace", namespaced=False, counts=False)
EVENTS = _builtin("", "events", "Event", status=False, counts=False)
JOBS = _builtin("batch", "jobs", "Job")
BUDGETS = _builtin("policy", "poddisruptionbudgets", "PodDisruptionBudget")
REPLICA_SETS = _builtin("apps", "replicasets", "ReplicaSet")
LEASES = _builtin("coordination.k8s.io", "leases", "Lease", status=False, counts=False)
TAINT_RULES = _builtin("resource.k8s.io", "devicetaintrules", "DeviceTaintRule", namespaced=False)
SLICES = _builtin(
    "resource.k8s.io", "resourceslices", "ResourceSlice", namespaced=False, status=False
)
CLAIMS = _builtin("resource.k8s.io", "resourceclaims", "ResourceClaim", counts=False)
DEFINITIONS = Resource(
    group="apiextensions.k8s.io",
    versions=("v1",),
    plural="customresourcedefinitions",
    kind="CustomResourceDefinition",
    namespaced=False,
)
_RBAC = "rbac.authorization.k8s.io"
CLUSTER_ROLES = _builtin(
    _RBAC, "clusterroles", "ClusterRole", namespaced=False, status=False, counts=False
)
CLUSTER_ROLE_BINDINGS = _builtin(
    _RBAC, "clusterrolebindings", "ClusterRoleBinding", namespaced=False, status=False, counts=False
)
ROLES = _builtin(_RBAC, "roles", "Role", status=False, counts=False)
ROLE_BINDINGS = _builtin(_RBAC, "rolebindings", "RoleBinding", status=False, counts=False)
BUILT_IN = (
    NODES,
    PODS,
    NAMESPACES,
    EVENTS,
    *(
        _builtin("", plural, kind, status=plural == "services", counts=False)
        for plural, kind in (
            ("configmaps", "ConfigMap"),
            ("secrets", "Secret"),
            ("serviceaccounts", "ServiceAccount"),
            ("services", "Service"),
        )
    ),
    JOBS,
    BUDGETS,
    REPLICA_SETS,
    _builtin("apps", "deployments", "Deployment"),
    _builtin("apps", "statefulsets", "StatefulSet"),
    _builtin("apps", "daemonsets", "DaemonSet"),
    LEASES,
    _builtin("discovery.k8s.io", "endpointslices", "EndpointSlice", status=False),
    TAINT_RULES,
    SLICES,
    CLAIMS,
    CLUSTER_ROLES,
    CLUSTER_ROLE_BINDINGS,
    ROLES,
    ROLE_BINDINGS,
    DEFINITIONS,
)


class Registry:
    """The resources of one server."""

    def __init__(self, resources: tuple[Resource, ...] = BUILT_IN) -> None:
        self._resources = {resource.key: resource for resource in resources}

    def add(self, resource: Resource) -> None:
        """Serve one more, or one in other versions."""
        self._resources[resource.key] = resource

    def remove(self, key: tuple[str, str]) -> None:
        """Serve it no longer."""
        self._resources.pop(key, None)

    def find(self, group: str, version: str, plural: str) -> Resource | None:
        """None where it is not served, or not in the version."""
        resource = self._resources.get((group, plural))
        return resource if resource is not None and version in resource.versions else None

    def serves(self, group: str, version: str) -> bool:
        """Whether anything of a group is served in a version."""
        return any(
            resource.group == group and version in resource.versions
            for resource in self._resources.values()
        )

    def all(self) -> tuple[Resource, ...]:
        """Every one that is served."""
        return tuple(self._resources.values())


def defined(definition: dict[str, object]) -> Resource:
    """The custom resource of a CustomResourceDefinition. Raises msgspec.ValidationError."""
    spec = msgspec.convert(definition.get("spec"), _DefinitionSpec)
    served = [version for version in spec.versions if version.served]
    return Resource(
        group=spec.group,
        versions=tuple(
            version.name for version in sorted(served, key=lambda each: not each.storage)
        ),
        plural=spec.names.plural,
        kind=spec.names.kind,
        namespaced=spec.scope == "Namespaced",
        has_status=any("status" in version.subresources for version in served),
    )


class _Names(msgspec.Struct):
    plural: str
    kind: str


class _Version(msgspec.Struct):
    name: str
    served: bool = True
    storage: bool = True
    subresources: dict[str, object] = {}


class _DefinitionSpec(msgspec.Struct):
    group: str
    scope: str
    names: _Names
    versions: list[_Version]
