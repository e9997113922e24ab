"""To whom a node belongs, as Slurm shows it. Pure."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from accelwatch.action.intent import JobKey, OwnerAnnotation
from accelwatch.action.observed import HoldState, NodeObservation
from accelwatch_slurm.texts.annotations import (
    annotation_in,
    annotation_of,
    field_of,
    incident_in,
    is_down_after_release,
)
from accelwatch_slurm.texts.node_text import SlurmNode
from accelwatch_slurm.texts.reservation_text import OWN, SlurmReservation

# Beginnings of reasons with which the controller itself sets a node down.
_BY_SLURM = ("", "not responding", "reboot timed out", "node unexpectedly rebooted", "low ")

Reservations = Mapping[str, SlurmReservation]


def reservation_for_test(node: str) -> str:
    """Name of the reservation under which a node is tested."""
    return f"{OWN}verify-{node}"


def is_maintained(node: str, reservations: Reservations) -> bool:
    """Whether it has a maintenance reservation that is active now."""
    return any(
        node in reservation.nodes and reservation.maintenance
        for reservation in reservations.values()
    )


def hold_state_of(node: SlurmNode, reservations: Reservations, field: str) -> HoldState:
    """A hold is ours when its reason says so; one that is tested accepts only our own work."""
    if node.drained or node.down:
        if is_down_after_release(node, field):
            return HoldState.DOWN
        if incident_in(node.reason):
            return HoldState.OURS
        by_itself = any(
            node.reason.lower().startswith(text) if text else not node.reason for text in _BY_SLURM
        )
        return HoldState.DOWN if node.down and not node.drained and by_itself else HoldState.FOREIGN
    if is_maintained(node.name, reservations):
        return HoldState.FOREIGN
    if reservation_for_test(node.name) in reservations and annotation_in(field_of(node, field)):
        return HoldState.OURS
    return HoldState.OPEN


def observed_node(
    node: SlurmNode,
    reservations: Reservations,
    field: str,
    jobs: Sequence[JobKey] = (),
    *,
    restartable: frozenset[JobKey] = frozenset(),
    owners: Mapping[str, str] = MappingProxyType({}),
) -> NodeObservation:
    """The node in the words of the contract."""
    state = hold_state_of(node, reservations, field)
    return NodeObservation(
        name=node.name,
        hold_state=state,
        answering=node.answering,
        annotation=_shown(node, state, field),
        reason=node.reason,
        set_by=node.set_by,
        set_at=node.set_at,
        address=node.hostname,
        boot_time=node.boot_time,
        jobs=tuple(jobs),
        restartable=restartable.intersection(jobs),
        owners={name: owners[name] for name in map(str, jobs) if name in owners},
        pools=node.partitions,
        maintenance=is_maintained(node.name, reservations),
        rebooting=node.rebooting,
    )


def _shown(node: SlurmNode, state: HoldState, field: str) -> OwnerAnnotation | None:
    """A node that others hold has no mark of ours, whatever was left in its field."""
    return None if state in (HoldState.FOREIGN, HoldState.DOWN) else annotation_of(node, field)
