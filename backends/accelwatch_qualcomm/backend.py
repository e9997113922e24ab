"""Qualcomm Cloud AI accelerators: found on the PCI bus, read through one run of qaic-util."""

from collections.abc import Callable, Sequence

from accelwatch.backend import Request, Support
from accelwatch.backend.kit.tool_backend import Command, ToolBackend
from accelwatch.base.absence import Absence
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Reading
from accelwatch.system.kernel import sysfs
from accelwatch.system.kernel.pcie_link import collect_link
from accelwatch_qualcomm import mapping
from accelwatch_qualcomm.document import IS_COMPLETE, Chip, Listing, parse

_MODELS = {0xA100: "Cloud AI 100", 0xA080: "Cloud AI 80"}
_PROGRAM = "qaic-util"


class QualcommBackend(ToolBackend[Listing, Chip]):
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
    command = Command(
        names=(_PROGRAM,),
        option="qaic_util",
        remedy="install the Cloud AI Platform SDK, which brings qaic-util under /opt/qti-aic/tools",
        vendor_id=0x17CB,
        prefix="qaic",
        driver="sys/module/qaic",
        module="qaic",
        folders=("opt/qti-aic/tools",),
    )
    options = command.options

    def make_query(self) -> Callable[[], Listing]:
        """One run."""
        return lambda: parse(self.run("-q", is_complete=IS_COMPLETE))

    def listed(self, answer: Listing) -> Sequence[Chip]:
        """The chips in an answer."""
        return answer.chips

    def identify(self, device: Device) -> Sequence[Device]:
        """The chip by its own serial number; it has no partitions. Raises ReadError."""
        _, chip = self.tool.entry_for(device)
        return [mapping.identified(device, chip, self._model(device), self.module_version())]

    def read(self, device: Device, request: Request) -> Sequence[Reading]:
        """What the newest answer says. Raises ReadError."""
        answer, chip = self.tool.entry_for(device)
        chips = answer.document.chips
        out = mapping.collected(device.id, chip, chips)
        sources = {"*": _PROGRAM}
        if device.pci_bus_id is not None:
            collect_link(out, self._context.root, device.pci_bus_id)
            sources |= dict.fromkeys(("pcie_link_generation", "pcie_link_width_lanes"), "sysfs")
        numbers = out.reading(sources=sources, notes=mapping.notes(chip, chips))
        return self.readings(request, answer, numbers, Absence.UNSUPPORTED)

    def _model(self, device: Device) -> str | None:
        if device.pci_bus_id is None:
            return None
        folder = sysfs.pci_device_dir(self._context.root, device.pci_bus_id)
        number = sysfs.read_int(folder / "device")
        return _MODELS.get(number) if isinstance(number, int) else None
