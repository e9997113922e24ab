"""Finds what has changed beside the numbers since a stream last sent it, and numbers error events.

Only events are compared more often than every few seconds, and nothing unchanged is sent.
"""

import math
from collections.abc import Mapping

from accelwatch.schema.event import ErrorEvent
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number, Process
from accelwatch.schema.snapshot import DeviceView, Snapshot
from accelwatch.schema.stream.context import (
    MAX_OWN,
    Backends,
    Context,
    Event,
    Findings,
    Own,
    event_message,
    identities,
    owners_message,
    processes_message,
)

# How often owners, findings and the set of processes are compared with what was sent.
CHECK_EVERY_S = 5.0
# How often processes are sent again of which only memory and load have changed.
NUMBERS_EVERY_S = 15.0
# Earlier events that a new stream sends.
BACKLOG = 64
# An event that replaces another in the store within this time is the same fault, better known.
SAME_FAULT_S = 5.0


_AT_ONCE = frozenset(
    {
        "collector_up",
        "collector_vanished_quantities",
        "collector_devices",
        "collector_devices_expected",
    }
)
# The series that an agent sends of itself.
_OWN = _AT_ONCE | {
    "collector_duration_seconds",
    "collector_last_success_timestamp_seconds",
    "collector_cycles_total",
    "collector_unavailable_quantities",
    "collector_device_series",
}


class EventNumbers:
    """Gives every event of a node its number; one for all streams of an agent."""

    def __init__(self) -> None:
        self._events: tuple[ErrorEvent, ...] = ()
        self._numbers: dict[_Name, int] = {}
        self._next = 0
        # The events that the store remembers, by number, oldest first.
        self.numbered: dict[int, ErrorEvent] = {}

    def assign(self, events: tuple[ErrorEvent, ...], time: float) -> None:
        """Number the events of the store, oldest first; numbers start at `time`, in Unix seconds."""
        if events == self._events:
            return
        self._events = events
        self._next = self._next or (int(time * 1000) if math.isfinite(time) else 1)
        named = _named(events)
        removed = {n: self.numbered[n] for name, n in self._numbers.items() if name not in named}
        numbers: dict[_Name, int] = {}
        for name, event in named.items():
            number = self._numbers.get(name) or _replaced(event, removed)
            if number is None:
                number, self._next = self._next, self._next + 1
            removed.pop(number, None)
            numbers[name] = number
        self._numbers = numbers
        self.numbered = dict(sorted((numbers[name], event) for name, event in named.items()))


# What distinguishes events; the last part counts those that are alike.
_Name = tuple[str, str, str, str, float, int]


def _named(events: tuple[ErrorEvent, ...]) -> dict[_Name, ErrorEvent]:
    by_name: dict[_Name, ErrorEvent] = {}
    for event in events:
        name = (event.code, event.device_id, event.subject, event.source, event.time, 0)
        while name in by_name:
            name = (*name[:-1], name[-1] + 1)
        by_name[name] = event
    return by_name


def _replaced(event: ErrorEvent, removed: Mapping[int, ErrorEvent]) -> int | None:
    """The number of the event that this event replaces since more is known."""
    for number, before in removed.items():
        if (
            before.code == event.code
            and before.device_id in ("", event.device_id)
            and abs(before.time - event.time) <= SAME_FAULT_S
        ):
            return number
    return None


class _Sent:
    """What a stream has sent of one device."""

    __slots__ = ("findings", "owners", "processes", "processes_at")

    def __init__(self) -> None:
        self.owners: tuple[object, ...] = ()
        self.findings: tuple[object, ...] = ((), ())
        self.processes: tuple[Process, ...] | None = None
        self.processes_at = 0.0


class ContextEncoder:
    """The messages of one stream beside its ticks."""

    def __init__(self, numbers: EventNumbers) -> None:
        self._numbers = numbers
        self._checked_at: float | None = None
        self._devices: dict[int, _Sent] = {}
        self._backends = Backends()
        self._own: dict[Series, Number] = {}
        self._own_at = 0.0
        self._events: dict[int, ErrorEvent] | None = None

    def messages(self, snapshot: Snapshot, slots: Mapping[str, int]) -> list[Context]:
        """What is new; `slots` are the devices that have a layout, by id."""
        messages: list[Context] = []
        if self._checked_at is None or abs(snapshot.time - self._checked_at) >= CHECK_EVERY_S:
            self._checked_at = snapshot.time
            self._check(snapshot, slots, messages)
        self._numbers.assign(snapshot.events, snapshot.time)
        if self._numbers.numbered is not self._events:
            messages += self._new_events(self._numbers.numbered)
        return messages

    def _new_events(self, now: dict[int, ErrorEvent]) -> list[Event]:
        before, self._events = self._events, now
        if before is None:
            return [event_message(*numbered) for numbered in list(now.items())[-BACKLOG:]]
        return [event_message(n, event) for n, event in now.items() if before.get(n) != event]

    def _check(self, snapshot: Snapshot, slots: Mapping[str, int], messages: list[Context]) -> None:
        backends = Backends(backends=snapshot.backends, errors=snapshot.errors)
        if backends != self._backends:
            self._backends = backends
            messages.append(backends)
        self._check_own(snapshot, messages)
        for view in (*snapshot.devices, snapshot.node) if snapshot.node else snapshot.devices:
            slot = slots.get(view.device.id)
            if slot is not None:
                self._device(slot, view, snapshot.time, messages)

    def _check_own(self, snapshot: Snapshot, messages: list[Context]) -> None:
        """Send our own series; those of times, which always differ, at `NUMBERS_EVERY_S` only."""
        own = {key: value for key, value in snapshot.own.items() if key[0] in _OWN}
        own = dict(list(own.items())[:MAX_OWN])
        before = self._own
        late = abs(snapshot.time - self._own_at) >= NUMBERS_EVERY_S
        if own == before or not (late or _prompt_values(own) != _prompt_values(before)):
            return
        self._own, self._own_at = own, snapshot.time
        series = () if own.keys() == before.keys() else tuple(own)
        values = own if series else {key: own[key] for key in before}
        self._own = dict(values)
        messages.append(Own(series=series, values=tuple(values.values())))

    def _device(self, slot: int, view: DeviceView, now: float, messages: list[Context]) -> None:
        sent = self._devices.get(slot)
        if sent is None:
            sent = self._devices[slot] = _Sent()
        if view.owners != sent.owners:
            sent.owners = view.owners
            messages.append(owners_message(slot, view.owners))
        findings = (view.health_reasons, view.event_counts)
        if findings != sent.findings:
            sent.findings = findings
            messages.append(
                Findings(slot=slot, health_reasons=findings[0], event_counts=findings[1])
            )
        processes = view.reading.processes
        if processes is not None and _worth_telling(sent, processes, now):
            sent.processes, sent.processes_at = processes, now
            messages.append(processes_message(slot, processes))


def _prompt_values(own: Mapping[Series, Number]) -> dict[Series, Number]:
    """What is sent as soon as it changes: which series there are, and whether collecting goes well."""
    return {key: value if key[0] in _AT_ONCE else 0 for key, value in own.items()}


def _worth_telling(sent: _Sent, processes: tuple[Process, ...], now: float) -> bool:
    if processes == sent.processes:
        return False
    if abs(now - sent.processes_at) >= NUMBERS_EVERY_S:
        return True
    return identities(processes) != identities(sent.processes)
