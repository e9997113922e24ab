"""What is read of a node of the API server as evidence; everything else in it is passed over.

Shapes: Kubernetes API reference, core/v1 Node. The heartbeat of a condition is left out on purpose: it
changes every few minutes when nothing else does.
"""

import msgspec


class NodeMetadata(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """`metadata` of a node."""

    name: str = ""
    labels: dict[str, str] = {}


class Taint(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One of `spec.taints`."""

    key: str = ""
    value: str = ""
    effect: str = ""
    # RFC 3339.
    time_added: str | None = None


class NodeSpec(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """`spec` of a node."""

    taints: tuple[Taint, ...] | None = ()


class Condition(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One of `status.conditions`."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    # RFC 3339.
    last_transition_time: str | None = None


class Address(msgspec.Struct, frozen=True, kw_only=True):
    """One of `status.addresses`."""

    address: str = ""


class NodeStatus(msgspec.Struct, frozen=True, kw_only=True):
    """`status` of a node."""

    conditions: tuple[Condition, ...] | None = ()
    addresses: tuple[Address, ...] | None = ()


class ConditionedNode(msgspec.Struct, frozen=True, kw_only=True):
    """A node."""

    metadata: NodeMetadata
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    @property
    def key(self) -> str:
        """Identifies the node."""
        return self.metadata.name
