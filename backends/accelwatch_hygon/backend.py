"""DCUs of Hygon: found on the PCI bus, read through hy-smi and files of the driver."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from accelwatch import proc, sysfs
from accelwatch.backend import Check, Context, Opened, Probe, Request, Support, Visibility
from accelwatch.errors import BackendUnavailable
from accelwatch.listed_process import with_processes
from accelwatch.pcie_link import put_link
from accelwatch.schema.absence import Absence
from accelwatch.schema.device import Device, DeviceKind
from accelwatch.schema.reading import Reading
from accelwatch.vendor_program import chosen_program
from accelwatch.vendor_tool import ACCELERATOR, DISPLAY, VendorTool, accelerators
from accelwatch_hygon import driver_files, mapping
from accelwatch_hygon.document import Card, Document
from accelwatch_hygon.rounds import Rounds

VENDOR_ID = 0x1D94
_CLASSES = (ACCELERATOR, DISPLAY)
"""The same vendor's CPUs, bridges and network functions have others."""
_FOLDERS = ("opt/hyhal/bin", "usr/local/hyhal/bin", "opt/dtk/bin")
_REMEDY = "install the driver package (hyhal), which brings /opt/hyhal/bin/hy-smi"


class HygonBackend:
    """Options: `hy_smi` (path of the command), `pace_s` (seconds between two rounds)."""

    name = "hygon"
    vendor = mapping.VENDOR
    serial = False
    visibility = Visibility(variable="HIP_VISIBLE_DEVICES")
    support = Support(
        vendor="Hygon",
        source="`hy-smi` as JSON and table, its processes and health check; sysfs",
        tested_with="a recorded table and the recorded identity of K100_AI cards; composed output of "
        "several releases, healthy and faulty",
    )

    def __init__(self, context: Context) -> None:
        self._context = context
        self._tool: VendorTool[Document, Card] | None = None

    def probe(self) -> Probe:
        """Look for the vendor's cards on the PCI bus, then for its driver and command."""
        root = self._context.root
        there = bool(accelerators(self._context, VENDOR_ID, _CLASSES))
        checks = [Check(subject="PCI 1d94, class 03 or 12", ok=there)]
        present = there or (not sysfs.shows_pci(root) and driver_files.is_loaded(root))
        if present:
            loaded = driver_files.is_loaded(root)
            names = " or ".join(driver_files.DRIVERS)
            checks += [
                Check(subject=names, ok=loaded, remedy="load the driver: modprobe hydcu"),
                Check(subject="hy-smi", ok=self._find() is not None, remedy=_REMEDY),
            ]
        return Probe(present=present, checks=tuple(checks))

    def open(self) -> Opened:
        """Find the command and begin to ask it. Raises BackendUnavailable."""
        program = self._find()
        if program is None:
            raise BackendUnavailable(
                "hy-smi was not found in /opt/hyhal/bin and the folders of commands",
                reason="command_not_found",
                remedy=_REMEDY,
            )
        rounds = Rounds(self._context.root, program, self._on_bus, VENDOR_ID)
        self._tool = VendorTool(
            self._context,
            rounds.ask,
            lambda document: document.cards,
            name=self.name,
            command="hy-smi",
            prefix="dcu",
            vendor_id=VENDOR_ID,
            classes=_CLASSES,
            kind=DeviceKind.GPU,
        )
        version = self._driver_version(self._tool.first())
        return Opened(source=mapping.SOURCE, versions={"driver": version} if version else {})

    def discover(self) -> Sequence[Device]:
        """What is on the PCI bus, then what only the command lists. Raises BackendUnavailable."""
        return self._opened.discover()

    def identify(self, device: Device) -> Sequence[Device]:
        """The card by its unique id. Raises ReadError."""
        answer, card = self._opened.entry_for(device)
        root, bus = self._context.root, device.pci_bus_id
        if bus is not None:
            device = msgspec.structs.replace(
                device,
                uuid=mapping.uuid_of(driver_files.unique_id(root, bus)),
                device_nodes=sysfs.drm_nodes(root, bus),
            )
        version = self._driver_version(answer.document)
        return [mapping.identified(device, card, version)]

    def read(self, device: Device, request: Request) -> Sequence[Reading]:
        """What the newest round says, and the driver's files. Raises ReadError."""
        answer, card = self._opened.entry_for(device)
        root, bus = self._context.root, device.pci_bus_id
        out, sources = mapping.collect(device.id, card), {"*": mapping.SOURCE}
        if bus is not None:
            put_link(out, root, bus)
            from_files = driver_files.put_memory(out, root, bus)
            keys = ("pcie_link_generation", "pcie_link_width_lanes", *from_files)
            sources |= dict.fromkeys(keys, driver_files.SOURCE)
        jobs = answer.document.jobs
        if not request.processes or jobs is None:
            out.miss("processes", Absence.ERROR if request.processes else Absence.NOT_COLLECTED)
        numbers = msgspec.structs.replace(
            out.reading(sources=sources, notes=mapping.notes_of(card)),
            age_s=answer.age_s,
            pace_s=answer.pace_s,
        )
        if not request.processes or jobs is None:
            return [numbers]
        request.numbers([numbers])
        listed = mapping.processes_of(device.id, card.number, jobs, self._name_of)
        return [with_processes(root, numbers, listed)]

    def close(self) -> None:
        """Ask no more."""
        if self._tool is not None:
            self._tool.close()

    @property
    def _opened(self) -> VendorTool[Document, Card]:
        assert self._tool is not None
        return self._tool

    def _on_bus(self) -> list[str]:
        return accelerators(self._context, VENDOR_ID, _CLASSES)

    def _name_of(self, pid: int) -> str | None:
        """The driver tells pids of the host."""
        root = self._context.root
        facts = proc.facts(root, pid) if proc.shows_host_pids(root) else None
        return None if facts is None else facts.command

    def _driver_version(self, document: Document | None) -> str | None:
        told = None if document is None else document.driver_version
        return told or driver_files.driver_version(self._context.root)

    def _find(self) -> Path | None:
        named = self._context.options.get("hy_smi")
        return chosen_program(self._context.root, named, ("hy-smi",), _FOLDERS)
