"""The tables of what is seen: how each is read and set. None of them is kept in the journal."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from msgspec.structs import replace

from accelwatch.action.observed import NodeObservation, ReservationObservation
from accelwatch.remediation.policy.context.touched import Touches
from accelwatch.remediation.policy.state.world import Good, NodeStatus, Scheduler, World

V = TypeVar("V")


@dataclass(frozen=True, eq=False)
class WorldTable(Generic[V]):
    """One table of what is seen, by key."""

    read: Callable[[World], Mapping[str, V]]
    replaced: Callable[[World, Mapping[str, V]], World]
    touches: Touches = Touches.NOTHING


NODE_STATUSES = WorldTable[NodeStatus](
    read=lambda world: world.node_statuses,
    replaced=lambda world, rows: replace(world, node_statuses=rows),
    touches=Touches.NODE,
)
GOOD = WorldTable[Good](
    read=lambda world: world.good,
    replaced=lambda world, rows: replace(world, good=rows),
    touches=Touches.NODE,
)
SETTLED = WorldTable[float](
    read=lambda world: world.settled,
    replaced=lambda world, rows: replace(world, settled=rows),
    touches=Touches.NODE,
)
SCHEDULER_NODES = WorldTable[NodeObservation](
    read=lambda world: world.scheduler_nodes,
    replaced=lambda world, rows: replace(world, scheduler_nodes=rows),
    touches=Touches.SHOWN,
)
SHOWN_BY = WorldTable[str](
    read=lambda world: world.shown_by,
    replaced=lambda world, rows: replace(world, shown_by=rows),
    touches=Touches.SHOWN,
)
SCHEDULERS = WorldTable[Scheduler](
    read=lambda world: world.schedulers,
    replaced=lambda world, rows: replace(world, schedulers=rows),
)
LATE = WorldTable[float](
    read=lambda world: world.late,
    replaced=lambda world, rows: replace(world, late=rows),
)
PROBED = WorldTable[float](
    read=lambda world: world.probed,
    replaced=lambda world, rows: replace(world, probed=rows),
)
RESERVATIONS = WorldTable[tuple[ReservationObservation, ...]](
    read=lambda world: world.reservations,
    replaced=lambda world, rows: replace(world, reservations=rows),
)
NOT_BEFORE = WorldTable[float](
    read=lambda world: world.not_before,
    replaced=lambda world, rows: replace(world, not_before=rows),
)
