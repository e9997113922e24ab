"""What freezes the black box: a device that is lost or hangs, and a fatal event. Pure."""

import msgspec

from accelwatch.schema.device import BROKEN, DeviceState
from accelwatch.schema.event import Category, ErrorEvent, severity
from accelwatch.schema.snapshot import DeviceView, Snapshot

# Categories of which no code freezes, unless it is fatal.
_NON_FREEZING = frozenset({Category.APPLICATION, Category.THERMAL, Category.POWER})
_XID = ("xid_", "sxid_")
# The reason of a freeze after a machine that went down without a clean stop.
MACHINE_DOWN = "machine_down"
# An event first reported so long after it happened, at the start perhaps, is an old one.
_LATE_S = 30.0


class Trigger(msgspec.Struct, frozen=True, kw_only=True):
    """A moment that is worth keeping."""

    # Unix seconds.
    time: float
    # `lost`, `unresponsive`, `machine_down`, or the code of an event such as `xid_79`.
    reason: str
    # Empty: the machine's.
    device_id: str = ""
    # Its name on the machine, such as `nvidia3`.
    device: str = ""
    text: str = ""


class Watch:
    """Reads snapshots in the order of time and finds what has started since the one before."""

    def __init__(self) -> None:
        self._states: dict[str, DeviceState] | None = None
        self._events: frozenset[tuple[str, str, float]] = frozenset()

    def detect_triggers(self, snapshot: Snapshot) -> list[Trigger]:
        """The triggers of this snapshot, oldest first; none for what was so from the beginning."""
        before, previous = self._states, self._events
        self._states = {view.device.id: view.state for view in snapshot.devices}
        self._events = frozenset(map(_key, snapshot.events))
        if before is None:
            return []
        names = {view.device.id: view.device.name for view in snapshot.devices}
        triggers = [
            _broken(view)
            for view in snapshot.devices
            if view.state in BROKEN and before.get(view.device.id, view.state) not in BROKEN
        ]
        triggers += [
            _event_trigger(event, names.get(event.device_id, ""))
            for event in snapshot.events
            if _key(event) not in previous
            and freezes(event)
            and snapshot.time - event.time < _LATE_S
        ]
        return sorted(triggers, key=lambda trigger: trigger.time)


def freezes(event: ErrorEvent) -> bool:
    """Whether an event is fatal, or an Xid that is not an application's own."""
    if not event.trusted:
        return False
    if severity(event) == "critical":
        return True
    return event.code.startswith(_XID) and event.category not in _NON_FREEZING


def _key(event: ErrorEvent) -> tuple[str, str, float]:
    return event.code, event.device_id, event.time


def _broken(view: DeviceView) -> Trigger:
    return Trigger(
        time=view.state_since,
        reason=view.state.value,
        device_id=view.device.id,
        device=view.device.name,
        text=", ".join(view.health_reasons),
    )


def _event_trigger(event: ErrorEvent, name: str) -> Trigger:
    return Trigger(
        time=event.time, reason=event.code, device_id=event.device_id, device=name, text=event.text
    )
