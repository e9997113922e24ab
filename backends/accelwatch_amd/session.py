"""An open AMD backend: discovery, identity, readings, processes, error events by files in /sys."""

from collections.abc import Sequence

import msgspec

from accelwatch.backend import Context, Opened, Request
from accelwatch.backend.errors import BackendUnavailable
from accelwatch.base.absence import Absence
from accelwatch.base.errors import DeviceLost, DevicePermission, DeviceSuspended, ReadError
from accelwatch.schema.device import Device, MemoryKind
from accelwatch.schema.event import ErrorEvent
from accelwatch.schema.health import NO_DRIVER
from accelwatch.schema.reading import Collected, Process, Reading
from accelwatch.system.kernel import sysfs
from accelwatch.system.kernel.drm_fdinfo import FdinfoScanner
from accelwatch_amd import amdsmi
from accelwatch_amd.collecting import Memory, collect
from accelwatch_amd.devices.functions import Function, device_tree, find_functions, parse_uevent
from accelwatch_amd.devices.identity import driver_version, identified, provisional
from accelwatch_amd.devices.names import architecture
from accelwatch_amd.enrichment import Enrichment
from accelwatch_amd.events import EventQueue
from accelwatch_amd.gpu_metrics.table import Table
from accelwatch_amd.partitions import partition_devices, read_partition, xgmi_links
from accelwatch_amd.processes import ProcessReader
from accelwatch_amd.sysfs.kfd import (
    Node,
    nodes_of,
    occupancy,
    read_nodes,
    read_processes,
    topology_generation,
)
from accelwatch_amd.sysfs.ras import growth_events
from accelwatch_amd.sysfs.tree import ReadBytes, Tree

_SLEEPING_FIELDS = ("serial", "part_number", "vbios_version", "firmware_version")


class _DeviceState(msgspec.Struct, kw_only=True):
    """What is kept of one device between calls."""

    # KFD's count of topology changes when the nodes were read.
    generation: str | None
    nodes: tuple[Node, ...]
    own_nodes: tuple[Node, ...]
    processes: ProcessReader
    memory: Memory = msgspec.field(default_factory=Memory)


