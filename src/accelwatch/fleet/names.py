"""The words of a fleet: states of nodes, what owners are called, which names a filter knows. Pure.

The hub checks a filter with these, and the dashboard before it sends one.
"""

from collections.abc import Iterable
from enum import StrEnum

import msgspec

from accelwatch.expr import NameTable, Type, device_names
from accelwatch.schema.device import DeviceState
from accelwatch.schema.snapshot import OWNER_NAMES


class NodeState(StrEnum):
    """How fresh what we know of a node is; the words are part of the API."""

    UP = "up"
    # It is late, or drops ticks.
    SLOW = "slow"
    STALE = "stale"
    DOWN = "down"
    # It has never been seen.
    NEVER = "never"


# States of a node whose values are of now; those of any other are the last that it reported.
SPEAKING = frozenset({NodeState.UP, NodeState.SLOW})
NODE_SEVERITY: dict[str, int] = {
    NodeState.DOWN: 10,
    NodeState.STALE: 5,
    NodeState.NEVER: 4,
    NodeState.SLOW: 2,
    NodeState.UP: 0,
}
# Where a machine's own snapshot has its backends, that of a silent node has this, which says why.
SILENT_SOURCE = "hub"
# Of a node that reports and cannot read its accelerators: as bad as one that has failed.
UNREAD_SEVERITY = 6
# What devices are called whose node is silent.
GONE = {NodeState.STALE: "stale", NodeState.DOWN: "unreachable", NodeState.NEVER: "unreachable"}
# The label of nodes that says which hub follows them, where there are several.
HUB_LABEL = "hub"
# Every state that a device of a fleet can be in.
SHOWN_STATES = (*DeviceState, *dict.fromkeys(GONE.values()), "missing")


def fleet_names(labels: Iterable[str]) -> NameTable:
    """The names of a device in a fleet whose targets have these labels."""
    table = device_names()
    more = (*sorted(labels), *OWNER_NAMES, "node", "node_state")
    extra = {name: Type.STRING for name in more if name not in table.rows}
    identity = {**extra, **table.identity}
    values = {**table.values, "state": SHOWN_STATES, "node_state": tuple(NodeState)}
    return msgspec.structs.replace(table, identity=identity, values=values)
