"""GPUs of Moore Threads: found on the PCI bus, read through mthreads-gmi, two runs for all of them."""

from collections.abc import Callable, Sequence

from accelwatch.backend import Request, Support, Visibility
from accelwatch.quantity_text import BYTES
from accelwatch.schema.absence import Absence
from accelwatch.schema.device import Device, DeviceKind
from accelwatch.schema.reading import Reading
from accelwatch.smi_listing import Gpu, Listing
from accelwatch.smi_processes import processes_of
from accelwatch.smi_queries import Queries, Query
from accelwatch.tool_backend import Command, ToolBackend
from accelwatch.vendor_tool import ACCELERATOR, DISPLAY
from accelwatch_mthreads import mapping
from accelwatch_mthreads.document import parse_json, parse_text
from accelwatch_mthreads.table import parse_table

_QUERIES = (Query(("-q", "--json"), parse_json), Query(("-q",), parse_text))


class MthreadsBackend(ToolBackend[Listing, Gpu]):
    """Options: `mthreads_gmi` (path of the command), `pace_s` (seconds between two runs)."""

    name = "mthreads"
    vendor = mapping.VENDOR
    serial = False
    remote = "accelwatch_mthreads.remote:REMOTE"
    visibility = Visibility(variable="MUSA_VISIBLE_DEVICES")
    support = Support(
        vendor="Moore Threads",
        source="`mthreads-gmi -q --json`, else `-q`; its table for processes and for all that is older",
        tested_with="recorded tables of an S80 and an S5000; composed documents, texts and tables, "
        "healthy and faulty",
    )
    command = Command(
        names=("mthreads-gmi",),
        option="mthreads_gmi",
        remedy="install the Moore Threads driver package, which brings mthreads-gmi",
        vendor_id=0x1ED5,
        prefix="mtgpu",
        driver="sys/module/mtgpu",
        module="mtgpu",
        folders=("usr/local/musa/bin",),
        classes=(DISPLAY, ACCELERATOR),
        kind=DeviceKind.GPU,
        nodes="mtgpu.[0-9]*",
    )
    options = command.options

    def asked(self) -> Callable[[], Listing]:
        """Its fullest query, and its table."""
        return Queries(self.run, _QUERIES, parse_table).ask

    def listed(self, answer: Listing) -> Sequence[Gpu]:
        """The GPUs in an answer."""
        return answer.gpus

    def told_version(self, answer: Listing) -> str | None:
        """Of the driver."""
        return answer.driver_version

    def identify(self, device: Device) -> Sequence[Device]:
        """The GPU by its uuid; it has no partitions. Raises ReadError."""
        answer, gpu = self.tool.entry_for(device)
        version = self.driver_version(answer.document)
        return [mapping.identified(device, gpu, version, self.node(f"mtgpu.{gpu.number}"))]

    def read(self, device: Device, request: Request) -> Sequence[Reading]:
        """What the newest document says. Raises ReadError."""
        answer, gpu = self.tool.entry_for(device)
        jobs = answer.document.jobs
        return self.readings(
            request,
            answer,
            mapping.read(device.id, gpu),
            Absence.ERROR
            if jobs is None
            else lambda: processes_of(
                device.id, [job for job in jobs if job.number == gpu.number], BYTES
            ),
        )
