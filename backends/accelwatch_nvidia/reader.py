"""Reads one GPU and its MIG instances through NVML; used by one thread at a time."""

import threading

import msgspec

from accelwatch.backend import Context, Request
from accelwatch.base.absence import Absence
from accelwatch.base.errors import DeviceLost, DevicePermission, DeviceSuspended, ReadError
from accelwatch.kernel.shared_memory import put_shared_memory
from accelwatch.schema.device import Device, MemoryKind
from accelwatch.schema.reading import Collected, Reading, wholly_absent
from accelwatch_nvidia import conditions, identity, inforom, mig, presence, quantities, returns
from accelwatch_nvidia.gpm import GpmSampler
from accelwatch_nvidia.inforom import Inforom
from accelwatch_nvidia.mapping import put_first, settle
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
        return [full, *(part.instance.device for part in self._partitions)]

    def _matched(self, instances: list[mig.Instance], calls: DeviceCalls) -> list[_Partition]:
        """Partitions for the instances; one that was there before keeps its samples."""
        before = {part.instance.device.id: part for part in self._partitions}
        partitions = []
        for instance in instances:
            known = before.pop(instance.device.id, None)
            partitions.append(
                _Partition(
                    instance=instance,
                    calls=DeviceCalls(self._nvml, instance.handle, instance.device.name),
                    gpm=known.gpm if known else GpmSampler(self._gpm_lock, instance.gpu_instance),
                    processes=known.processes if known else ProcessReader(self._host),
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
        for sampler in (self._gpm, *(part.gpm for part in self._partitions)):
            sampler.restart(library_restarted=restarted)
        if not self._partitions:
            return
        fresh = {instance.device.id: instance for instance in mig.instances(calls, device)}
        for part in self._partitions:
            instance = fresh.get(part.instance.device.id)
            if instance is not None:
                part.instance = instance
                part.calls = DeviceCalls(self._nvml, instance.handle, instance.device.name)

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
        uuid = calls.ask("nvmlDeviceGetUUID") if device.uuid else None
        if uuid is not None and not isinstance(uuid, Absence) and uuid != device.uuid:
            message = f"{device.name}: gone, another GPU is in its place"
            raise DeviceLost(message, code=returns.name(returns.NOT_FOUND))

    def close(self) -> None:
        """Free what the activity samples hold."""
        if self._calls is not None:
            for sampler in (self._gpm, *(part.gpm for part in self._partitions)):
                sampler.close(self._calls)

    def read(self, device: Device, request: Request) -> list[Reading]:
        """Readings of the device and its MIG instances. Raises ReadError."""
        try:
            calls = self._open(device)
            calls.begin()
            whole = self._read_whole(device, calls, request)
            parts = list(self._partitions)
            partitions = self._read_partitions(parts, request)
            if request.processes:
                request.numbers([whole, *partitions])
                whole = self._with_processes(whole, calls, self._processes, request)
                partitions = self._partition_processes(parts, partitions, request)
                readings = _each_process_once(whole, partitions)
            else:
                why = Absence.NOT_COLLECTED
                readings = [_without_processes(reading, why) for reading in (whole, *partitions)]
            return [self._with_inforom(readings[0], calls, device, request), *readings[1:]]
        except ReadError as error:
            self._calls = None
            if error.code in {returns.name(code) for code in returns.STACK_GONE}:
                self._nvml.stop()
            raise

    def _read_whole(self, device: Device, calls: DeviceCalls, request: Request) -> Reading:
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
            put_shared_memory(self._context.root, collected)
            sources |= dict.fromkeys(("memory_size_bytes", "memory_used_bytes"), "meminfo")
        else:
            conditions.read_memory(calls, collected)
        if not collected.values:
            self._raise_worst(calls)
        activity = self._gpm.read(calls, groups, one_shot=self._context.one_shot)
        for series, outcome in activity.items():
            put_first(collected, series, outcome)
        if returns.RESET_REQUIRED in calls.codes:
            collected.put("reset_required", 1)
        quantities.merge(collected, slow.collected)
        put_first(collected, inforom.SERIES, self._inforom.outcome)
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
        self, parts: list[_Partition], readings: list[Reading], request: Request
    ) -> list[Reading]:
        completed = []
        for part, reading in zip(parts, readings, strict=True):
            if ("*",) in reading.absent:
                completed.append(reading)
                continue
            try:
                completed.append(self._with_processes(reading, part.calls, part.processes, request))
            except DeviceLost:
                raise
            except ReadError as error:
                completed.append(_without_processes(reading, error.absence))
        return completed

    def _read_partitions(self, parts: list[_Partition], request: Request) -> list[Reading]:
        readings = []
        for part in parts:
            part.calls.begin()
            try:
                readings.append(self._read_partition(part, request))
            except DeviceLost:
                raise
            except ReadError as error:
                readings.append(wholly_absent(part.instance.device.id, error.absence))
        return readings

    def _read_partition(self, part: _Partition, request: Request) -> Reading:
        collected = Collected(part.instance.device.id)
        conditions.read_memory(part.calls, collected)
        if not collected.values and part.calls.codes & _HANDLE_VOID:
            return wholly_absent(part.instance.device.id, Absence.LOST)
        if "pools" in request.groups:
            quantities.put_calls(part.calls, quantities.group_rows("pools"), collected)
        if "ecc" in request.groups:
            quantities.put_calls(part.calls, quantities.PARTITION_ECC, collected)
        assert self._calls is not None
        activity = part.gpm.read(self._calls, request.groups, one_shot=self._context.one_shot)
        for series, outcome in activity.items():
            put_first(collected, series, outcome)
        return _settled(collected.reading(sources={"*": SOURCE}))


def _settled(reading: Reading) -> Reading:
    return msgspec.structs.replace(reading, absent=settle(reading.absent, reading.values))


def _without_processes(reading: Reading, why: Absence) -> Reading:
    if ("*",) in reading.absent:
        return reading
    return msgspec.structs.replace(reading, absent={**reading.absent, ("processes",): why})


def _each_process_once(whole: Reading, partitions: list[Reading]) -> list[Reading]:
    """The readings, with no process in the whole GPU's that is in a partition's."""
    inside = {process.pid for part in partitions for process in part.processes or ()}
    if inside and whole.processes:
        rest = tuple(process for process in whole.processes if process.pid not in inside)
        whole = msgspec.structs.replace(whole, processes=rest)
    return [whole, *partitions]
