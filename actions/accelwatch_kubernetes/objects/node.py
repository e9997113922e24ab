"""A node object.

Taints are kept as they were read, field by field: a patch sends those of others back unchanged.
"""

from functools import lru_cache
from typing import Any

import msgspec

from accelwatch_kubernetes.objects.metadata import Metadata

Taint = dict[str, Any]


class NodeCondition(msgspec.Struct, frozen=True, kw_only=True, gc=False, rename="camel"):
    """One of a node's conditions."""

    type: str
    # `True`, `False` or `Unknown`.
    status: str = ""
    reason: str = ""
    message: str = ""
    # RFC 3339.
    last_transition_time: str | None = None


class NodeAddress(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One of a node's addresses."""

    # `Hostname`, `InternalIP`, `ExternalIP`, ...
    type: str
    address: str = ""


class NodeSystemInfo(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What the kubelet says of its machine."""

    boot_id: str = msgspec.field(default="", name="bootID")
    system_uuid: str = msgspec.field(default="", name="systemUUID")


class AttachedVolume(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A volume that is attached to a node."""

    name: str = ""


class NodeSpec(msgspec.Struct, frozen=True, kw_only=True, gc=False, rename="camel"):
    """How a node is wanted."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()
    provider_id: str = msgspec.field(default="", name="providerID")


class NodeStatus(msgspec.Struct, frozen=True, kw_only=True, gc=False, rename="camel"):
    """How its kubelet and the node controller see it."""

    conditions: tuple[NodeCondition, ...] = ()
    addresses: tuple[NodeAddress, ...] = ()
    node_info: NodeSystemInfo = NodeSystemInfo()
    volumes_attached: tuple[AttachedVolume, ...] = ()


class Node(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A node."""

    metadata: Metadata = Metadata()
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    @property
    def name(self) -> str:
        """Its name."""
        return self.metadata.name

    @property
    def ready(self) -> bool | None:
        """Whether its kubelet answers; None where the cluster does not say."""
        statuses = [entry.status for entry in self.status.conditions if entry.type == "Ready"]
        return statuses[0] == "True" if statuses else None

    @property
    def ready_since(self) -> str:
        """When that has last changed, as the server says it; empty where it does not."""
        times = (
            entry.last_transition_time for entry in self.status.conditions if entry.type == "Ready"
        )
        return next(filter(None, times), "")

    @property
    def address(self) -> str:
        """Its host name, else its internal address, else its name."""
        by_type = {entry.type: entry.address for entry in reversed(self.status.addresses)}
        return by_type.get("Hostname") or by_type.get("InternalIP") or self.name


_DECODER = msgspec.json.Decoder(Node)


# An observation is parsed several times: to propose, to decide and to report.
@lru_cache(maxsize=1024)
def node_of(text: str) -> Node | None:
    """A node as JSON; None for an empty text. Raises ValueError for what is no node."""
    return _DECODER.decode(text) if text else None
