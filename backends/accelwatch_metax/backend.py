"""GPUs of MetaX: found on the PCI bus, read through mx-smi."""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from accelwatch.backend import Probe, Request, Support, Visibility
from accelwatch.backend.kit import driver_modules
from accelwatch.backend.kit.tool_backend import ToolBackend
from accelwatch.base.absence import Absence
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Reading
from accelwatch.system.kernel import sysfs
from accelwatch.system.kernel.pcie_link import collect_link
from accelwatch_metax import mapping
from accelwatch_metax.command import COMMAND
from accelwatch_metax.document import Gpu, ToolOutput
from accelwatch_metax.rounds import Rounds

_LINK = ("pcie_link_generation", "pcie_link_width_lanes")


class MetaxBackend(ToolBackend[ToolOutput, Gpu]):
    """Options: `mx_smi` (path of the command), `pace_s` (seconds between two rounds)."""

    name = "metax"
    vendor = mapping.VENDOR
    serial = False
    remote = "accelwatch_metax.remote:REMOTE"
    visibility = Visibility(variable="MACA_VISIBLE_DEVICES")
    support = Support(
        vendor="MetaX",
        source="`mx-smi`: its table, list, temperatures, loads and ECC counts; sysfs for the link",
        tested_with="recorded list and temperatures of C500 cards; composed tables of several "
        "releases, healthy and faulty",
    )
    command = COMMAND
    options = command.options

    def probe(self) -> Probe:
        """Look for the vendor's GPUs on the PCI bus, then for its driver and command."""
        return driver_modules.probe(self, self._context.root, (self.command.module,))

    def make_query(self) -> Callable[[], ToolOutput]:
        """A few runs, one after another."""
        return Rounds(self.run).query

    def listed(self, answer: ToolOutput) -> Sequence[Gpu]:
        """The GPUs in an answer."""
        return answer.gpus

    def reported_version(self, answer: ToolOutput) -> str | None:
        """Of the driver."""
        return answer.versions.get("driver")

    def versions(self, answer: ToolOutput | None) -> Mapping[str, str]:
        """Of all that the table names."""
        return {} if answer is None else answer.versions

    def identify(self, device: Device) -> Sequence[Device]:
        """The GPU by its uuid. Raises ReadError."""
        answer, gpu = self.tool.entry_for(device)
        if device.pci_bus_id is not None:
            nodes = sysfs.drm_nodes(self._context.root, device.pci_bus_id)
            device = msgspec.structs.replace(device, device_nodes=nodes)
        return [mapping.identified(device, gpu, self.driver_version(answer.document))]

    def read(self, device: Device, request: Request) -> Sequence[Reading]:
        """What the newest round says. Raises ReadError."""
        answer, gpu = self.tool.entry_for(device)
        root, bus = self._context.root, device.pci_bus_id
        out, sources = mapping.collect(device.id, gpu), {"*": mapping.SOURCE}
        if bus is not None:
            collect_link(out, root, bus)
            sources |= dict.fromkeys(_LINK, "sysfs")
        jobs = answer.document.jobs
        return self.readings(
            request,
            answer,
            mapping.reading_of(out, gpu, sources),
            Absence.ERROR
            if jobs is None
            else lambda: mapping.processes_of(device.id, gpu.number, jobs),
        )
