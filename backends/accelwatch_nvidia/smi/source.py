"""All GPUs, their MIG instances and links through nvidia-smi, instead of the library."""

import threading
from collections.abc import Sequence
from xml.etree.ElementTree import Element  # only the type; parsing is in smi.document

import msgspec

from accelwatch.backend import Context, Opened, Request
from accelwatch.backend.errors import BackendUnavailable
from accelwatch.backend.kit.listed_process import with_processes
from accelwatch.base.absence import Absence
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
from accelwatch_nvidia import identity, presence
from accelwatch_nvidia.mapping import settle
from accelwatch_nvidia.smi import elements, nvlink
from accelwatch_nvidia.smi import identity as smi_identity
from accelwatch_nvidia.smi import mapping as smi_mapping
from accelwatch_nvidia.smi import text as smi_text
from accelwatch_nvidia.smi.nvlink import LinkReader
from accelwatch_nvidia.smi.queries import SmiQueries


class SmiSource:
    """nvidia-smi as the source of devices and readings; it has no events."""

    def __init__(self, context: Context, instead_of: BackendUnavailable | None = None) -> None:
        """`instead_of` is why the library cannot be used."""
        self._context = context
        self._queries = SmiQueries(context, instead_of)
        self._listed: dict[str, dict[int, tuple[str, str]]] = {}
        self._provisionals: dict[tuple[int, str], Device] = {}
        self._partition_devices: dict[str | None, tuple[Device, ...]] = {}
        # PCI ids of the GPUs that no driver has.
        self._unbound: set[str] = set()
        self._links = LinkReader(self._queries.run, context.clock)
        self._stopped = threading.Event()

    def open(self) -> Opened:
        """Find nvidia-smi and run it once. Raises BackendUnavailable.

        Options: `nvidia_smi` (path), `nvidia_smi_timeout_s`.
        """
        self._queries.find_program()
        versions = {"driver": presence.driver_version(self._context.root)}
        if not self._queries.any_asleep():
            document = self._queries.query_all()
            versions = {"driver": document.driver_version, "cuda": document.cuda_version}
        available = {
            key: version
            for key, version in versions.items()
            if version and smi_text.absence(version) is None
        }
        return Opened(source=smi_mapping.SOURCE, versions=available)

    def discover(self) -> Sequence[Device]:
        """GPUs the driver lists, else those in nvidia-smi's document, then those without a driver.

        Raises BackendUnavailable.
        """
        root = self._context.root
        version = presence.driver_version(root)
        gpus = presence.present_gpus(root)
        if not gpus:
            addresses = [elements.bus_of(gpu) for gpu in self._queries.query_all().gpus]
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
        if device.pci_bus_id in self._unbound:
            raise presence.without_driver(device)
        return self._queries.query_gpu(device)

    def identify(self, device: Device) -> Sequence[Device]:
        """Full identity, then MIG instances. Raises ReadError."""
        element = self._element(device)
        version = self._queries.driver_version
        full = smi_identity.complete_device(device, element, version)
        if full.partition_mode == "enabled":
            self._listed |= smi_identity.listed_instances(
                self._queries.run("-L").output.decode("utf-8", "replace")
            )
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
        links = self._links.read(
            device.uuid,
            self._queries.single_address(device),
            slow=request.slow,
            fresh_s=self._queries.fresh_s,
        )
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
        self._queries.forget()
