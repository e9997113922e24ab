"""GPUs of Moore Threads: found on the PCI bus, read through mthreads-gmi, two runs for all of them."""

from collections.abc import Sequence

from accelwatch.backend import Support, Visibility
from accelwatch.backend_kit.quantity_text import BYTES
from accelwatch.backend_kit.smi.backend import SmiBackend
from accelwatch.backend_kit.smi.listing import Gpu
from accelwatch.backend_kit.smi.queries import Query
from accelwatch.backend_kit.tool_backend import Command
from accelwatch.backend_kit.vendor_tool import ACCELERATOR, DISPLAY
from accelwatch.schema.device import Device, DeviceKind
from accelwatch.schema.reading import Reading
from accelwatch_mthreads import mapping
from accelwatch_mthreads.document import parse_json, parse_text
from accelwatch_mthreads.table import parse_table


class MthreadsBackend(SmiBackend):
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
    queries = (Query(("-q", "--json"), parse_json), Query(("-q",), parse_text))
    table = Query((), parse_table)
    memory_units = BYTES

    def numbers(self, device: Device, gpu: Gpu) -> Reading:
        """What a listing says of a GPU, without its processes."""
        return mapping.read(device.id, gpu)

    def identify(self, device: Device) -> Sequence[Device]:
        """The GPU by its uuid; it has no partitions. Raises ReadError."""
        answer, gpu = self.tool.entry_for(device)
        version = self.driver_version(answer.document)
        return [mapping.identified(device, gpu, version, self.node(f"mtgpu.{gpu.number}"))]
