"""What is shown of a node that is not heard of: its devices, as old as they are, and why. Pure."""

import msgspec

from accelwatch.schema.absence import Absence
from accelwatch.schema.device import DeviceState
from accelwatch.schema.health import Health
from accelwatch.schema.reading import wholly_absent
from accelwatch.schema.snapshot import (
    BackendState,
    BackendStatus,
    DeviceView,
    ReadFailure,
    Snapshot,
)
from accelwatch.version import __version__

HUB = "hub"
"""Name of the source of such a snapshot, where a machine's own has its backends."""


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """What the hub told of a node."""

    snapshot: Snapshot
    at: float
    """Monotonic seconds."""
    silent: str = ""
    """Why its values are not of now; empty when they are."""
    remedy: str = ""
    """What a person can do about that."""


def aged(snapshot: Snapshot, wall: float, older_s: float) -> Snapshot:
    """The snapshot `older_s` seconds later, with nothing newer."""
    return msgspec.structs.replace(
        snapshot, time=wall, devices=tuple(_older(view, older_s) for view in snapshot.devices)
    )


def silenced(
    snapshot: Snapshot | None,
    node: str,
    trouble: str,
    wall: float,
    older_s: float,
    *,
    remedy: str = "",
) -> Snapshot:
    """The last snapshot `older_s` seconds later: every device stale, for this reason."""
    status = BackendStatus(
        name=HUB,
        vendor="",
        state=BackendState.UNAVAILABLE,
        reason="stale",
        message=trouble,
        remedy=remedy,
    )
    if snapshot is None:
        return Snapshot(time=wall, host=node, version=__version__, backends=(status,))
    views = tuple(_silenced(view, trouble, older_s) for view in snapshot.devices)
    failures = tuple(
        ReadFailure(backend=HUB, device_id=view.device.id, absence=Absence.STALE, message=trouble)
        for view in views
        if view.state is not DeviceState.LOST
    )
    return msgspec.structs.replace(
        snapshot,
        time=wall,
        devices=views,
        node=None if snapshot.node is None else _older(snapshot.node, older_s),
        backends=(*snapshot.backends, status),
        errors=(*snapshot.errors, *failures),
    )


def _silenced(view: DeviceView, trouble: str, older_s: float) -> DeviceView:
    older = _older(view, older_s)
    if view.state is DeviceState.LOST:
        return older
    since = view.state_since if view.sample_time is None else view.sample_time
    return msgspec.structs.replace(
        older,
        state=DeviceState.UNRESPONSIVE,
        state_since=since,
        reading=wholly_absent(view.device.id, Absence.STALE),
        health=Health.UNKNOWN,
        health_reasons=(trouble,),
    )


def _older(view: DeviceView, older_s: float) -> DeviceView:
    age = view.sample_age_s
    return view if age is None else msgspec.structs.replace(view, sample_age_s=age + older_s)
