"""A node of the fleet as a snapshot that says how old it is. Pure."""

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.schema.device import DeviceState
from accelwatch.schema.reading import wholly_absent
from accelwatch.schema.snapshot import DeviceView, Snapshot
from accelwatch.tui.drawing import format as fmt

# States that stay what they are when the node falls silent.
_LOST = (DeviceState.LOST, DeviceState.EXCLUDED)


class NodeStatus(msgspec.Struct, frozen=True, kw_only=True):
    """State and age of the node that is shown."""

    node: str
    # As it is shown: `stale` too when the hub has fallen silent.
    state: str
    age_s: float | None

    @property
    def live(self) -> bool:
        """Whether what is shown is of now."""
        return self.state in ("up", "slow")


def aged(snapshot: Snapshot, status: NodeStatus) -> Snapshot:
    """The snapshot; of a silent node with devices that are stale instead of their last values."""
    if status.live:
        return snapshot
    devices = tuple(_stale(view, status, snapshot.time) for view in snapshot.devices)
    return msgspec.structs.replace(snapshot, devices=devices)


def _stale(view: DeviceView, status: NodeStatus, now: float) -> DeviceView:
    if view.state in _LOST or not fmt.readable(view):
        return view
    return msgspec.structs.replace(
        view,
        state=DeviceState.UNRESPONSIVE,
        state_since=view.state_since if status.age_s is None else now - status.age_s,
        reading=wholly_absent(view.device.id, Absence.STALE),
        health_reasons=(f"no data from {status.node}",),
    )
