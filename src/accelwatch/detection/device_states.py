"""Words for the state of a device, of a node and of a fleet, as the detector distinguishes them."""

from accelwatch.detection.frame import DeviceState

DEVICE_STATES: dict[str, DeviceState] = {
    "ok": DeviceState.READ,
    "degraded": DeviceState.DEGRADED,
    "unresponsive": DeviceState.UNREADABLE,
    "lost": DeviceState.LOST,
    "missing": DeviceState.LOST,
    "suspended": DeviceState.AWAY,
    "excluded": DeviceState.AWAY,
    "stale": DeviceState.STALE,
    "unreachable": DeviceState.STALE,
}
