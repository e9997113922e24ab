"""AWS Neuron: counters from the driver's sysfs; address, memory size and processes from neuron-ls."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from accelwatch.backend import Check, Context, Opened, Option, Probe, Request, Support
from accelwatch.backend.errors import BackendUnavailable
from accelwatch.backend.kit.bus_devices import bare_devices
from accelwatch.backend.kit.listed_process import with_processes
from accelwatch.backend.kit.polled import TIMEOUT_S, Polled, pace_of
from accelwatch.backend.kit.vendor_program import chosen_program
from accelwatch.base.absence import Absence
from accelwatch.base.errors import AccelwatchError, DeviceLost
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Collected, Link, Reading
from accelwatch.system.kernel import sysfs
from accelwatch.system.processes.line_stream import LineStream
from accelwatch_neuron import faults, listing, load, tree
from accelwatch_neuron.listing import Entry
from accelwatch_neuron.program import Program

_PROGRAM, _MONITOR = "neuron-ls", "neuron-monitor"
_FOLDERS = ("opt/aws/neuron/bin",)
_REMEDY = "install aws-neuronx-tools, or name it in collect.options.neuron.neuron_ls"
_FIRST_WAIT_S = 3.0
# From one record of neuron-monitor to the next, as long as nobody configures it.
_PERIOD_S = 5.0
_AMAZON = 0x1D0F
# PCI devices Inferentia, Trainium, Inferentia2, Trainium2; Amazon's disks and NICs are others.
_CHIPS = frozenset({*range(0x7064, 0x7068), 0x7164, 0x7264, 0x7364})
_SOURCE = "sysfs"
_FABRIC = "neuronlink"


class NeuronBackend:
    """Options: `neuron_ls`, `neuron_monitor` (paths), `pace_s` (seconds between runs of neuron-ls)."""

    name = "neuron"
    vendor = tree.VENDOR
    serial = False
    options = (
        Option("neuron_ls", is_path=True),
        Option("neuron_monitor", is_path=True),
        Option("pace_s"),
    )
    support = Support(
        vendor="AWS Neuron",
        source="the driver's sysfs for ECC and memory; `neuron-ls` for place, size and processes; "
        "`neuron-monitor` for load",
        tested_with="recorded values, list and records of a trn1.2xlarge; tables and tree of the "
        "vendor's guide; composed machines, healthy and faulty",
    )

    def __init__(self, context: Context) -> None:
        self._context = context
        self._polled: Polled[dict[int, Entry]] | None = None
        self._stream: LineStream | None = None

    def probe(self) -> Probe:
        """Look for the driver's tree, then on the PCI bus."""
        driven = bool(tree.folders(self._context.root))
        there = driven or bool(self._on_bus())
        checks = (
            Check(subject="the driver's devices in sysfs", ok=driven),
            Check(subject=_PROGRAM, ok=self._find() is not None, remedy=_REMEDY),
        )
        return Probe(present=there, checks=checks)

    def open(self) -> Opened:
        """Find the command. Raises BackendUnavailable without the driver."""
        try:
            return self._open()
        except BackendUnavailable as refusal:
            raise refusal.with_devices(self.discover() or self._bare()) from None

    def _open(self) -> Opened:
        root, program = self._context.root, self._find()
        named = self._context.options.get("neuron_monitor")
        monitor = chosen_program(root, named, (_MONITOR,), _FOLDERS)
        if not tree.folders(root):
            raise BackendUnavailable(
                "there is no device below /sys/devices/virtual/neuron_device",
                reason="driver_not_loaded",
                remedy="install aws-neuronx-dkms and load it: modprobe neuron",
            )
        version = tree.driver_version(root)
        versions = {"driver": version} if version else {}
        pace_s = pace_of(self._context.options, self.name)
        source = _SOURCE
        if program is not None:
            self._polled = Polled(Program(program), self._context.clock, pace_s=pace_s)
            source += f"+{_PROGRAM}"
        if monitor is not None:
            self._stream = LineStream([str(monitor)], self._context.clock)
            source += f"+{_MONITOR}"
        return Opened(source=source, versions=versions)

    def discover(self) -> Sequence[Device]:
        """The devices of the driver."""
        root = self._context.root
        return [tree.device(root, index, at) for index, at in tree.folders(root).items()]

    def identify(self, device: Device) -> Sequence[Device]:
        """The device with its PCI id, where neuron-ls reports it. Raises DeviceLost."""
        self._folder(device)
        entry, _ = self._entry(device.index, _FIRST_WAIT_S)
        bus = None if entry is None else entry.pci_bus_id
        numa = None if bus is None else sysfs.numa_node(self._context.root, bus)
        if numa is None and entry is not None:
            numa = entry.numa_node
        return [msgspec.structs.replace(device, pci_bus_id=bus, numa_node=numa)]

    def read(self, device: Device, request: Request) -> Sequence[Reading]:
        """What the driver counts now, and what neuron-ls listed last. Raises DeviceLost."""
        folder = self._folder(device)
        out = Collected(device.id)
        tree.collect_ecc(out, folder)
        tree.collect_memory(out, folder)
        faults.collect_faults(out, folder)
        current_load, age_s = self._load()
        entry, why = self._entry(device.index, TIMEOUT_S)
        cores = None if entry is None else entry.cores
        load.collect_load(out, device.index, current_load, cores)
        tree.collect_corrected(out, folder)
        size = None if entry is None else entry.memory_bytes
        out.put_or_miss("memory_size_bytes", why if size is None else size)
        sources = {"*": _SOURCE, "memory_size_bytes": _PROGRAM, "processes": _PROGRAM}
        sources |= dict.fromkeys(("utilization_ratio", "core_utilization_ratio"), _MONITOR)
        links = self._links(device, folder, entry)
        if not request.processes:
            out.miss("processes", Absence.NOT_COLLECTED)
        elif entry is None or entry.processes is None:
            out.miss("processes", why)
        else:
            numbers = _aged(out.reading(sources=sources, links=links), age_s)
            request.numbers([numbers])
            numbers_of_cores = load.cores_of(device.index, current_load, cores) or ()
            uses = {} if isinstance(current_load, Absence) else current_load.of_processes
            listed = listing.processes_of(device.id, entry, uses, numbers_of_cores)
            return [with_processes(self._context.root, numbers, listed)]
        return [_aged(out.reading(sources=sources, links=links), age_s)]

    def close(self) -> None:
        """Stop polling."""
        if self._polled is not None:
            self._polled.close()
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.close()

    def _folder(self, device: Device) -> Path:
        folder = tree.folders(self._context.root).get(device.index)
        if folder is None:
            raise DeviceLost(f"{device.name}: the driver shows it no more", code="not_listed")
        return folder

    def _entry(self, index: int, wait_s: float) -> tuple[Entry | None, Absence]:
        """What neuron-ls says of the device; the reason is for what it does not say."""
        if self._polled is None:
            return None, Absence.UNSUPPORTED
        try:
            entry = self._polled.answer(wait_s).document.get(index)
        except AccelwatchError:
            return None, Absence.ERROR
        return entry, Absence.ERROR if entry is None else Absence.UNSUPPORTED

    def _links(self, device: Device, folder: Path, entry: Entry | None) -> tuple[Link, ...]:
        """To which devices; nothing reports whether a link is up."""
        listed = None if entry is None else entry.neighbours
        peers = tree.neighbours(folder) if listed is None else listed
        others = dict.fromkeys(peer for peer in peers or () if peer != device.index)
        return tuple(
            Link(fabric=_FABRIC, link=str(peer), remote=self._pci_address(peer)) for peer in others
        )

    def _pci_address(self, index: int) -> str | None:
        """Where the device is on the bus, by the last list."""
        entry, _ = self._entry(index, 0.0)
        return None if entry is None else entry.pci_bus_id

    def _load(self) -> tuple[load.Load | Absence, float]:
        """The newest record and its age in seconds; why there is none, and 0."""
        if self._stream is None:
            return Absence.UNSUPPORTED, 0.0
        newest = self._stream.newest()
        if newest is None:
            early = self._stream.awaits_first
            return Absence.NOT_COLLECTED if early else Absence.TIMEOUT, 0.0
        line, age_s = newest
        current_load = load.parse(line)
        return (Absence.ERROR, 0.0) if current_load is None else (current_load, age_s)

    def _bare(self) -> list[Device]:
        """The devices by their PCI ids: without the driver nothing else is known."""
        prefix = self.name
        return bare_devices(self._context.root, self._on_bus(), vendor=self.vendor, prefix=prefix)

    def _on_bus(self) -> list[str]:
        functions = sysfs.pci_functions(self._context.root, _AMAZON)
        return [bus for bus, device, _ in functions if device in _CHIPS]

    def _find(self) -> Path | None:
        named = self._context.options.get("neuron_ls")
        return chosen_program(self._context.root, named, (_PROGRAM,), _FOLDERS)


def _aged(reading: Reading, age_s: float) -> Reading:
    """As old as its oldest part."""
    pace_s = _PERIOD_S if age_s else 0.0
    return msgspec.structs.replace(reading, age_s=age_s, pace_s=pace_s)
