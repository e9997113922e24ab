"""DCUs of Hygon: found on the PCI bus, read through hy-smi and files of the driver."""

from collections.abc import Callable, Sequence
from functools import partial

import msgspec

from accelwatch.backend import Probe, Request, Support, Visibility
from accelwatch.backend.kit import driver_modules
from accelwatch.backend.kit.tool_backend import ToolBackend
from accelwatch.base.absence import Absence
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Reading
from accelwatch.system.kernel import proc, sysfs
from accelwatch.system.kernel.pcie_link import collect_link
from accelwatch_hygon import driver_files, mapping
from accelwatch_hygon.command import COMMAND
from accelwatch_hygon.document import Card, ToolOutput
from accelwatch_hygon.rounds import Rounds


class HygonBackend(ToolBackend[ToolOutput, Card]):
    """Options: `hy_smi` (path of the command), `pace_s` (seconds between two rounds)."""

    name = "hygon"
    vendor = mapping.VENDOR
    serial = False
    remote = "accelwatch_hygon.remote:REMOTE"
    visibility = Visibility(variable="HIP_VISIBLE_DEVICES")
    support = Support(
        vendor="Hygon",
        source="`hy-smi` as JSON and table, its processes and health check; sysfs",
        tested_with="a recorded table and the recorded identity of K100_AI cards; composed output of "
        "several releases, healthy and faulty",
    )
    command = COMMAND
    options = command.options

    def probe(self) -> Probe:
        """Look for the vendor's cards on the PCI bus, then for its driver and command."""
        return driver_modules.probe(self, self._context.root, driver_files.DRIVERS)

    def make_query(self) -> Callable[[], ToolOutput]:
        """A few runs, one after another."""
        root, vendor = self._context.root, self.command.vendor_id
        is_foreign = partial(driver_files.is_of_another_vendor, root, vendor_id=vendor)
        return Rounds(self.run, self.on_bus, is_foreign).query

    def listed(self, answer: ToolOutput) -> Sequence[Card]:
        """The cards in an answer."""
        return answer.cards

    def reported_version(self, answer: ToolOutput) -> str | None:
        """Of the driver."""
        return answer.driver_version

    def module_version(self) -> str | None:
        """Of the module that is loaded, which has several names."""
        return driver_modules.module_version(self._context.root, driver_files.DRIVERS)

    def identify(self, device: Device) -> Sequence[Device]:
        """The card by its unique id. Raises ReadError."""
        answer, card = self.tool.entry_for(device)
        root, bus = self._context.root, device.pci_bus_id
        if bus is not None:
            device = msgspec.structs.replace(
                device,
                uuid=mapping.uuid_of(driver_files.unique_id(root, bus)),
                device_nodes=sysfs.drm_nodes(root, bus),
            )
        version = self.driver_version(answer.document)
        return [mapping.identified(device, card, version)]

    def read(self, device: Device, request: Request) -> Sequence[Reading]:
        """What the newest round says, and the driver's files. Raises ReadError."""
        answer, card = self.tool.entry_for(device)
        root, bus = self._context.root, device.pci_bus_id
        out, sources = mapping.collect(device.id, card), {"*": mapping.SOURCE}
        if bus is not None:
            collect_link(out, root, bus)
            from_files = driver_files.collect_memory(out, root, bus)
            keys = ("pcie_link_generation", "pcie_link_width_lanes", *from_files)
            sources |= dict.fromkeys(keys, driver_files.SOURCE)
        jobs = answer.document.jobs
        return self.readings(
            request,
            answer,
            out.reading(sources=sources, notes=mapping.notes_of(card)),
            Absence.ERROR
            if jobs is None
            else lambda: mapping.processes_of(device.id, card.number, jobs, self._name_of),
        )

    def _name_of(self, pid: int) -> str | None:
        """The driver reports pids of the host."""
        root = self._context.root
        facts = proc.facts(root, pid) if proc.shows_host_pids(root) else None
        return None if facts is None else facts.command
