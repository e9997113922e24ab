"""Sign, label and role of a device's class. Pure."""

from accelwatch.base.absence import Absence
from accelwatch.schema.device import DeviceState
from accelwatch.schema.snapshot import DeviceView
from accelwatch.schema.status.device_status import HOT, effective_state, state_label
from accelwatch.schema.status.heat import is_hot
from accelwatch.tui.drawing.glyphs import Glyphs

STATE_ROLES = {
    DeviceState.OK: "calm",
    DeviceState.DEGRADED: "warn",
    DeviceState.LOST: "bad",
    DeviceState.UNRESPONSIVE: "bad",
    DeviceState.SUSPENDED: "info",
    DeviceState.EXCLUDED: "dim",
}
_MORE_ROLES = {
    "failed": "bad",
    "missing": "bad",
    "stale": "warn",
    "unreachable": "warn",
    HOT: "warn",
}
# Roles in which the whole cell is painted.
FILLED = frozenset({"alarm", "caution"})


def device_class(view: DeviceView) -> str:
    """A device's class: `stale`, a status of `schema.status`, or `hot` where it is well."""
    if view.reading.absent.get(("*",)) is Absence.STALE:
        return "stale"
    status = effective_state(view.state.value, view.health.value)
    return HOT if status == "ok" and is_hot(view.reading.values) else status


def device_role(status: str) -> str:
    """The role a standing is painted in."""
    if status in _MORE_ROLES:
        return _MORE_ROLES[status]
    return STATE_ROLES[DeviceState(status)] if status in STATE_ROLES else "warn"


def filled_role(status: str) -> str:
    """The role of a standing in a map, where what is wrong with a device itself is a filled cell."""
    if status == DeviceState.DEGRADED:
        return "caution"
    role = device_role(status)
    return "alarm" if role == "bad" else role


def is_filled(status: str) -> bool:
    """Whether a standing is a filled cell in a map."""
    return filled_role(status) in FILLED


def device_glyph(status: str, glyphs: Glyphs) -> str:
    """The sign of a standing."""
    if status in glyphs.states:
        return glyphs.states[status]
    signs = {
        "stale": glyphs.stale,
        "failed": glyphs.failed,
        "missing": glyphs.missing,
        "unreachable": glyphs.unreachable,
        HOT: glyphs.hot,
    }
    return signs.get(status, glyphs.states[DeviceState.DEGRADED])


def device_status_text(status: str) -> str:
    """The standing as the dashboard says it."""
    return state_label(status)
