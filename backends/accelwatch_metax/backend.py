"""GPUs of MetaX: found on the PCI bus, read through mx-smi."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from accelwatch import sysfs
from accelwatch.backend import Check, Context, Opened, Probe, Request, Support, Visibility
from accelwatch.errors import BackendUnavailable
from accelwatch.listed_process import with_processes
from accelwatch.pcie_link import put_link
from accelwatch.schema.absence import Absence
from accelwatch.schema.device import Device, DeviceKind
from accelwatch.schema.reading import Reading
from accelwatch.vendor_program import chosen_program
from accelwatch.vendor_tool import ACCELERATOR, DISPLAY, VendorTool, accelerators
from accelwatch_metax import mapping
from accelwatch_metax.document import Document, Gpu
from accelwatch_metax.rounds import Rounds

VENDOR_ID = 0x9999
_CLASSES = (DISPLAY, ACCELERATOR)
_PROGRAMS = ("mx-smi", "ht-smi")
"""The second is of the Mars boards, with the same output."""
_FOLDERS = ("opt/mxdriver/bin", "opt/maca/bin", "opt/hpcc/bin")
_REMEDY = "install the driver package (mxdriver), which brings /opt/mxdriver/bin/mx-smi"
_LINK = ("pcie_link_generation", "pcie_link_width_lanes")


class MetaxBackend:
    """Options: `mx_smi` (path of the command), `pace_s` (seconds between two rounds)."""

    name = "metax"
    vendor = mapping.VENDOR
    serial = False
    visibility = Visibility(variable="MACA_VISIBLE_DEVICES")
    support = Support(
        vendor="MetaX",
        source="`mx-smi`: its table, list, temperatures, loads and ECC counts; sysfs for the link",
        tested_with="recorded list and temperatures of C500 cards; composed tables of several "
        "releases, healthy and faulty",
    )

    def __init__(self, context: Context) -> None:
        self._context = context
        self._tool: VendorTool[Document, Gpu] | None = None

    def probe(self) -> Probe:
        """Look for the vendor's GPUs on the PCI bus, then for its driver and command."""
        root = self._context.root
        there = bool(accelerators(self._context, VENDOR_ID, _CLASSES))
        checks = [Check(subject="PCI 9999, class 03 or 12", ok=there)]
        loaded = (root / "sys/module/metax").is_dir()
        present = there or (not sysfs.shows_pci(root) and loaded)
        if present:
            checks += [
                Check(subject="metax", ok=loaded, remedy="load the driver: modprobe metax"),
                Check(subject="mx-smi", ok=self._find() is not None, remedy=_REMEDY),
            ]
        return Probe(present=present, checks=tuple(checks))

    def open(self) -> Opened:
        """Find the command and begin to ask it. Raises BackendUnavailable."""
        program = self._find()
        if program is None:
            raise BackendUnavailable(
                "mx-smi was not found in /opt/mxdriver/bin and the folders of commands",
                reason="command_not_found",
                remedy=_REMEDY,
            )
        self._tool = VendorTool(
            self._context,
            Rounds(program).ask,
            lambda document: document.gpus,
            name=self.name,
            command=program.name,
            prefix="metax",
            vendor_id=VENDOR_ID,
            classes=_CLASSES,
            kind=DeviceKind.GPU,
        )
        first = self._tool.first()
        return Opened(source=mapping.SOURCE, versions=dict(first.versions) if first else {})

    def discover(self) -> Sequence[Device]:
        """What is on the PCI bus, then what only the command lists. Raises BackendUnavailable."""
        return self._opened.discover()

    def identify(self, device: Device) -> Sequence[Device]:
        """The GPU by its uuid. Raises ReadError."""
        answer, gpu = self._opened.entry_for(device)
        if device.pci_bus_id is not None:
            nodes = sysfs.drm_nodes(self._context.root, device.pci_bus_id)
            device = msgspec.structs.replace(device, device_nodes=nodes)
        return [mapping.identified(device, gpu, answer.document.versions.get("driver"))]

    def read(self, device: Device, request: Request) -> Sequence[Reading]:
        """What the newest round says. Raises ReadError."""
        answer, gpu = self._opened.entry_for(device)
        root, bus = self._context.root, device.pci_bus_id
        out, sources = mapping.collect(device.id, gpu), {"*": mapping.SOURCE}
        if bus is not None:
            put_link(out, root, bus)
            sources |= dict.fromkeys(_LINK, "sysfs")
        jobs = answer.document.jobs
        if not request.processes or jobs is None:
            out.miss("processes", Absence.ERROR if request.processes else Absence.NOT_COLLECTED)
        numbers = msgspec.structs.replace(
            mapping.reading_of(out, gpu, sources), age_s=answer.age_s, pace_s=answer.pace_s
        )
        if not request.processes or jobs is None:
            return [numbers]
        request.numbers([numbers])
        return [with_processes(root, numbers, mapping.processes_of(device.id, gpu.number, jobs))]

    def close(self) -> None:
        """Ask no more."""
        if self._tool is not None:
            self._tool.close()

    @property
    def _opened(self) -> VendorTool[Document, Gpu]:
        assert self._tool is not None
        return self._tool

    def _find(self) -> Path | None:
        named = self._context.options.get("mx_smi")
        return chosen_program(self._context.root, named, _PROGRAMS, _FOLDERS)
