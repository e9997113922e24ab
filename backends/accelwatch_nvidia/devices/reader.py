"""Reads one GPU and its MIG instances through NVML; used by one thread at a time."""

import threading

import msgspec

from accelwatch.backend import Context, Request
from accelwatch.base.absence import Absence
from accelwatch.base.errors import DeviceLost, DevicePermission, DeviceSuspended, ReadError
from accelwatch.schema.device import Device, MemoryKind
from accelwatch.schema.reading import Collected, Reading
from accelwatch.system.kernel.shared_memory import collect_shared_memory
from accelwatch.system.kernel.supply_rails import with_rails
from accelwatch_nvidia import identity, presence, returns
from accelwatch_nvidia.devices import mig
from accelwatch_nvidia.devices.host_processes import HostProcesses
from accelwatch_nvidia.devices.partitions import (
    SOURCE,
    Partitions,
    settled,
    with_processes,
    without_processes,
)
from accelwatch_nvidia.devices.processes import ProcessReader
from accelwatch_nvidia.mapping import record_first
from accelwatch_nvidia.nvml.nvml import DeviceCalls, Nvml, code_of
from accelwatch_nvidia.quantities import conditions, inforom, table_reader
from accelwatch_nvidia.quantities.gpm import GpmSampler
from accelwatch_nvidia.quantities.inforom import Inforom

_WORST = (returns.RESET_REQUIRED, returns.UNKNOWN, returns.NO_PERMISSION, returns.TIMEOUT)


