"""What has happened in a fleet: the hub's event of a state and that of its end are one change.

What is not well without an event goes on too, such as what was so before the hub began.
"""

from collections.abc import Hashable, Mapping, Sequence

import msgspec

from accelwatch.fleet.picture.model import FleetView
from accelwatch.fleet.wire import FleetEvent
from accelwatch.schema.device import DeviceState
from accelwatch.schema.event import RECOVERED, SEVERITIES
from accelwatch.schema.status.device_status import state_label
from accelwatch.schema.status.verdict import REMEDIES, remedy_of
from accelwatch.tui.events.changes import Change, in_order
from accelwatch.tui.events.unhealthy import unhealthy_changes

# Codes of a hub's events for a state that has started.
_LABELS = {
    "device_lost": "lost",
    "device_unresponsive": "hung",
    "device_degraded": "degraded",
    "device_missing": "missing",
    "node_stale": "stale",
    "node_down": "down",
}
_BACK = "back"
# States about which something can be done, by what they are called.
_STATES = {state_label(state): state for state in REMEDIES}
# A node, and a device of it by its id.
_Subject = tuple[str, str]


def event_label(code: str) -> str:
    """What a code is called: the state that began, `back` where one ended, else the code itself."""
    return _BACK if code in RECOVERED else _LABELS.get(code, code)


# A start computed from an age, and nearer than this to the one reported before, is the same.
_SAME_S = 2.0


class FleetChanges:
    """Computes the changes anew with each tick, those of events when the events differ."""

    def __init__(self) -> None:
        self._events: Sequence[FleetEvent] = ()
        self._reported: list[Change] = []
        self._view: FleetView | None = None
        self._rows: list[Change] = []
        self._started: dict[Hashable, float] = {}

    def rows(self, view: FleetView | None) -> list[Change]:
        """Of a tick, in the order of `in_order`; none before the first."""
        if view is not None and view is not self._view:
            if view.events is not self._events:
                self._events, self._reported = view.events, changes(view.events)
            health = _health_of_unresponsive(view)
            rows = [*self._reported, *self._ongoing(view)]
            self._view, self._rows = view, in_order(_with_remedy(change, health) for change in rows)
        return self._rows

    def _ongoing(self, view: FleetView) -> list[Change]:
        reported = {
            (change.node, change.device_id) for change in self._reported if change.is_ongoing
        }
        ongoing = [self._steady(change) for change in unhealthy_changes(view, reported)]
        self._started = {change.key: change.started_at for change in ongoing}
        return ongoing

    def _steady(self, change: Change) -> Change:
        before = self._started.get(change.key, change.started_at)
        started = before if abs(change.started_at - before) < _SAME_S else change.started_at
        return msgspec.structs.replace(change, started_at=started)


def _health_of_unresponsive(view: FleetView) -> dict[_Subject, str]:
    return {
        (device.node, device.id): now.health
        for now in view.devices
        if now.state == DeviceState.UNRESPONSIVE and (device := view.slots[now.slot]) is not None
    }


def _with_remedy(change: Change, health: Mapping[_Subject, str]) -> Change:
    """With what to do about a device's state; no event says whether the device is at fault."""
    state = _STATES.get(change.label)
    if state is None or not change.is_ongoing or not change.device_id:
        return change
    reported_health = health.get((change.node, change.device_id))
    if state == DeviceState.UNRESPONSIVE and reported_health is None:
        return change
    return msgspec.structs.replace(change, remedy=remedy_of(state, reported_health or ""))


def changes(events: Sequence[FleetEvent]) -> list[Change]:
    """A change for each event; an event of an end completes the change that it ends."""
    collected: list[Change] = []
    indices: dict[tuple[str, str], int] = {}
    for event in events:
        subject = event.node, event.device
        is_end = event.code in RECOVERED
        is_start = event.code in _LABELS
        if (is_end or is_start) and (index := indices.pop(subject, None)) is not None:
            collected[index] = msgspec.structs.replace(collected[index], resolved_at=event.time)
            if is_end:
                continue
        if is_start:
            indices[subject] = len(collected)
        collected.append(_change(event, is_start=is_start))
    return collected


def _change(event: FleetEvent, *, is_start: bool) -> Change:
    doubt = "" if event.trusted else " (written by user space)"
    return Change(
        key=(event.sequence, event.time, event.node, event.device, event.code),
        label=event_label(event.code),
        started_at=event.time,
        event=not is_start,
        severity=event.severity if event.severity in SEVERITIES else "info",
        node=event.node,
        device_id=event.device,
        name=event.name,
        text=event.text + doubt,
    )
