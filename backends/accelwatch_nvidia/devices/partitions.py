"""MIG instances of one GPU between two readings; used by the thread that reads the GPU."""

import threading
from collections.abc import Iterable, Sequence

import msgspec

from accelwatch.backend import Context, Request
from accelwatch.base.absence import Absence
from accelwatch.base.errors import DeviceLost, ReadError
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Collected, Reading, wholly_absent
from accelwatch_nvidia import returns
from accelwatch_nvidia.devices import mig
from accelwatch_nvidia.devices.host_processes import HostProcesses
from accelwatch_nvidia.devices.processes import ProcessReader
from accelwatch_nvidia.mapping import record_first, settle
from accelwatch_nvidia.nvml.nvml import DeviceCalls, Nvml
from accelwatch_nvidia.quantities import conditions, table_reader
from accelwatch_nvidia.quantities.gpm import GpmSampler

SOURCE = "nvml"
# Codes of a handle whose MIG instance was destroyed.
_HANDLE_VOID = frozenset({returns.INVALID_ARGUMENT, returns.NOT_FOUND})


class Partition(msgspec.Struct):
    """A MIG instance with its own calls, samples and processes."""

    instance: mig.Instance
    calls: DeviceCalls
    gpm: GpmSampler
    processes: ProcessReader


class Partitions:
    """The MIG instances of one GPU; one that stays keeps its activity samples."""

    def __init__(
        self, context: Context, nvml: Nvml, gpm_lock: threading.Lock, host: HostProcesses
    ) -> None:
        self._context, self._nvml = context, nvml
        self._gpm_lock, self._host = gpm_lock, host
        self._partitions: list[Partition] = []

    @property
    def devices(self) -> list[Device]:
        """Their identities."""
        return [partition.instance.device for partition in self._partitions]

    def replace(self, instances: Iterable[mig.Instance], calls: DeviceCalls) -> None:
        """From now on there are these; `calls` are of the whole GPU and free samples of those gone."""
        before = {partition.instance.device.id: partition for partition in self._partitions}
        partitions = []
        for instance in instances:
            previous = before.pop(instance.device.id, None)
            partitions.append(
                Partition(
                    instance=instance,
                    calls=self._calls_of(instance),
                    gpm=previous.gpm
                    if previous
                    else GpmSampler(self._gpm_lock, instance.gpu_instance),
                    processes=previous.processes if previous else ProcessReader(self._host),
                )
            )
        for removed in before.values():
            removed.gpm.close(calls)
        self._partitions = partitions

    def renew(self, calls: DeviceCalls, device: Device, *, library_restarted: bool) -> None:
        """The GPU has a new handle; instances that are no longer there keep their void one."""
        for partition in self._partitions:
            partition.gpm.restart(library_restarted=library_restarted)
        if not self._partitions:
            return
        fresh = {instance.device.id: instance for instance in mig.instances(calls, device)}
        for partition in self._partitions:
            instance = fresh.get(partition.instance.device.id)
            if instance is not None:
                partition.instance = instance
                partition.calls = self._calls_of(instance)

    def _calls_of(self, instance: mig.Instance) -> DeviceCalls:
        return DeviceCalls(self._nvml, instance.handle, instance.device.name)

    def close(self, calls: DeviceCalls) -> None:
        """Free what the activity samples hold."""
        for partition in self._partitions:
            partition.gpm.close(calls)

    def read(self, gpu: DeviceCalls, request: Request) -> list[tuple[Partition, Reading]]:
        """Their readings without processes; `gpu` are calls of the whole GPU. Raises DeviceLost."""
        readings = []
        for partition in self._partitions:
            partition.calls.clear_codes()
            try:
                reading = self._read(partition, gpu, request)
            except DeviceLost:
                raise
            except ReadError as error:
                reading = wholly_absent(partition.instance.device.id, error.absence)
            readings.append((partition, reading))
        return readings

    def _read(self, partition: Partition, gpu: DeviceCalls, request: Request) -> Reading:
        collected = Collected(partition.instance.device.id)
        conditions.read_memory(partition.calls, collected)
        if not collected.values and partition.calls.codes & _HANDLE_VOID:
            return wholly_absent(partition.instance.device.id, Absence.LOST)
        if "pools" in request.groups:
            rows = table_reader.group_rows("pools")
            table_reader.record_calls(partition.calls, rows, collected)
        if "ecc" in request.groups:
            table_reader.record_calls(partition.calls, table_reader.PARTITION_ECC, collected)
        activity = partition.gpm.read(gpu, request.groups, one_shot=self._context.one_shot)
        for series, outcome in activity.items():
            record_first(collected, series, outcome)
        return settled(collected.reading(sources={"*": SOURCE}))

    def with_processes(
        self, readings: Sequence[tuple[Partition, Reading]], request: Request
    ) -> list[Reading]:
        """The readings with processes, or why there are none. Raises DeviceLost."""
        completed = []
        for partition, reading in readings:
            if ("*",) in reading.absent:
                completed.append(reading)
                continue
            now = self._context.clock.monotonic()
            try:
                completed.append(
                    with_processes(reading, partition.calls, partition.processes, request, now)
                )
            except DeviceLost:
                raise
            except ReadError as error:
                completed.append(without_processes(reading, error.absence))
        return completed


def with_processes(
    reading: Reading, calls: DeviceCalls, reader: ProcessReader, request: Request, now: float
) -> Reading:
    """The reading with the processes on its device at `now`, monotonic seconds. Raises ReadError."""
    answer = reader.read(calls, reading.device_id, now, argv=request.argv, refresh=request.slow)
    if isinstance(answer, Absence):
        return without_processes(reading, answer)
    notes = (*reading.notes, *reader.notes)
    return msgspec.structs.replace(reading, processes=answer, notes=notes)


def without_processes(reading: Reading, why: Absence) -> Reading:
    """The reading with why its processes are absent."""
    if ("*",) in reading.absent:
        return reading
    return msgspec.structs.replace(reading, absent={**reading.absent, ("processes",): why})


def settled(reading: Reading) -> Reading:
    """The reading with one reason per absent series."""
    return msgspec.structs.replace(reading, absent=settle(reading.absent, reading.values))
