"""From our name of a node to its object: by its name there, else by the label with its host name."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

import msgspec

from accelwatch.api_client.kubernetes.client import KubernetesClient
from accelwatch.api_client.kubernetes.errors import ApiError, decoded

NODES = "/api/v1/nodes"
_HOSTNAME = "kubernetes.io/hostname"
_NOT_FOUND = 404
# Of a DNS subdomain, by which objects are named.
_LONGEST_NAME = 253


class NodeMetadata(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Of a node object, as far as it is used."""

    name: str
    uid: str
    resource_version: str
    annotations: Mapping[str, str] = MappingProxyType({})


class NodeStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Conditions as the server sends them: those of others go back to it exactly so."""

    conditions: tuple[Mapping[str, Any], ...] = ()


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """A node object."""

    metadata: NodeMetadata
    status: NodeStatus = NodeStatus()


class _NodeList(msgspec.Struct, frozen=True, kw_only=True):
    items: tuple[Node, ...] | None = ()


class NodeFinder:
    """Finds node objects; the names that differ from ours are remembered."""

    def __init__(self, client: KubernetesClient, names: Mapping[str, str]) -> None:
        self._client = client
        self._names = dict(names)

    async def node(self, name: str) -> Node | None:
        """The object of a node; None where the cluster has none, or several. Raises KubernetesError."""
        theirs = self._names.get(name, name)
        if not _is_name(theirs):
            return None
        try:
            return await self.read(theirs)
        except ApiError as error:
            if error.status != _NOT_FOUND:
                raise
        matches = await self._listed({"labelSelector": f"{_HOSTNAME}={name}", "limit": "2"})
        if len(matches) != 1:
            return None
        self._names[name] = matches[0].metadata.name
        return matches[0]

    async def read(self, theirs: str) -> Node:
        """The object by the cluster's name. Raises KubernetesError."""
        body = await self._client.get(path_of(theirs))
        return decoded(body, Node)

    async def any_node(self) -> Node | None:
        """One of the cluster's nodes, to try what may be written. Raises KubernetesError."""
        return next(iter(await self._listed({"limit": "1"})), None)

    async def _listed(self, query: Mapping[str, str]) -> tuple[Node, ...]:
        body = await self._client.get(NODES, query)
        return decoded(body, _NodeList).items or ()


def path_of(theirs: str) -> str:
    """The path of a node object."""
    return f"{NODES}/{quote(theirs, safe='')}"


def _is_name(name: str) -> bool:
    """Whether an object can have that name, and a label that value."""
    plain = name.replace("-", "").replace(".", "")
    if not (plain.isascii() and plain.isalnum() and len(name) <= _LONGEST_NAME):
        return False
    return name[0].isalnum() and name[-1].isalnum()
