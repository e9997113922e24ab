"""All GPUs through `nvidia-smi -q -x`: one run for all, and one run a GPU when that fails."""

import re
import threading
from collections.abc import Sequence
from xml.etree.ElementTree import Element  # only the type; parsing is in smi.document

import msgspec

from accelwatch.backend import Context, Opened, Request
from accelwatch.backend.errors import BackendUnavailable
from accelwatch.backend.kit.listed_process import with_processes
from accelwatch.base.absence import Absence
from accelwatch.base.errors import (
    DeviceLost,
    DevicePermission,
    DeviceSuspended,
    DeviceTimeout,
    ReadError,
)
from accelwatch.base.failure_line import failure_line
from accelwatch.schema.device import Device, MemoryKind
from accelwatch.schema.event import ErrorEvent
from accelwatch.schema.reading import (
    Collected,
    Link,
    Reading,
    wholly_absent,
)
from accelwatch.system.kernel.shared_memory import collect_shared_memory
from accelwatch.system.kernel.supply_rails import with_rails
from accelwatch.system.processes import command
from accelwatch.system.processes.command import CommandResult
from accelwatch_nvidia import identity, presence, returns
from accelwatch_nvidia.mapping import settle
from accelwatch_nvidia.smi import elements, nvlink
from accelwatch_nvidia.smi import identity as smi_identity
from accelwatch_nvidia.smi import mapping as smi_mapping
from accelwatch_nvidia.smi import text as smi_text
from accelwatch_nvidia.smi.document import Document, parse
from accelwatch_nvidia.smi.nvlink import LinkReader

# A run takes 0.05-0.5 s, several seconds when the driver must first be initialised.
TIMEOUT_S = 10.0
# Readings of one tick share one run; a slow run serves twice its own duration.
_FRESH_S = 0.4
_LISTED = re.compile(r"MIG\s+(\S+)\s+Device\s+(\d+):\s+\(UUID:\s+(MIG-[^)\s]+)\)")


def listed_instances(text: str) -> dict[str, dict[int, tuple[str, str]]]:
    """(profile, uuid) of each MIG instance by place, by GPU uuid, from `nvidia-smi -L`."""
    by_gpu: dict[str, dict[int, tuple[str, str]]] = {}
    gpu = ""
    for line in text.splitlines():
        if match := smi_text.GPU_LINE.search(line):
            gpu = match[1]
        elif match := _LISTED.search(line):
            by_gpu.setdefault(gpu, {})[int(match[2])] = (match[1], match[3])
    return by_gpu


