"""A collector on a manual clock, stepped by hand, over a backend that a test holds back and fails."""

import threading
import time
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Any, ClassVar, TypeVar

import msgspec

from accelwatch.backend import Context, Opened, Probe, Request
from accelwatch.base.absence import Absence
from accelwatch.base.clock import ManualClock
from accelwatch.node.sampler.collector import Collector
from accelwatch.node.sampler.protocol.settings import CollectSettings, QuarantinedComponent
from accelwatch.node.sampler.turns.messages import Message, Stop
from accelwatch.node.store.reports import (
    Called,
    Cycle,
    EncodedOutcome,
    Noted,
    Outcome,
    Report,
    Returned,
    Written,
)
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Reading
from support.processes.waiting import GUARD_S

_Kind = TypeVar("_Kind")


def step_until(
    collector: Collector, condition: Callable[[], object], *, in_turn: bool = False
) -> None:
    """Step until the condition is true; after a minute the test fails.

    `in_turn`: however long this machine keeps a turn waiting, the loop sees none that takes long.
    """
    pause = threading.Event()
    end = time.monotonic() + GUARD_S
    while not condition():
        assert time.monotonic() < end, "it did not come true"
        # A step that waits in vain begins what stands behind a turn that takes long.
        collector.step(0.0 if in_turn else 0.01)
        if in_turn:
            pause.wait(0.001)


class Scripted:
    """A backend whose reads a test holds back, fails and counts."""

    name = "scripted"
    vendor = "scripted"

    def __init__(self, devices: int = 1, *, serial: bool = False) -> None:
        self.serial = serial
        self.devices = devices
        self.reads: list[tuple[str, bool]] = []
        self.identified: list[str] = []
        self.gates: dict[str, threading.Event] = {}
        self.error: Exception | None = None
        self.discover_error: Exception | None = None
        self.uuid: str | None = None
        self.opened = self.closed = 0

    def probe(self) -> Probe:
        return Probe(present=True)

    def open(self) -> Opened:
        self.opened += 1
        return Opened(source="script")

    def discover(self) -> Sequence[Device]:
        if self.discover_error is not None:
            raise self.discover_error
        return [
            Device(id=f"s:{n}", vendor="scripted", backend="scripted", index=n, name=f"s{n}")
            for n in range(self.devices)
        ]

    def identify(self, device: Device) -> Sequence[Device]:
        self.identified.append(device.id)
        return [msgspec.structs.replace(device, uuid=self.uuid)]

    def read(self, device: Device, request: Request) -> Sequence[Reading]:
        self.reads.append((device.id, request.slow))
        if device.id in self.gates:
            self.gates[device.id].wait(GUARD_S)
        if self.error is not None:
            raise self.error
        return [Reading(device_id=device.id, values={("power_watts",): 1.0})]

    def close(self) -> None:
        self.closed += 1


class Searching(Scripted):
    """A backend whose search for processes a test holds back."""

    def __init__(self, *, serial: bool = False) -> None:
        super().__init__(serial=serial)
        self.search = threading.Event()
        self.searching = threading.Event()
        self.searches: list[bool] = []
        self.gates["search"] = self.search

    def read(self, device: Device, request: Request) -> Sequence[Reading]:
        self.searches.append(request.processes)
        numbers = Reading(device_id=device.id, values={("power_watts",): 1.0})
        if not request.processes:
            return [numbers]
        request.numbers([numbers])
        self.searching.set()
        self.search.wait(GUARD_S)
        self.searching.clear()
        return [msgspec.structs.replace(numbers, processes=())]


class Rig:
    """A collector stepped by hand."""

    built: ClassVar[list["Rig"]] = []

    def __init__(
        self,
        backend: Scripted,
        quarantined: tuple[QuarantinedComponent, ...] = (),
        timeout_s: float = 0.5,
        absent: Callable[[str], str] | None = None,
        **more: Any,
    ) -> None:
        self.clock = ManualClock()
        self.reports: list[Report | Noted] = []
        self.backend = backend
        self.gates = tuple(backend.gates.values())
        self.built.append(self)
        settings = CollectSettings(
            backends=("scripted",),
            timeout_s=timeout_s,
            rediscover_s=10.0,
            slow_every_s=5.0,
            **more,
        )
        self.loaded = 0
        self.collector = Collector(
            settings,
            {"scripted": self._load},
            self._receive,
            self.clock,
            note=self._receive,
            environ={},
            absent=absent,
        )
        self._start(quarantined)

    def _start(self, quarantined: tuple[QuarantinedComponent, ...]) -> None:
        self.collector.start(quarantined)

    def _load(self) -> Callable[[Context], Scripted]:
        self.loaded += 1
        return self._build

    def _build(self, context: Context) -> Scripted:
        return self.backend

    def _receive(self, report: Written | Noted) -> None:
        self.reports.append(report.decoded() if isinstance(report, EncodedOutcome) else report)

    def until(self, condition: Callable[[], object], *, in_turn: bool = False) -> None:
        step_until(self.collector, condition, in_turn=in_turn)

    def until_all_returned(self) -> None:
        """Take in the answer of every call that is out, however late it is."""
        self.until(lambda: len(self.of(Returned)) == len(self.of(Called)))

    def of(self, kind: type[_Kind]) -> list[_Kind]:
        return [report for report in self.reports if isinstance(report, kind)]

    def cycles(self) -> list[str]:
        return [report.result for report in self.reports if isinstance(report, Cycle)]

    def outcomes(self) -> list[tuple[str, Absence | None]]:
        return [
            (report.slot, report.failure.absence if report.failure else None)
            for report in self.reports
            if isinstance(report, Outcome)
        ]

    def tick(self, seconds: float = 1.0, *, in_turn: bool = False) -> None:
        """Let time pass, then have one more cycle end."""
        ended = len(self.cycles())
        self.clock.advance(seconds)
        self.until(lambda: len(self.cycles()) > ended, in_turn=in_turn)

    def first_cycle(self, *, in_turn: bool = False) -> None:
        self.until(self.cycles, in_turn=in_turn)


class Awaited(SimpleQueue[Message]):
    """An inbox that notes how long it is waited on, and ends the loop when it was waited on once."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: list[float | None] = []

    def get(self, block: bool = True, timeout: float | None = None) -> Message:
        self.waits.append(timeout)
        return Stop()

    def get_nowait(self) -> Message:
        return self.get(timeout=0.0)


def waited(collector: Collector) -> list[float | None]:
    """How long its loop waits for a message."""
    inbox, awaited = collector.inbox, Awaited()
    collector.inbox = awaited
    collector.run()
    collector.inbox = inbox
    return awaited.waits