class DeviceReader:
    """One GPU: holds its handle, its capabilities and what is reused between readings."""

    def __init__(
        self, context: Context, nvml: Nvml, gpm_lock: threading.Lock, host: HostProcesses
    ) -> None:
        self._context = context
        self._nvml = nvml
        self._calls: DeviceCalls | None = None
        self._generation = 0
        self._slow: table_reader.Slow | None = None
        self._inforom = Inforom()
        self._gpm = GpmSampler(gpm_lock)
        self._processes = ProcessReader(host)
        self._partitions = Partitions(context, nvml, gpm_lock, host)
        # The full identity, once known.
        self.device: Device | None = None

    @property
    def handle(self) -> object | None:
        """NVML's handle, when the device is open."""
        return self._calls.handle if self._calls else None

    def identify(self, device: Device) -> list[Device]:
        """The device with its full identity, then its MIG instances. Raises ReadError."""
        calls = self._open(device)
        calls.forget()
        before = self.device
        full = identity.complete(self._context.root, device, calls, before)
        if full != before:
            self._slow = None
        if before is None or before.partition_mode != full.partition_mode:
            self._gpm.restart(library_restarted=False)
        instances = mig.instances(calls, full) if full.partition_mode == "enabled" else []
        self._partitions.replace(instances, calls)
        self.device = full
        return [full, *self._partitions.devices]

    def _open(self, device: Device) -> DeviceCalls:
        """Handle of the device, fetched anew after a loss or a driver reload. Raises ReadError.

        It is fetched by PCI id where that is known: NVML renumbers the others when a GPU goes.
        """
        bus = device.pci_bus_id
        if self._context.leaves_asleep(bus):
            self._calls = None
            raise DeviceSuspended(f"{device.name}: asleep, left asleep", code="suspended")
        self._nvml.start()
        if self._calls is not None and self._calls.generation == self._nvml.generation:
            return self._calls
        library = self._nvml.library
        try:
            if bus:
                handle = library.nvmlDeviceGetHandleByPciBusId(bus.encode())
            else:
                handle = library.nvmlDeviceGetHandleByIndex(device.index)
        except library.NVMLError as error:
            raise self._no_handle(code_of(error), device) from error
        calls = DeviceCalls(self._nvml, handle, device.name)
        self._refuse_another(calls, device)
        self._renew(calls, device)
        return calls

    def _renew(self, calls: DeviceCalls, device: Device) -> None:
        """Switch to a new handle, for the device and for its partitions."""
        restarted = calls.generation != self._generation
        self._calls, self._generation, self._slow = calls, calls.generation, None
        self._gpm.restart(library_restarted=restarted)
        self._partitions.renew(calls, device, library_restarted=restarted)

    def _no_handle(self, code: int, device: Device) -> ReadError:
        if code in returns.STACK_GONE:
            self._nvml.stop()
        if code in (returns.NOT_FOUND, returns.INVALID_ARGUMENT):
            if why := presence.refusal(self._context.root, device.device_nodes):
                return DevicePermission(f"{device.name}: {why}", code=returns.name(code))
            message = f"{device.name}: the driver does not list it any more"
            return DeviceLost(message, code=returns.name(code))
        return returns.failure(code, device.name, "asking for its handle")

    @staticmethod
    def _refuse_another(calls: DeviceCalls, device: Device) -> None:
        """Raise DeviceLost where another GPU has the PCI id now."""
        uuid = calls.query("nvmlDeviceGetUUID") if device.uuid else None
        if uuid is not None and not isinstance(uuid, Absence) and uuid != device.uuid:
            message = f"{device.name}: gone, another GPU is in its place"
            raise DeviceLost(message, code=returns.name(returns.NOT_FOUND))

    def close(self) -> None:
        """Free what the activity samples hold."""
        if self._calls is not None:
            self._gpm.close(self._calls)
            self._partitions.close(self._calls)

    def read(self, device: Device, request: Request) -> list[Reading]:
        """Readings of the device and its MIG instances. Raises ReadError."""
        try:
            calls = self._open(device)
            calls.clear_codes()
            device_reading = self._read_device(device, calls, request)
            partitions = self._partitions.read(calls, request)
            if request.processes:
                request.numbers([device_reading, *(reading for _, reading in partitions)])
                device_reading = self._with_processes(device_reading, calls, request)
                readings = _each_process_once(
                    device_reading, self._partitions.with_processes(partitions, request)
                )
            else:
                readings = [
                    without_processes(reading, Absence.NOT_COLLECTED)
                    for reading in (device_reading, *(reading for _, reading in partitions))
                ]
            return [self._with_inforom(readings[0], calls, device, request), *readings[1:]]
        except ReadError as error:
            self._calls = None
            if error.code in {returns.name(code) for code in returns.STACK_GONE}:
                self._nvml.stop()
            raise

    def _read_device(self, device: Device, calls: DeviceCalls, request: Request) -> Reading:
        collected = Collected(device.id)
        groups = request.groups
        slow = self._slow
        if slow is None or request.slow or slow.groups != groups:
            slow = self._slow = table_reader.read_slow(device.id, calls, groups)
        table_reader.read_fast(calls, collected, groups)
        conditions.read_throttle(calls, collected, slow.throttle_reasons, groups)
        conditions.read_fans(calls, collected, slow.fans)
        conditions.read_headroom(collected, slow.slowdown_margin)
        sources = {"*": SOURCE}
        if device.memory_kind is MemoryKind.SHARED:
            collect_shared_memory(self._context.root, collected)
            sources |= dict.fromkeys(("memory_size_bytes", "memory_used_bytes"), "meminfo")
        else:
            conditions.read_memory(calls, collected)
        if not collected.values:
            self._raise_worst(calls)
        activity = self._gpm.read(calls, groups, one_shot=self._context.one_shot)
        for series, outcome in activity.items():
            record_first(collected, series, outcome)
        if returns.RESET_REQUIRED in calls.codes:
            collected.put("reset_required", 1)
        table_reader.merge(collected, slow.collected)
        record_first(collected, inforom.SERIES, self._inforom.outcome)
        reading = settled(collected.reading(links=slow.links, sources=sources, notes=slow.notes))
        if device.memory_kind is MemoryKind.SHARED:
            return with_rails(reading, self._context.root)
        return reading

    def _with_inforom(
        self, reading: Reading, calls: DeviceCalls, device: Device, request: Request
    ) -> Reading:
        if self._context.one_shot and inforom.GROUP not in request.groups:
            return reading
        own = DeviceCalls(self._nvml, calls.handle, device.name)
        return self._inforom.validate(own, reading, self._context.clock.monotonic())

    def _raise_worst(self, calls: DeviceCalls) -> None:
        for code in (*_WORST, *sorted(calls.codes)):
            if code in calls.codes:
                raise calls.failure(code, "every call")

    def _with_processes(self, reading: Reading, calls: DeviceCalls, request: Request) -> Reading:
        now = self._context.clock.monotonic()
        return with_processes(reading, calls, self._processes, request, now)


def _each_process_once(device_reading: Reading, partitions: list[Reading]) -> list[Reading]:
    """The readings, with no process in the whole GPU's that is in a partition's."""
    inside = {process.pid for partition in partitions for process in partition.processes or ()}
    if inside and device_reading.processes:
        others = tuple(process for process in device_reading.processes if process.pid not in inside)
        device_reading = msgspec.structs.replace(device_reading, processes=others)
    return [device_reading, *partitions]
