"""Reads one GPU and its MIG instances through NVML; used by one thread at a time."""

import threading

import msgspec

from accelwatch.backend import Context, Request
from accelwatch.base.absence import Absence
from accelwatch.base.errors import DeviceLost, DevicePermission, DeviceSuspended, ReadError
from accelwatch.kernel.shared_memory import collect_shared_memory
from accelwatch.schema.device import Device, MemoryKind
from accelwatch.schema.reading import Collected, Reading, wholly_absent
from accelwatch_nvidia import conditions, identity, inforom, mig, presence, quantities, returns
from accelwatch_nvidia.gpm import GpmSampler
from accelwatch_nvidia.inforom import Inforom
from accelwatch_nvidia.mapping import record_first, settle
from accelwatch_nvidia.nvml import DeviceCalls, Nvml, code_of
from accelwatch_nvidia.processes import HostProcesses, ProcessReader

SOURCE = "nvml"
_WORST = (returns.RESET_REQUIRED, returns.UNKNOWN, returns.NO_PERMISSION, returns.TIMEOUT)
_HANDLE_VOID = frozenset({returns.INVALID_ARGUMENT, returns.NOT_FOUND})
"""Codes of a handle whose MIG instance was destroyed."""


class _Partition(msgspec.Struct):
    """A MIG instance with its own calls, samples and processes."""

    instance: mig.Instance
    calls: DeviceCalls
    gpm: GpmSampler
    processes: ProcessReader


