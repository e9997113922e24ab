"""PPUs of T-Head: found on the PCI bus, read through ppu-smi, a few runs for all of them."""

from collections.abc import Callable, Sequence

import msgspec

from accelwatch.backend import Request, Support, Visibility
from accelwatch.backend.kit.listed_process import with_processes, without_processes
from accelwatch.backend.kit.smi.listing import Gpu
from accelwatch.backend.kit.smi.processes import Job, processes_of
from accelwatch.backend.kit.text.quantity import BYTES
from accelwatch.backend.kit.tool_backend import ToolBackend
from accelwatch.base.absence import Absence
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Reading
from accelwatch_thead.icn import record_links
from accelwatch_thead.instances import partition, read_instance
from accelwatch_thead.rounds import Rounds, ToolOutput
from accelwatch_thead.vendor import VENDOR


class TheadBackend(ToolBackend[ToolOutput, Gpu]):
    """Options: `ppu_smi` (path of the command), `pace_s` (seconds between two runs)."""

    name = vendor = VENDOR.name
    serial = False
    remote = "accelwatch_thead.vendor:REMOTE"
    visibility = Visibility(variable="CUDA_VISIBLE_DEVICES")
    support = Support(
        vendor="T-Head",
        source="`ppu-smi -q`; its table for processes, instances and where it has nothing else; "
        "`ppu-smi icn` for links",
        tested_with="recorded identity and numbers of two ZW810E as another tool has them; composed "
        "texts and tables in the shapes of the vendor's manual, healthy and faulty",
    )
    command = VENDOR.command
    options = command.options

    def make_query(self) -> Callable[[], ToolOutput]:
        """A few runs, one after another."""
        return Rounds(self.run).query

    def listed(self, answer: ToolOutput) -> Sequence[Gpu]:
        """The PPUs in an answer."""
        return answer.listing.gpus

    def reported_version(self, answer: ToolOutput) -> str | None:
        """Of the driver."""
        return answer.listing.driver_version

    def identify(self, device: Device) -> Sequence[Device]:
        """The PPU by its uuid, then its instances of MIG. Raises ReadError."""
        answer, gpu = self.tool.entry_for(device)
        document = answer.document
        parent = VENDOR.identified(device, gpu, self.driver_version(document))
        instances = document.instances_of(gpu)
        return [parent, *(partition(parent, instance, document.uuids) for instance in instances)]

    def read(self, device: Device, request: Request) -> Sequence[Reading]:
        """What the newest document says of the PPU and its instances. Raises ReadError."""
        answer, gpu = self.tool.entry_for(device)
        document = answer.document
        out, notes = VENDOR.collect(device, gpu)
        record_links(out, gpu.number, document.links)
        numbers = [out.reading(sources=VENDOR.sources, notes=notes)]
        names: list[str | None] = [None]
        for instance in document.instances_of(gpu):
            numbers.append(read_instance(partition(device, instance, document.uuids).id, instance))
            names.append(instance.name)
        aged = [
            msgspec.structs.replace(reading, age_s=answer.age_s, pace_s=answer.pace_s)
            for reading in numbers
        ]
        jobs = document.listing.jobs
        if not request.processes or jobs is None:
            reason = Absence.ERROR if request.processes else Absence.NOT_COLLECTED
            return [without_processes(reading, reason) for reading in aged]
        request.numbers(aged)
        mine = [job for job in jobs if job.number == gpu.number]
        return [
            self._with_jobs(reading, [job for job in mine if name in (None, job.instance)])
            for reading, name in zip(aged, names, strict=True)
        ]

    def _with_jobs(self, numbers: Reading, jobs: Sequence[Job]) -> Reading:
        listed = processes_of(numbers.device_id, jobs, BYTES)
        return with_processes(self._context.root, numbers, listed)