class SmiSource:
    """nvidia-smi as the source of devices and readings; it has no events."""

    def __init__(self, context: Context, instead_of: BackendUnavailable | None = None) -> None:
        """`instead_of` is why the library cannot be used."""
        self._context = context
        self._instead_of = instead_of
        self._program = ""
        self._timeout_s = TIMEOUT_S
        # One run of the command at a time; readers of the other devices wait and share its
        # document.
        self._lock = threading.Lock()
        self._document: Document | None = None
        self._read_at = 0.0
        self._fresh_s = _FRESH_S
        self._listed: dict[str, dict[int, tuple[str, str]]] = {}
        self._runs_per_gpu = False
        self._provisionals: dict[tuple[int, str], Device] = {}
        self._partition_devices: dict[str | None, tuple[Device, ...]] = {}
        # PCI ids of the GPUs that no driver has.
        self._unbound: set[str] = set()
        self._links = LinkReader(self._run, context.clock)
        self._stopped = threading.Event()

    def open(self) -> Opened:
        """Find nvidia-smi and run it once. Raises BackendUnavailable.

        Options: `nvidia_smi` (path), `nvidia_smi_timeout_s`.
        """
        import shutil  # half a MiB, where the library is not used

        options, environ = self._context.options, self._context.environ
        self._timeout_s = _seconds(options.get("nvidia_smi_timeout_s", TIMEOUT_S))
        named = str(options.get("nvidia_smi", "nvidia-smi"))
        self._program = shutil.which(named, path=environ.get("PATH")) or ""
        if not self._program:
            raise BackendUnavailable(
                f"{named} is not on PATH",
                reason="command_not_found",
                remedy="install the user-space part of the driver",
            )
        versions = {"driver": presence.driver_version(self._context.root)}
        if not self._any_asleep():
            document = self._shared()
            versions = {"driver": document.driver_version, "cuda": document.cuda_version}
        available = {
            key: version
            for key, version in versions.items()
            if version and smi_text.absence(version) is None
        }
        return Opened(source=smi_mapping.SOURCE, versions=available)

    def _run(self, *arguments: str) -> CommandResult:
        return command.run([self._program, *arguments], timeout_s=self._timeout_s)

    def _shared(self) -> Document:
        """The document of all GPUs, of this tick. Raises BackendUnavailable when nvidia-smi cannot work.

        Once one GPU spoils it or one sleeps, the GPUs are asked one by one.
        """
        with self._lock:
            now = self._context.clock.monotonic()
            if self._document is not None and now - self._read_at < self._fresh_s:
                return self._document
            result = self._run("-q", "-x")
            document = parse(result.output, result.status)
            if not document.gpus:
                text = (result.output + result.errors).decode("utf-8", "replace")
                if unavailable := smi_text.stack_failure(text, result.status):
                    raise unavailable
            self._runs_per_gpu = not document.complete or not result.ok
            self._document, self._read_at = document, self._context.clock.monotonic()
            self._fresh_s = max(_FRESH_S, 2 * (self._read_at - now))
            return document

    def discover(self) -> Sequence[Device]:
        """GPUs the driver lists, else those in nvidia-smi's document, then those without a driver.

        Raises BackendUnavailable.
        """
        root = self._context.root
        version = presence.driver_version(root)
        gpus = presence.present_gpus(root)
        if not gpus:
            addresses = [elements.bus_of(gpu) for gpu in self._shared().gpus]
            gpus = [presence.PresentGpu(pci_bus_id=bus) for bus in addresses if bus]
        unbound = presence.unbound_gpus(root)
        self._unbound = {gpu.pci_bus_id for gpu in unbound}
        gpus = [*gpus, *unbound]
        return [self._provisional(index, gpu, version) for index, gpu in enumerate(gpus)]

    def _provisional(self, index: int, gpu: presence.PresentGpu, version: str | None) -> Device:
        """The same provisional device at every discovery."""
        key = (index, gpu.pci_bus_id)
        if key not in self._provisionals:
            self._provisionals[key] = identity.provisional(self._context.root, index, gpu, version)
        return self._provisionals[key]

    def _element(self, device: Device) -> Element:
        """The device's `gpu` element. Raises ReadError."""
        bus = device.pci_bus_id
        if bus is None:
            raise ReadError(f"{device.name}: its PCI id is not known", code="no_pci_id")
        if bus in self._unbound:
            raise presence.without_driver(device)
        root = self._context.root
        if self._context.leaves_asleep(bus):
            self._runs_per_gpu = True
            raise DeviceSuspended(f"{device.name}: asleep, left asleep", code="suspended")
        if not self._runs_per_gpu and not self._any_asleep():
            gpu = _in(self._shared(), bus)
            if gpu is not None:
                return gpu
        if why := presence.refusal(root, device.device_nodes):
            raise DevicePermission(f"{device.name}: {why}", code="permission")
        result = self._run("-q", "-x", "-i", bus)
        gpu = _in(parse(result.output, result.status), bus)
        if gpu is None:
            failure = _failure(device, result)
            if self._instead_of is not None and type(failure) is ReadError:
                # Of two sources that failed, the library knows more than the command.
                remedy = f"; {self._instead_of.remedy}" if self._instead_of.remedy else ""
                raise ReadError(f"{failure}; {self._instead_of}{remedy}", code=failure.code)
            raise failure
        return gpu

    def _any_asleep(self) -> bool:
        gpus = presence.present_gpus(self._context.root)
        return any(self._context.leaves_asleep(gpu.pci_bus_id) for gpu in gpus)

    def identify(self, device: Device) -> Sequence[Device]:
        """Full identity, then MIG instances. Raises ReadError."""
        element = self._element(device)
        version = self._document.driver_version if self._document else None
        full = smi_identity.complete_device(device, element, version)
        if full.partition_mode == "enabled":
            self._listed |= listed_instances(self._run("-L").output.decode("utf-8", "replace"))
        partitions = tuple(partition for partition, _ in self._partitions(full, element))
        self._partition_devices[full.pci_bus_id] = partitions
        return [full, *partitions]

    def _partitions(self, device: Device, element: Element) -> list[tuple[Device, Element]]:
        return smi_identity.partitions(device, element, self._listed.get(device.uuid or "", {}))

    def read(self, device: Device, request: Request) -> Sequence[Reading]:
        """Readings of a GPU and its MIG instances. Raises ReadError."""
        element = self._element(device)
        device_reading = smi_mapping.read(device, element, request.groups)
        if device.memory_kind is MemoryKind.SHARED:
            device_reading = self._with_shared_memory(device_reading)
        device_reading = self._with_links(device, device_reading, request)
        readings = [device_reading]
        present = {
            partition.id: instance for partition, instance in self._partitions(device, element)
        }
        for partition in self._partition_devices.get(device.pci_bus_id, ()):
            instance = present.get(partition.id)
            if instance is None:
                readings.append(wholly_absent(partition.id, Absence.LOST))
            else:
                readings.append(
                    smi_mapping.read_partition(partition, instance, element, request.groups)
                )
        if request.processes:
            request.numbers(readings)
        return [self._with_processes(reading, request) for reading in readings]

    def _with_shared_memory(self, reading: Reading) -> Reading:
        collected = Collected(reading.device_id)
        collect_shared_memory(self._context.root, collected)
        keys = ("memory_size_bytes", "memory_used_bytes")
        absent = {s: why for s, why in reading.absent.items() if s not in collected.values}
        with_memory = msgspec.structs.replace(
            reading,
            values={**reading.values, **collected.values},
            absent=absent,
            sources={**reading.sources, **dict.fromkeys(keys, "meminfo")},
        )
        return with_rails(with_memory, self._context.root)

    def _with_links(self, device: Device, reading: Reading, request: Request) -> Reading:
        alone = device.pci_bus_id if self._runs_per_gpu or self._any_asleep() else None
        links = self._links.read(device.uuid, alone, slow=request.slow, fresh_s=self._fresh_s)
        collected = Collected(reading.device_id)
        if isinstance(links, Absence):
            collected.miss("interconnect_links", links)
            listed: tuple[Link, ...] = ()
        else:
            listed = nvlink.record_links(links, collected, request.groups)
        return msgspec.structs.replace(
            reading,
            values={**reading.values, **collected.values},
            absent={**reading.absent, **settle(collected.absent, collected.values)},
            links=listed,
        )

    def _with_processes(self, reading: Reading, request: Request) -> Reading:
        if ("*",) in reading.absent:
            return reading
        if not request.processes:
            absent = {**reading.absent, ("processes",): Absence.NOT_COLLECTED}
            return msgspec.structs.replace(reading, processes=None, absent=absent)
        if reading.processes is None:
            return reading
        return with_processes(self._context.root, reading, reading.processes)

    def wait_events(self, timeout_s: float) -> Sequence[ErrorEvent]:
        """None: nvidia-smi reports no events."""
        self._stopped.wait(timeout_s)
        return ()

    def close(self) -> None:
        """Nothing is held but the last document."""
        self._stopped.set()
        self._document = None


