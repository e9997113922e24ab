"""Xid events through an NVML event set, waited for on a thread of their own."""

import ctypes
import threading
from collections.abc import Iterable, Sequence
from typing import Any

from accelwatch.base.clock import Clock
from accelwatch.schema.device import Device
from accelwatch.schema.event import ErrorEvent
from accelwatch.system.kernel import xid
from accelwatch_nvidia import returns
from accelwatch_nvidia.nvml.library import Handle
from accelwatch_nvidia.nvml.nvml import Nvml, code_of

# nvmlEventTypeXidCriticalError (nvml.h).
XID_EVENT = 0x8
# GPU or compute instance id of an event that concerns none (nvml.h).
NO_INSTANCE = 0xFFFF_FFFF
_MAX_BURST = 64


def handle_key(handle: Handle) -> int:
    """A number for an opaque handle, so that an event's device can be found."""
    if isinstance(handle, int):
        return handle
    return ctypes.cast(handle, ctypes.c_void_p).value or 0


def to_event(data: Any, devices: dict[int, Device], time: float) -> ErrorEvent:
    """The event of an nvmlEventData_t; an unknown handle leaves it without a device."""
    number = int(data.eventData)
    device = devices.get(handle_key(data.device))
    category, meaning = xid.describe(number)
    detail: dict[str, str] = {}
    for name in ("gpuInstanceId", "computeInstanceId"):
        instance = int(getattr(data, name))
        if instance != NO_INSTANCE:
            key = "gpu_instance" if name.startswith("gpu") else "compute_instance"
            detail[key] = str(instance)
    return ErrorEvent(
        code=f"xid_{number}",
        category=category,
        time=time,
        text=f"Xid {number}: {meaning}",
        source="nvml",
        device_id=device.id if device else "",
        subject=(device.pci_bus_id or "") if device else "",
        detail=detail,
    )


class EventWaiter:
    """One event set over all opened GPUs; registers each GPU when it is first seen."""

    def __init__(self, nvml: Nvml, clock: Clock) -> None:
        self._nvml = nvml
        self._clock = clock
        self._set: Handle | None = None
        self._generation = 0
        self._registered: dict[int, Device] = {}
        self._refused: set[int] = set()
        # All that were opened when the last of them was registered or refused for good.
        self._settled: list[tuple[Device, Handle]] = []
        self._stopped = threading.Event()
        # Held while the event set is in use, so that it is not freed under a waiting call.
        self._busy = threading.Lock()

    def wait(
        self, timeout_s: float, opened: Iterable[tuple[Device, Handle]]
    ) -> Sequence[ErrorEvent]:
        """Events that come within `timeout_s`; empty when none came or none can come."""
        with self._busy:
            if self._stopped.is_set():
                return ()
            self._register(opened)
            if not self._registered:
                self._stopped.wait(timeout_s)
                return ()
            return self._collect(timeout_s)

    def _register(self, opened: Iterable[tuple[Device, Handle]]) -> None:
        library = self._nvml.library
        if self._generation != self._nvml.generation:
            self._set, self._registered, self._refused = None, {}, set()
            self._generation = self._nvml.generation
            self._settled = []
        opened = list(opened)
        if opened == self._settled:
            return
        settled = True
        for device, handle in opened:
            key = handle_key(handle)
            if key in self._registered or key in self._refused:
                continue
            try:
                if self._set is None:
                    self._set = library.nvmlEventSetCreate()
                library.nvmlDeviceRegisterEvents(handle, XID_EVENT, self._set)
            except library.NVMLError as error:
                if code_of(error) in returns.PERMANENT:
                    self._refused.add(key)
                else:
                    settled = False
            else:
                self._registered[key] = device
        self._settled = opened if settled else []

    def _collect(self, timeout_s: float) -> list[ErrorEvent]:
        library = self._nvml.library
        events: list[ErrorEvent] = []
        wait_ms = max(0, round(timeout_s * 1000))
        try:
            while len(events) < _MAX_BURST:
                data = library.nvmlEventSetWait_v2(self._set, wait_ms)
                wait_ms = 0
                if int(data.eventType) & XID_EVENT:
                    events.append(to_event(data, self._registered, self._clock.wall()))
        except library.NVMLError as error:
            if code_of(error) != returns.TIMEOUT:
                self._drop()
                if not events:
                    self._stopped.wait(timeout_s)
        return events

    def _drop(self) -> None:
        """Give the set up, as after a lost GPU, so that the next wait is for those that are left."""
        events, self._set = self._set, None
        self._registered, self._settled = {}, []
        try:
            self._nvml.library.nvmlEventSetFree(events)
        except self._nvml.library.NVMLError:
            return

    def close(self) -> None:
        """Stop waiting; the set is freed unless a wait is still inside the driver."""
        self._stopped.set()
        if not self._busy.acquire(blocking=False):
            return
        try:
            if self._set is not None and self._generation == self._nvml.generation:
                self._nvml.library.nvmlEventSetFree(self._set)
        except self._nvml.library.NVMLError:
            return
        finally:
            self._set = None
            self._busy.release()