class DeviceReader:
    """One GPU: holds its handle, its capabilities and what is reused between readings."""

    def __init__(
        self, context: Context, nvml: Nvml, gpm_lock: threading.Lock, host: HostProcesses
    ) -> None:
        self._context = context
        self._host = host
        self._nvml = nvml
        self._gpm_lock = gpm_lock
        self._calls: DeviceCalls | None = None
        self._generation = 0
        self._slow: quantities.Slow | None = None
        self._inforom = Inforom()
        self._gpm = GpmSampler(gpm_lock)
        self._processes = ProcessReader(host)
        self._partitions: list[_Partition] = []
        self.device: Device | None = None
        """The full identity, once known."""

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
        self._partitions = self._matched(instances, calls)
        self.device = full
        return [full, *(partition.instance.device for partition in self._partitions)]

    def _matched(self, instances: list[mig.Instance], calls: DeviceCalls) -> list[_Partition]:
        """Partitions for the instances; one that was there before keeps its samples."""
        before = {partition.instance.device.id: partition for partition in self._partitions}
        partitions = []
        for instance in instances:
            previous = before.pop(instance.device.id, None)
            partitions.append(
                _Partition(
                    instance=instance,
                    calls=DeviceCalls(self._nvml, instance.handle, instance.device.name),
                    gpm=previous.gpm
                    if previous
                    else GpmSampler(self._gpm_lock, instance.gpu_instance),
                    processes=previous.processes if previous else ProcessReader(self._host),
                )
            )
        for gone in before.values():
            gone.gpm.close(calls)
        return partitions

    def _open(self, device: Device) -> DeviceCalls:
        """Handle of the device, asked anew after a loss or a driver reload. Raises ReadError.

        It is asked by PCI id where that is known: NVML renumbers the others when a GPU goes.
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
        """Take a new handle into use; partitions that are no longer there keep their void one."""
        restarted = calls.generation != self._generation
        self._calls, self._generation, self._slow = calls, calls.generation, None
        for sampler in (self._gpm, *(partition.gpm for partition in self._partitions)):
            sampler.restart(library_restarted=restarted)
        if not self._partitions:
            return
        fresh = {instance.device.id: instance for instance in mig.instances(calls, device)}
        for partition in self._partitions:
            instance = fresh.get(partition.instance.device.id)
            if instance is not None:
                partition.instance = instance
                partition.calls = DeviceCalls(self._nvml, instance.handle, instance.device.name)

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
        """The place may have been given to another GPU."""
        uuid = calls.query("nvmlDeviceGetUUID") if device.uuid else None
        if uuid is not None and not isinstance(uuid, Absence) and uuid != device.uuid:
            message = f"{device.name}: gone, another GPU is in its place"
            raise DeviceLost(message, code=returns.name(returns.NOT_FOUND))

    def close(self) -> None:
        """Free what the activity samples hold."""
        if self._calls is not None:
            for sampler in (self._gpm, *(partition.gpm for partition in self._partitions)):
                sampler.close(self._calls)

    def read(self, device: Device, request: Request) -> list[Reading]:
        """Readings of the device and its MIG instances. Raises ReadError."""
        try:
            calls = self._open(device)
            calls.clear_codes()
            device_reading = self._read_device(device, calls, request)
            current = list(self._partitions)
            partitions = self._read_partitions(current, request)
            if request.processes:
                request.numbers([device_reading, *partitions])
                device_reading = self._with_processes(
                    device_reading, calls, self._processes, request
                )
                partitions = self._partition_processes(current, partitions, request)
                readings = _each_process_once(device_reading, partitions)
            else:
                why = Absence.NOT_COLLECTED
                readings = [
                    _without_processes(reading, why) for reading in (device_reading, *partitions)
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
            slow = self._slow = quantities.read_slow(device.id, calls, groups)
        quantities.read_fast(calls, collected, groups)
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
        quantities.merge(collected, slow.collected)
        record_first(collected, inforom.SERIES, self._inforom.outcome)
        return _settled(collected.reading(links=slow.links, sources=sources, notes=slow.notes))

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

    def _with_processes(
        self, reading: Reading, calls: DeviceCalls, reader: ProcessReader, request: Request
    ) -> Reading:
        answer = reader.read(
            calls,
            reading.device_id,
            self._context.clock.monotonic(),
            argv=request.argv,
            refresh=request.slow,
        )
        if isinstance(answer, Absence):
            return _without_processes(reading, answer)
        notes = (*reading.notes, *reader.notes)
        return msgspec.structs.replace(reading, processes=answer, notes=notes)

    def _partition_processes(
        self, partitions: list[_Partition], readings: list[Reading], request: Request
    ) -> list[Reading]:
        completed = []
        for partition, reading in zip(partitions, readings, strict=True):
            if ("*",) in reading.absent:
                completed.append(reading)
                continue
            try:
                completed.append(
                    self._with_processes(reading, partition.calls, partition.processes, request)
                )
            except DeviceLost:
                raise
            except ReadError as error:
                completed.append(_without_processes(reading, error.absence))
        return completed

    def _read_partitions(self, partitions: list[_Partition], request: Request) -> list[Reading]:
        readings = []
        for partition in partitions:
            partition.calls.clear_codes()
            try:
                readings.append(self._read_partition(partition, request))
            except DeviceLost:
                raise
            except ReadError as error:
                readings.append(wholly_absent(partition.instance.device.id, error.absence))
        return readings

    def _read_partition(self, partition: _Partition, request: Request) -> Reading:
        collected = Collected(partition.instance.device.id)
        conditions.read_memory(partition.calls, collected)
        if not collected.values and partition.calls.codes & _HANDLE_VOID:
            return wholly_absent(partition.instance.device.id, Absence.LOST)
        if "pools" in request.groups:
            quantities.record_calls(partition.calls, quantities.group_rows("pools"), collected)
        if "ecc" in request.groups:
            quantities.record_calls(partition.calls, quantities.PARTITION_ECC, collected)
        assert self._calls is not None
        activity = partition.gpm.read(self._calls, request.groups, one_shot=self._context.one_shot)
        for series, outcome in activity.items():
            record_first(collected, series, outcome)
        return _settled(collected.reading(sources={"*": SOURCE}))


def _settled(reading: Reading) -> Reading:
    return msgspec.structs.replace(reading, absent=settle(reading.absent, reading.values))


def _without_processes(reading: Reading, why: Absence) -> Reading:
    if ("*",) in reading.absent:
        return reading
    return msgspec.structs.replace(reading, absent={**reading.absent, ("processes",): why})


def _each_process_once(device_reading: Reading, partitions: list[Reading]) -> list[Reading]:
    """The readings, with no process in the whole GPU's that is in a partition's."""
    inside = {process.pid for partition in partitions for process in partition.processes or ()}
    if inside and device_reading.processes:
        rest = tuple(process for process in device_reading.processes if process.pid not in inside)
        device_reading = msgspec.structs.replace(device_reading, processes=rest)
    return [device_reading, *partitions]
