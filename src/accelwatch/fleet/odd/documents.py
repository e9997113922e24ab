"""`/v1/odd` as the API answers it."""

from collections.abc import Iterable

import msgspec


class OddValue(msgspec.Struct, frozen=True, kw_only=True):
    """A value that differs from the usual one, and where it is."""

    value: str
    nodes: tuple[str, ...]
    # How many devices have it; 0 for what a node has once.
    devices: int


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """One thing in which nodes of a group differ."""

    # What they have in common: vendor and model, the model of the machine, or `agents`.
    group: str
    # Value of the requested label; empty without one.
    label: str
    # `driver`, `firmware`, `vbios`, `partition_mode`, `kernel`, `agent`, a library or setting
    field: str
    # What more than half of the nodes have; null where no value has so many.
    usual: str | None
    usual_nodes: int
    # Nodes of the group of which it is known.
    nodes: int
    # The other values, the rarest first.
    odd: tuple[OddValue, ...]


class OddPage(msgspec.Struct, frozen=True, kw_only=True):
    """All differences, by group and field."""

    time: str
    # Nodes that were compared: those that have reported.
    nodes: int
    differences: tuple[Difference, ...] = ()


class Deviation(msgspec.Struct, frozen=True, kw_only=True):
    """In what one node differs from the many alike."""

    field: str
    value: str
    # The devices of the node that have the value; empty where all have it, or the node itself.
    devices: tuple[str, ...] = ()
    # What more than half of the nodes have.
    usual: str
    usual_nodes: int
    # Nodes of the group of which it is known.
    nodes: int

    @property
    def text(self) -> str:
        """`driver 550.2 (62 of 63 nodes have 570.1)`."""
        where = f" on {', '.join(self.devices)}" if self.devices else ""
        many = f"{self.usual_nodes} of {self.nodes} nodes have {self.usual}"
        return f"{self.field} {self.value}{where} ({many})"


def fields_of(deviations: Iterable[Deviation]) -> tuple[str, ...]:
    """In which fields a node differs."""
    return tuple(dict.fromkeys(deviation.field for deviation in deviations))


def text_of(deviations: Iterable[Deviation]) -> str:
    """All of it in words."""
    return "; ".join(deviation.text for deviation in deviations)
