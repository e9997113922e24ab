"""What happened between one document and the next: states, events, processes that came and went."""

from typing import Any

import msgspec

from accelwatch.archive.blackbox.partial_document import Item, PartialDocument
from accelwatch.base.errors import WireError
from accelwatch.schema.device import BROKEN
from accelwatch.schema.display import duration
from accelwatch.schema.event import ErrorEvent, severity
from accelwatch.schema.json.plain import entries_of
from accelwatch.schema.status.device_status import state_label, state_severity
from accelwatch.schema.timestamps import unix_seconds

# Marks that are kept.
_MOST = 2000
_KERNEL = "kernel_log"
# (pid, when it began).
_Process = tuple[int, str]


class Marker(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened at a moment."""

    # Unix seconds.
    time: float
    # `state`, `kernel` (a line of the kernel's log), `event`, `start` or `end` (of a process).
    kind: str
    text: str
    # Names of those concerned; empty: the machine.
    devices: tuple[str, ...] = ()
    device_ids: tuple[str, ...] = ()
    # `critical`, `warning` or `info`.
    severity: str = "info"
    code: str = ""


class MarkerCollector:
    """Needs documents in the order of time."""

    def __init__(self) -> None:
        self._markers: list[Marker] = []
        self._states: dict[str, tuple[str, float]] = {}
        self._events: set[tuple[str, str, str]] = set()
        self._running: dict[_Process, dict[str, Any]] = {}
        self._on: dict[_Process, set[str]] = {}
        self._names: dict[str, str] = {}
        self._first = True

    def markers(self) -> list[Marker]:
        """In the order of time."""
        return sorted(self._markers, key=lambda marker: marker.time)

    def add(self, time: float, document: PartialDocument) -> None:
        """One document more."""
        self._names.update((item.id, item.name) for item in document.devices)
        for item in document.devices:
            self._state(time, item)
        for event in document.events:
            self._event(event)
        self._processes(time, document)
        self._first = False

    def _add_marker(
        self, time: float, kind: str, text: str, ids: tuple[str, ...], **more: str
    ) -> None:
        if len(self._markers) < _MOST:
            names = tuple(self._names.get(id_, id_) for id_ in ids)
            marker = Marker(time=time, kind=kind, text=text, devices=names, device_ids=ids, **more)
            self._markers.append(marker)

    def _state(self, time: float, item: Item) -> None:
        before, since = self._states.get(item.id, ("", time))
        if item.state == before or item.is_awaited:
            return
        self._states[item.id] = item.state, time
        if not before:
            return
        bad = item.state in BROKEN
        now, then = state_label(item.state), state_label(before)
        text = f"{now}, was {then}"
        if before in BROKEN and not bad:
            text = f"{now} again, {then} for {duration(time - since)}"
        loud = state_severity(item.state)
        self._add_marker(time, "state", text, (item.id,), severity=loud, code=item.state)

    def _event(self, raw: dict[str, Any]) -> None:
        key = (str(raw.get("code")), str(raw.get("device_id")), str(raw.get("time")))
        if key in self._events:
            return
        self._events.add(key)
        try:
            (event,) = entries_of([raw], ErrorEvent)
        except (ValueError, WireError):
            return
        kind = "kernel" if event.source == _KERNEL else "event"
        ids = (event.device_id,) if event.device_id else ()
        text = f"{event.code}: {event.text}" if event.text != event.code else event.code
        self._add_marker(event.time, kind, text, ids, severity=severity(event), code=event.code)

    def _processes(self, time: float, document: PartialDocument) -> None:
        unread = {
            item.id
            for item in document.devices
            if item.state in BROKEN or "processes" in item.absent or "*" in item.absent
        }
        now: dict[_Process, dict[str, Any]] = {}
        on: dict[_Process, set[str]] = {}
        for process in document.processes:
            key = (int(process.get("pid") or 0), str(process.get("start_time")))
            now[key] = process
            on.setdefault(key, set()).add(str(process.get("device_id")))
        for key, process in self._running.items():
            if key not in now and self._on[key] & unread:
                now[key], on[key] = process, self._on[key]  # nobody knows
        if not self._first:
            for key in now.keys() - self._running.keys():
                self._add_marker(
                    _start_time(time, now[key]),
                    "start",
                    _process_text(now[key]),
                    tuple(sorted(on[key])),
                )
            for key in self._running.keys() - now.keys():
                text = _process_text(self._running[key])
                self._add_marker(time, "end", text, tuple(sorted(self._on[key])))
        self._running, self._on = now, on


def _start_time(time: float, process: dict[str, Any]) -> float:
    """When a process began, if that is known and was lately; else when it was seen first."""
    try:
        started = unix_seconds(process["start_time"])
    except (KeyError, WireError):
        return time
    return started if 0 <= time - started < 60 else time


def _process_text(process: dict[str, Any]) -> str:
    command = process.get("command") or "a process"
    user = f", {process['user']}" if process.get("user") else ""
    return f"{command} (pid {process.get('pid')}{user})"
