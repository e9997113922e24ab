"""The kernel log as a source of events. It has no devices; who an event is about is in its subject."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from accelwatch.backend import Check, Context, Opened, Option, Probe, Request, Support
from accelwatch.backend.errors import BackendUnavailable
from accelwatch.base.absence import Absence
from accelwatch.base.errors import ReadError
from accelwatch.schema.device import Device
from accelwatch.schema.event import ErrorEvent
from accelwatch.schema.reading import Reading
from accelwatch.system.kernel.sysfs import read_text
from accelwatch_kernel_log.device import REMEDY, LogDevice, LogLost, may_read, open_kmsg
from accelwatch_kernel_log.interpreter import Interpreter, overrun
from accelwatch_kernel_log.position import Position, PositionStore
from accelwatch_kernel_log.record import Framer, Record

# Reads in one call, so that a flood of messages cannot hold the caller.
_MAX_READS = 2000
_MAX_HISTORY = 1_000_000
_SAVE_EVERY_S = 30.0


class KernelLogBackend:
    """Reads /dev/kmsg from where the last run of this boot stopped.

    Options: `accept_user_kmsg` (trust records that user space wrote; for tests), `backlog` (report the
    messages from before the first start in this boot as events too).
    """

    name = "kernel_log"
    vendor = "kernel"
    serial = False
    options = (
        Option("accept_user_kmsg"),
        Option("backlog"),
    )
    support = Support(
        vendor="kernel log",
        source="/dev/kmsg: Xid, SXid, RAS, hangs, resets, NFS, disk, PCIe errors",
        tested_with="recorded kernel lines of all vendors",
    )

    def __init__(self, context: Context, open_log: Callable[[Path], LogDevice] = open_kmsg) -> None:
        self._context = context
        self._open_log = open_log
        self._path = context.root / "dev/kmsg"
        self._log: LogDevice | None = None
        self._store = PositionStore(None if context.one_shot else context.state_dir)
        self._framer = Framer()
        self._interpreter = Interpreter()
        self._boot_id = ""
        self._sequence: int | None = None
        self._lost = False
        self._unsaved = self._urgent = False
        self._saved_at = 0.0
        self._pending: list[Record] = []

    def probe(self) -> Probe:
        """Look for the device and for the permission to read it."""
        present = self._path.exists()
        readable = present and os.access(self._path, os.R_OK) and may_read(self._context.root)
        finding = "readable" if readable else "not readable" if present else "missing"
        remedy = REMEDY if present and not readable else ""
        check = Check(subject=str(self._path), ok=readable, found=finding, remedy=remedy)
        return Probe(present=present, checks=(check,))

    def open(self) -> Opened:
        """Open the log and skip what was read before. Raises BackendUnavailable."""
        self.close()
        options = self._context.options
        self._interpreter = Interpreter(accept_user=bool(options.get("accept_user_kmsg", False)))
        self._framer = Framer()
        boot_id = read_text(self._context.root / "proc/sys/kernel/random/boot_id")
        self._boot_id = "" if isinstance(boot_id, Absence) else boot_id
        self._sequence, self._lost, self._pending = None, False, []
        self._log = self._open_log(self._path)
        if not self._context.one_shot:
            try:
                self._skip_history()
            except ReadError as error:
                self.close()
                raise BackendUnavailable(str(error), reason="error") from error
        release = read_text(self._context.root / "proc/sys/kernel/osrelease")
        versions = {} if isinstance(release, Absence) else {"kernel": release}
        return Opened(source="kmsg", versions=versions)

    def _skip_history(self) -> None:
        now = self._context.clock.wall()
        booted = self._boot_time(now)
        # Where the time of the boot is not known, a damaged file may be of this one.
        stored = self._store.load(booted if booted < now else 0.0)
        resumable = stored if stored and self._boot_id and stored.boot_id == self._boot_id else None
        keep_all = bool(self._context.options.get("backlog", False)) and resumable is None
        if resumable is not None:
            self._sequence = resumable.sequence
        for _ in range(_MAX_HISTORY):
            records = self._next_records()
            if records is None:
                break
            for record in records:
                if record.sequence > resumable.sequence if resumable is not None else keep_all:
                    self._pending.append(record)
                    continue
                self._interpreter.learn(record)
                if resumable is None:
                    self._sequence = record.sequence
        self._lost = resumable is not None and self._lost
        self._unsaved = self._urgent = self._sequence is not None
        self._save()

    def _next_records(self) -> list[Record] | None:
        """Records of the next read; None when there is nothing to read now."""
        if self._log is None:
            return None
        try:
            piece = self._log.read()
        except LogLost:
            self._framer.reset()
            self._lost = True
            return []
        except OSError as error:
            message = f"{self._path}: {error.strerror}"
            raise ReadError(message, code=str(error.errno)) from error
        return list(self._framer.feed(piece)) if piece else None

    def wait_events(self, timeout_s: float) -> Sequence[ErrorEvent]:
        """Block up to `timeout_s` seconds for events. Raises ReadError when the log cannot be read."""
        if self._log is None or self._context.one_shot:
            return ()
        self._save()
        records, self._pending = self._pending, []
        if not records:
            self._log.wait(timeout_s)
        for _ in range(_MAX_READS):
            try:
                more = self._next_records()
            except ReadError:
                if not records:
                    raise
                break
            if more is None:
                break
            records.extend(more)
        return self._events(records)

    def _events(self, records: list[Record]) -> list[ErrorEvent]:
        events: list[ErrorEvent] = []
        if not records and not self._interpreter.is_waiting:
            return events
        now = self._context.clock.wall()
        boot_time = self._boot_time(now)
        if not records:
            events.extend(self._interpreter.flush(boot_time, now))
        for record in records:
            events.extend(self._gap(record, now))
            events.extend(self._interpreter.events(record, boot_time, now))
            self._sequence = record.sequence
        self._unsaved = self._unsaved or bool(records)
        self._urgent = self._urgent or bool(events)
        return events

    def _gap(self, record: Record, now: float) -> list[ErrorEvent]:
        expected = None if self._sequence is None else self._sequence + 1
        lost = max(0, record.sequence - expected) if expected is not None else 0
        if not lost and not self._lost:
            return []
        self._lost = False
        return [overrun(lost, now)]

    def _boot_time(self, now: float) -> float:
        """Unix seconds of the boot as the clock stands now; `now` where /proc/uptime cannot be read."""
        text = read_text(self._context.root / "proc/uptime")
        if isinstance(text, Absence):
            return now
        try:
            return now - float(text.split()[0])
        except (ValueError, IndexError):
            return now

    def _save(self) -> None:
        """Keep the position of what the caller has; at once after events, else now and then."""
        now = self._context.clock.monotonic()
        due = self._urgent or now - self._saved_at >= _SAVE_EVERY_S
        if not self._unsaved or not due or self._sequence is None or not self._boot_id:
            return
        if self._interpreter.is_waiting:  # read again after a restart, or its event would be lost
            return
        self._store.save(Position(boot_id=self._boot_id, sequence=self._sequence))
        self._saved_at, self._unsaved, self._urgent = now, False, False

    def discover(self) -> Sequence[Device]:
        """No devices: what a message is about is resolved from its subject."""
        return ()

    def identify(self, device: Device) -> Sequence[Device]:
        """The device as it is."""
        return (device,)

    def read(self, device: Device, request: Request) -> Sequence[Reading]:  # noqa: ARG002
        """Nothing: this backend has events only."""
        return ()

    def close(self) -> None:
        """Keep the position and close the log."""
        if self._log is not None:
            self._urgent = True
            self._save()
            self._log.close()
            self._log = None
