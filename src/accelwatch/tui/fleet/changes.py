"""What has happened in a fleet: what the hub tells of a state, and of its end, is one change.

What is not well without an event goes on too, such as what was so before the hub began.
"""

from collections.abc import Hashable, Mapping, Sequence

import msgspec

from accelwatch.fleet.picture.model import FleetView
from accelwatch.fleet.wire import FleetEvent
from accelwatch.schema.device import DeviceState
from accelwatch.schema.event import RECOVERED, SEVERITIES
from accelwatch.schema.standing import state_word
from accelwatch.schema.verdict import REMEDIES, remedy_of
from accelwatch.tui.fleet.unwell import unwell
from accelwatch.tui.local.changes import Change, in_order

_WORDS = {
    "device_lost": "lost",
    "device_unresponsive": "hung",
    "device_degraded": "degraded",
    "device_missing": "missing",
    "node_stale": "stale",
    "node_down": "down",
}
"""Codes by which a hub tells that a state has begun."""
_BACK = "back"
_STATES = {state_word(state): state for state in REMEDIES}
"""States about which something can be done, by what they are called."""
_Subject = tuple[str, str]
"""A node, and a device of it by its id."""


def event_word(code: str) -> str:
    """What a code is called: the state that began, `back` where one ended, else the code itself."""
    return _BACK if code in RECOVERED else _WORDS.get(code, code)


_SAME_S = 2.0
"""A beginning worked out from an age, and nearer than this to the one told before, is the same."""


class FleetChanges:
    """Works the changes out again with each tick, those of events when others are told."""

    def __init__(self) -> None:
        self._events: Sequence[FleetEvent] = ()
        self._told: list[Change] = []
        self._view: FleetView | None = None
        self._rows: list[Change] = []
        self._begun: dict[Hashable, float] = {}

    def rows(self, view: FleetView | None) -> list[Change]:
        """Of a tick, in the order of `in_order`; none before the first."""
        if view is not None and view is not self._view:
            if view.events is not self._events:
                self._events, self._told = view.events, changes(view.events)
            health = _health_of_unresponsive(view)
            rows = [*self._told, *self._standing(view)]
            self._view, self._rows = view, in_order(_with_remedy(one, health) for one in rows)
        return self._rows

    def _standing(self, view: FleetView) -> list[Change]:
        told = {(one.node, one.device_id) for one in self._told if one.goes_on}
        standing = [self._steady(one) for one in unwell(view, told)]
        self._begun = {one.key: one.began for one in standing}
        return standing

    def _steady(self, change: Change) -> Change:
        before = self._begun.get(change.key, change.began)
        began = before if abs(change.began - before) < _SAME_S else change.began
        return msgspec.structs.replace(change, began=began)


def _health_of_unresponsive(view: FleetView) -> dict[_Subject, str]:
    return {
        (place.node, place.id): now.health
        for now in view.devices
        if now.state == DeviceState.UNRESPONSIVE and (place := view.places[now.slot]) is not None
    }


def _with_remedy(change: Change, health: Mapping[_Subject, str]) -> Change:
    """With what to do about a device's state; no event tells whether the device is at fault."""
    state = _STATES.get(change.word)
    if state is None or not change.goes_on or not change.device_id:
        return change
    known = health.get((change.node, change.device_id))
    if state == DeviceState.UNRESPONSIVE and known is None:
        return change
    return msgspec.structs.replace(change, remedy=remedy_of(state, known or ""))


def changes(events: Sequence[FleetEvent]) -> list[Change]:
    """A change for each event but those that tell an end, which is put where it belongs."""
    known: list[Change] = []
    places: dict[tuple[str, str], int] = {}
    for event in events:
        subject = event.node, event.device
        ends = event.code in RECOVERED
        begins = event.code in _WORDS
        if (ends or begins) and (place := places.pop(subject, None)) is not None:
            known[place] = msgspec.structs.replace(known[place], ended=event.time)
            if ends:
                continue
        if begins:
            places[subject] = len(known)
        known.append(_change(event, begins=begins))
    return known


def _change(event: FleetEvent, *, begins: bool) -> Change:
    doubt = "" if event.trusted else " (written by user space)"
    return Change(
        key=(event.sequence, event.time, event.node, event.device, event.code),
        word=event_word(event.code),
        began=event.time,
        event=not begins,
        severity=event.severity if event.severity in SEVERITIES else "info",
        node=event.node,
        device_id=event.device,
        name=event.name,
        text=event.text + doubt,
    )