def _seconds(option: object) -> float:
    try:
        return float(str(option))
    except ValueError as error:
        raise BackendUnavailable(
            f"nvidia_smi_timeout_s: {option!r} is not a valid number of seconds", reason="option"
        ) from error


def _in(document: Document, bus: str) -> Element | None:
    return next((gpu for gpu in document.gpus if elements.bus_of(gpu) == bus), None)


def _failure(device: Device, result: CommandResult) -> ReadError:
    """Why a run for one GPU brought no element."""
    if result.failure == "timeout":
        return DeviceTimeout(f"{device.name}: nvidia-smi did not end", code="timeout")
    if result.failure == "permission":
        return DevicePermission(f"{device.name}: nvidia-smi may not be run", code="permission")
    text = (result.output + result.errors).decode("utf-8", "replace")
    if failed := smi_text.gpu_failure(text):
        return returns.failure(failed.code, device.name, "nvidia-smi")
    if result.status == returns.GPU_IS_LOST:
        return returns.failure(returns.GPU_IS_LOST, device.name, "nvidia-smi")
    if result.status == returns.NOT_FOUND or "No devices were found" in text:
        return DeviceLost(f"{device.name}: nvidia-smi does not list it", code="not_listed")
    status = result.failure or f"status {result.status}"
    line = failure_line(text)
    what = f"{line} ({status})" if line and not line.startswith("<") else status
    return ReadError(f"{device.name}: nvidia-smi: {what}", code="nvidia_smi")
