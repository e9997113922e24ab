"""`/v1/odd` as the API answers it."""

import msgspec


class OddValue(msgspec.Struct, frozen=True, kw_only=True):
    """A value that differs from the usual one, and where it is."""

    value: str
    nodes: tuple[str, ...]
    devices: int
    """How many devices have it; 0 for what a node has once."""


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """One thing in which nodes of a group differ."""

    group: str
    """What they have in common: vendor and model, the model of the machine, or `agents`."""
    label: str
    """Value of the label that was asked for; empty without one."""
    field: str
    """`driver`, `firmware`, `vbios`, `partition_mode`, `kernel` or `agent`."""
    usual: str | None
    """What more than half of the nodes have; null where no value has so many."""
    usual_nodes: int
    nodes: int
    """Nodes of the group of which it is known."""
    odd: tuple[OddValue, ...]
    """The other values, the rarest first."""


class OddPage(msgspec.Struct, frozen=True, kw_only=True):
    """All differences, by group and field."""

    time: str
    nodes: int
    """Nodes that were compared: those that have told of themselves."""
    differences: tuple[Difference, ...] = ()
