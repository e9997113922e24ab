"""What happened between one document and the next: states, events, processes that came and went."""

from typing import Any

import msgspec

from accelwatch.archive.blackbox.glimpse import Document, Item
from accelwatch.base.errors import WireError
from accelwatch.exposition.display import duration
from accelwatch.schema.device import BROKEN
from accelwatch.schema.event import ErrorEvent, severity
from accelwatch.schema.moments import unix_seconds
from accelwatch.schema.plain import parts_of
from accelwatch.schema.standing import state_severity, state_word

_MOST = 2000
"""Marks that are kept."""
_KERNEL = "kernel_log"
_Process = tuple[int, str]
"""(pid, when it began)."""


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened at a moment."""

    time: float
    """Unix seconds."""
    kind: str
    """`state`, `kernel` (a line of the kernel's log), `event`, `start` or `end` (of a process)."""
    text: str
    devices: tuple[str, ...] = ()
    """Names of those concerned; empty: the machine."""
    device_ids: tuple[str, ...] = ()
    severity: str = "info"
    """`critical`, `warning` or `info`."""
    code: str = ""


class Marking:
    """Takes documents in the order of time."""

    def __init__(self) -> None:
        self._marks: list[Mark] = []
        self._states: dict[str, tuple[str, float]] = {}
        self._events: set[tuple[str, str, str]] = set()
        self._running: dict[_Process, dict[str, Any]] = {}
        self._on: dict[_Process, set[str]] = {}
        self._names: dict[str, str] = {}
        self._first = True

    def marks(self) -> list[Mark]:
        """In the order of time."""
        return sorted(self._marks, key=lambda mark: mark.time)

    def add(self, time: float, document: Document) -> None:
        """One document more."""
        self._names.update((item.id, item.name) for item in document.devices)
        for item in document.devices:
            self._state(time, item)
        for event in document.events:
            self._event(event)
        self._processes(time, document)
        self._first = False

    def _put(self, time: float, kind: str, text: str, ids: tuple[str, ...], **more: str) -> None:
        if len(self._marks) < _MOST:
            names = tuple(self._names.get(id_, id_) for id_ in ids)
            mark = Mark(time=time, kind=kind, text=text, devices=names, device_ids=ids, **more)
            self._marks.append(mark)

    def _state(self, time: float, item: Item) -> None:
        before, since = self._states.get(item.id, ("", time))
        if item.state == before or item.is_awaited:
            return
        self._states[item.id] = item.state, time
        if not before:
            return
        bad = item.state in BROKEN
        now, then = state_word(item.state), state_word(before)
        text = f"{now}, was {then}"
        if before in BROKEN and not bad:
            text = f"{now} again, {then} for {duration(time - since)}"
        loud = state_severity(item.state)
        self._put(time, "state", text, (item.id,), severity=loud, code=item.state)

    def _event(self, told: dict[str, Any]) -> None:
        key = (str(told.get("code")), str(told.get("device_id")), str(told.get("time")))
        if key in self._events:
            return
        self._events.add(key)
        try:
            (event,) = parts_of([told], ErrorEvent)
        except (ValueError, WireError):
            return
        kind = "kernel" if event.source == _KERNEL else "event"
        ids = (event.device_id,) if event.device_id else ()
        text = f"{event.code}: {event.text}" if event.text != event.code else event.code
        self._put(event.time, kind, text, ids, severity=severity(event), code=event.code)

    def _processes(self, time: float, document: Document) -> None:
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
                self._put(_begun(time, now[key]), "start", _words(now[key]), tuple(sorted(on[key])))
            for key in self._running.keys() - now.keys():
                text = _words(self._running[key])
                self._put(time, "end", text, tuple(sorted(self._on[key])))
        self._running, self._on = now, on


def _begun(time: float, process: dict[str, Any]) -> float:
    """When a process began, if that is known and was lately; else when it was seen first."""
    try:
        began = unix_seconds(process["start_time"])
    except (KeyError, WireError):
        return time
    return began if 0 <= time - began < 60 else time


def _words(process: dict[str, Any]) -> str:
    command = process.get("command") or "a process"
    user = f", {process['user']}" if process.get("user") else ""
    return f"{command} (pid {process.get('pid')}{user})"
