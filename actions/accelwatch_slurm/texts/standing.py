"""To whom a node belongs, as Slurm shows it. Pure."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from accelwatch.action.intent import JobKey, Mark
from accelwatch.action.observed import NodeSeen, Standing
from accelwatch_slurm.texts.marks import (
    field_of,
    incident_in,
    is_given_up_after_release,
    mark_in,
    mark_of,
)
from accelwatch_slurm.texts.node_text import SlurmNode
from accelwatch_slurm.texts.reservation_text import OWN, SlurmReservation

_BY_SLURM = ("", "not responding", "reboot timed out", "node unexpectedly rebooted", "low ")
"""Beginnings of reasons with which the controller itself sets a node down."""

Reservations = Mapping[str, SlurmReservation]


def reservation_for_test(node: str) -> str:
    """Name of the reservation under which a node is tested."""
    return f"{OWN}verify-{node}"


def is_maintained(node: str, reservations: Reservations) -> bool:
    """Whether somebody has reserved it for maintenance that goes on now."""
    return any(node in one.nodes and one.maintenance for one in reservations.values())


def standing_of(node: SlurmNode, reservations: Reservations, field: str) -> Standing:
    """A hold is ours when its reason says so; one that is tested takes only our own work."""
    if node.drained or node.down:
        if is_given_up_after_release(node, field):
            return Standing.DOWN
        if incident_in(node.reason):
            return Standing.OURS
        by_itself = any(
            node.reason.lower().startswith(text) if text else not node.reason for text in _BY_SLURM
        )
        return Standing.DOWN if node.down and not node.drained and by_itself else Standing.FOREIGN
    if is_maintained(node.name, reservations):
        return Standing.FOREIGN
    if reservation_for_test(node.name) in reservations and mark_in(field_of(node, field)):
        return Standing.OURS
    return Standing.OPEN


def seen_node(
    node: SlurmNode,
    reservations: Reservations,
    field: str,
    jobs: Sequence[JobKey] = (),
    *,
    begin_again: frozenset[JobKey] = frozenset(),
    owners: Mapping[str, str] = MappingProxyType({}),
) -> NodeSeen:
    """The node in the words of the contract."""
    standing = standing_of(node, reservations, field)
    return NodeSeen(
        name=node.name,
        standing=standing,
        answering=node.answering,
        mark=_shown(node, standing, field),
        reason=node.reason,
        set_by=node.set_by,
        set_at=node.set_at,
        address=node.hostname,
        boot_time=node.boot_time,
        jobs=tuple(jobs),
        begin_again=begin_again.intersection(jobs),
        owners={name: owners[name] for name in map(str, jobs) if name in owners},
        pools=node.partitions,
        maintenance=is_maintained(node.name, reservations),
        rebooting=node.rebooting,
    )


def _shown(node: SlurmNode, standing: Standing, field: str) -> Mark | None:
    """One that is held by somebody else has no mark of ours, whatever was left in its field."""
    return None if standing in (Standing.FOREIGN, Standing.DOWN) else mark_of(node, field)