class Session:
    """The devices of the amdgpu driver stack and what is kept of them between reads."""

    def __init__(self, context: Context, read: ReadBytes = sysfs.read_bytes) -> None:
        self._context = context
        self._read_bytes = read
        self._root = Tree(context.root, read)
        self._scanner = FdinfoScanner(context.root, context.clock)
        self._indices: dict[str, int] = {}
        self._states: dict[str, _DeviceState] = {}
        self._events = EventQueue()
        self._library: Enrichment | None = None

    def open(self) -> Opened:
        """Find the devices; load AMD's library where it may be used."""
        functions = find_functions(self._root)
        if not functions:
            raise BackendUnavailable("no AMD GPU on the PCI bus", reason="no_device")
        version = driver_version(self._root, next((f.driver for f in functions if f.driver), ""))
        versions = {"driver": version} if version else {}
        library = amdsmi.load(self._context)
        if library is None:
            return Opened(source="sysfs", versions=versions)
        self._library = Enrichment(library)
        versions["library"] = self._library.version
        return Opened(source="sysfs+amdsmi", versions=versions)

    def discover(self) -> Sequence[Device]:
        """AMD GPUs by PCI id; a device keeps its index for as long as this backend lives."""
        devices = []
        for function in find_functions(self._root):
            index = self._indices.setdefault(function.pci_bus_id, len(self._indices))
            devices.append(provisional(self._root, function, index))
        return devices

    def identify(self, device: Device) -> Sequence[Device]:
        """The device with what its files say, then its partitions."""
        function = self._function(device)
        if self._context.leaves_asleep(function.pci_bus_id):
            own = nodes_of(read_nodes(self._root), function.pci_bus_id)
            return (_sleeping(device, function, own),)
        own = nodes_of(read_nodes(self._root), function.pci_bus_id)
        full = identified(self._root, device, function, own)
        if self._library is not None:
            full = self._library.identify(full)
        own = self._refresh_state(full).own_nodes
        return (full, *partition_devices(full, own))

    def read(self, device: Device, request: Request) -> Sequence[Reading]:
        """One reading of the device and of each of its partitions.

        When the device was repartitioned since it was identified, that is a ReadError, once.
        """
        function = self._function(device)
        if self._context.leaves_asleep(function.pci_bus_id):
            raise DeviceSuspended(f"{device.name} ({function.pci_bus_id}) sleeps and was not woken")
        if not function.driver:
            raise ReadError(
                f"{device.name} ({function.pci_bus_id}) has no driver: load amdgpu, see the kernel log",
                code=NO_DRIVER,
            )
        state = self._current(device, request.slow)
        out = Collected(device.id)
        tree = device_tree(self._root, function.pci_bus_id)
        before = dict(state.memory.blocks)
        now = self._context.clock.monotonic()
        table = collect(
            tree,
            self._read_bytes,
            state.memory,
            out,
            architecture=device.architecture,
            now=now,
            slow=request.slow,
        )
        self._check_alive(device, tree, out)
        self._events.put(
            growth_events(device.id, before, state.memory.blocks, self._context.clock.wall())
        )
        sources = {"*": "sysfs"}
        if self._library is not None:
            self._library.enrich(device, request.slow, now, out, sources)
        links = xgmi_links(state.nodes, state.own_nodes)
        partitions = self._partitions(device, state, table)
        if request.processes:
            request.numbers([out.reading(links=links, sources=sources), *partitions])
        processes, notes = self._processes(state, function, request, now, out)
        own = out.reading(processes=processes, links=links, sources=sources, notes=notes)
        return (own, *partitions)

    def wait_events(self, timeout_s: float) -> Sequence[ErrorEvent]:
        """Growth of uncorrectable or deferred error counts, seen while reading."""
        return self._events.drain(timeout_s)

    def close(self) -> None:
        """Give AMD's library back."""
        if self._library is not None:
            self._library.close()
            self._library = None

    def _function(self, device: Device) -> Function:
        """The PCI function of a device, from its uevent. Raises DeviceLost when it is not there."""
        bus_id = device.pci_bus_id or ""
        uevent = device_tree(self._root, bus_id).text("uevent") if bus_id else Absence.LOST
        if isinstance(uevent, Absence):
            raise DeviceLost(f"{device.name} ({bus_id}) is no longer on the PCI bus")
        facts = parse_uevent(uevent)
        try:
            device_id = int(facts.get("PCI_ID", "").partition(":")[2], 16)
        except ValueError:
            device_id = 0
        return Function(pci_bus_id=bus_id, device_id=device_id, driver=facts.get("DRIVER", ""))

    def _current(self, device: Device, slow: bool) -> _DeviceState:
        """What is kept of a device. Raises ReadError once when its partitions have changed."""
        cached = self._states.get(device.id)
        if cached is None:
            return self._refresh_state(device)
        if not slow or cached.generation == topology_generation(self._root):
            return cached
        state = self._refresh_state(device)
        if len(state.own_nodes) != len(cached.own_nodes):
            raise ReadError(f"{device.name} was repartitioned", code="partitioned")
        return state

    def _refresh_state(self, device: Device) -> _DeviceState:
        """Read the topology again; counters of a device that is known go on."""
        generation, nodes = topology_generation(self._root), read_nodes(self._root)
        previous = self._states.get(device.id)
        reader = ProcessReader(
            self._context.root,
            device.id,
            shared_memory=device.memory_kind is MemoryKind.SHARED,
            one_shot=self._context.one_shot,
        )
        state = _DeviceState(
            generation=generation,
            nodes=nodes,
            own_nodes=nodes_of(nodes, device.pci_bus_id or ""),
            processes=previous.processes if previous else reader,
            memory=previous.memory if previous else Memory(),
        )
        self._states[device.id] = state
        return state

    def _check_alive(self, device: Device, tree: Tree, out: Collected) -> None:
        """Raise when the device went away during the read, or nothing of it could be read."""
        if isinstance(tree.text("uevent"), Absence):
            raise DeviceLost(f"{device.name} ({device.pci_bus_id}) went away while it was read")
        if out.values:
            return
        reasons = set(out.absent.values())
        if Absence.LOST in reasons:
            raise DeviceLost(
                f"{device.name} ({device.pci_bus_id}) answers only with 'no such device'"
            )
        if Absence.PERMISSION in reasons:
            raise DevicePermission(
                f"{device.name} ({device.pci_bus_id}): its files in {tree.folder} may not be read"
            )

    def _processes(
        self, state: _DeviceState, function: Function, request: Request, now: float, out: Collected
    ) -> tuple[tuple[Process, ...] | None, tuple[str, ...]]:
        if not request.processes:
            out.miss("processes", Absence.NOT_COLLECTED)
            return None, ()
        scan = self._scanner.scan(function.pci_bus_id)
        use = read_processes(self._root, [node.gpu_id for node in state.own_nodes])
        occupied = occupancy(state.own_nodes, use.values())
        if occupied is not None:
            out.put("compute_occupancy_ratio", occupied)
        processes = state.processes.read(scan, use, now, argv=request.argv)
        readable = scan.processes_visited - scan.processes_unreadable
        note = f"{readable} of {scan.processes_visited} processes readable"
        return processes, (note,) if scan.processes_unreadable else ()

    def _partitions(
        self, device: Device, state: _DeviceState, table: Table | None
    ) -> list[Reading]:
        if len(state.own_nodes) < 2:
            return []
        return [
            read_partition(self._root, device, number, node, table)
            for number, node in enumerate(state.own_nodes)
        ]


def _sleeping(device: Device, function: Function, own: tuple[Node, ...]) -> Device:
    """A device that sleeps: what KFD keeps in memory, and why the rest is missing."""
    version = own[0].gfx_target_version if own else 0
    return msgspec.structs.replace(
        device,
        architecture=architecture(version, function.device_id),
        absent={**device.absent, **dict.fromkeys(_SLEEPING_FIELDS, Absence.SUSPENDED)},
    )
