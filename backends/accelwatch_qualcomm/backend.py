"""Qualcomm Cloud AI accelerators: found on the PCI bus, read through one run of qaic-util."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from accelwatch import sysfs
from accelwatch.backend import Check, Context, Opened, Probe, Request, Support
from accelwatch.errors import BackendUnavailable
from accelwatch.pcie_link import put_link
from accelwatch.schema.absence import Absence
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Reading
from accelwatch.vendor_program import chosen_program, output_of
from accelwatch.vendor_tool import TIMEOUT_S, VendorTool, accelerators
from accelwatch_qualcomm import mapping
from accelwatch_qualcomm.document import IS_WHOLE, Chip, Listing, parse

VENDOR_ID = 0x17CB
_MODELS = {0xA100: "Cloud AI 100", 0xA080: "Cloud AI 80"}
_PROGRAM = "qaic-util"
_FOLDERS = ("opt/qti-aic/tools",)
_REMEDY = "install the Cloud AI Platform SDK, which brings qaic-util under /opt/qti-aic/tools"


class QualcommBackend:
    """Options: `qaic_util` (path of the command), `pace_s` (seconds between two runs)."""

    name = "qualcomm"
    vendor = mapping.VENDOR
    serial = False
    remote = "accelwatch_qualcomm.remote:REMOTE"
    support = Support(
        vendor="Qualcomm",
        source="`qaic-util -q`; sysfs for the PCIe link",
        tested_with="recorded text of an eight-card server and of a card with two chips, both cut; "
        "composed text, healthy and faulty",
    )

    def __init__(self, context: Context) -> None:
        self._context = context
        self._program = Path()
        self._tool: VendorTool[Listing, Chip] | None = None

    def probe(self) -> Probe:
        """Look for the vendor's accelerators on the PCI bus and for their driver."""
        there = bool(accelerators(self._context, VENDOR_ID))
        folder = self._context.root / "sys/module/qaic"
        checks = (
            Check(subject="PCI 17cb, class 12", ok=there),
            Check(subject=str(folder), ok=folder.is_dir(), remedy="load the driver: qaic"),
            Check(subject=_PROGRAM, ok=self._find() is not None, remedy=_REMEDY),
        )
        return Probe(present=there or folder.is_dir(), checks=checks)

    def open(self) -> Opened:
        """Find the command and begin to ask it. Raises BackendUnavailable."""
        program = self._find()
        if program is None:
            raise BackendUnavailable(
                "qaic-util was found neither in /opt/qti-aic/tools nor in the folders of commands",
                reason="command_not_found",
                remedy=_REMEDY,
            )
        self._program = program
        self._tool = VendorTool(
            self._context,
            lambda: parse(output_of(self._program, "-q", timeout_s=TIMEOUT_S, is_whole=IS_WHOLE)),
            lambda listing: listing.chips,
            name=self.name,
            command=_PROGRAM,
            prefix="qaic",
            vendor_id=VENDOR_ID,
        )
        self._tool.first()
        version = self._driver_version()
        return Opened(source=_PROGRAM, versions={"driver": version} if version else {})

    def discover(self) -> Sequence[Device]:
        """What is on the PCI bus, then what only the command lists. Raises BackendUnavailable."""
        return self._opened.discover()

    def identify(self, device: Device) -> Sequence[Device]:
        """The chip by its own serial number; it has no partitions. Raises ReadError."""
        _, chip = self._opened.entry_for(device)
        return [mapping.identified(device, chip, self._model(device), self._driver_version())]

    def read(self, device: Device, request: Request) -> Sequence[Reading]:
        """What the newest answer says. Raises ReadError."""
        answer, chip = self._opened.entry_for(device)
        chips = answer.document.chips
        out = mapping.collected(device.id, chip, chips)
        sources = {"*": _PROGRAM}
        if device.pci_bus_id is not None:
            put_link(out, self._context.root, device.pci_bus_id)
            sources |= dict.fromkeys(("pcie_link_generation", "pcie_link_width_lanes"), "sysfs")
        reason = Absence.UNSUPPORTED if request.processes else Absence.NOT_COLLECTED
        out.miss("processes", reason)
        reading = out.reading(sources=sources, notes=mapping.notes(chip, chips))
        return [msgspec.structs.replace(reading, age_s=answer.age_s, pace_s=answer.pace_s)]

    def close(self) -> None:
        """Ask no more."""
        if self._tool is not None:
            self._tool.close()

    @property
    def _opened(self) -> VendorTool[Listing, Chip]:
        assert self._tool is not None
        return self._tool

    def _model(self, device: Device) -> str | None:
        if device.pci_bus_id is None:
            return None
        folder = sysfs.pci_device_dir(self._context.root, device.pci_bus_id)
        number = sysfs.read_int(folder / "device")
        return _MODELS.get(number) if isinstance(number, int) else None

    def _driver_version(self) -> str | None:
        version = sysfs.read_text(self._context.root / "sys/module/qaic/version")
        return None if isinstance(version, Absence) else version[:64] or None

    def _find(self) -> Path | None:
        named = self._context.options.get("qaic_util")
        return chosen_program(self._context.root, named, (_PROGRAM,), _FOLDERS)
