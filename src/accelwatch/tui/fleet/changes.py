"""The events of a fleet as changes: what the hub tells of a state, and of its end, is one. Pure."""

from collections.abc import Sequence

import msgspec

from accelwatch.fleet.wire import FleetEvent
from accelwatch.schema.event import RECOVERED, SEVERITIES
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


def event_word(code: str) -> str:
    """What a code is called: the state that began, `back` where one ended, else the code itself."""
    return _BACK if code in RECOVERED else _WORDS.get(code, code)


class FleetChanges:
    """Works the changes out again when other events are told."""

    def __init__(self) -> None:
        self._of: Sequence[FleetEvent] = ()
        self._rows: list[Change] = []

    def rows(self, events: Sequence[FleetEvent]) -> list[Change]:
        """Of events, oldest first, in the order of `in_order`."""
        if events is not self._of:
            self._of, self._rows = events, in_order(changes(events))
        return self._rows


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
