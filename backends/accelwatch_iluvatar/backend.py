"""GPUs of Iluvatar CoreX: found on the PCI bus, read through ixsmi, two runs for all of them."""

from collections.abc import Mapping, Sequence

from accelwatch.backend import Support, Visibility
from accelwatch.backend_kit.smi.backend import SmiBackend
from accelwatch.backend_kit.smi.blocks import parse_integer
from accelwatch.backend_kit.smi.listing import Gpu
from accelwatch.backend_kit.smi.queries import Query
from accelwatch.backend_kit.tool_backend import Command
from accelwatch.backend_kit.vendor_tool import ACCELERATOR, DISPLAY
from accelwatch.schema.device import Device, DeviceKind
from accelwatch.schema.reading import Reading
from accelwatch_iluvatar import mapping
from accelwatch_iluvatar.document import parse_table, parse_text, parse_xml

_LIBRARIES = ("lib64", "lib")


class IluvatarBackend(SmiBackend):
    """Options: `ixsmi` (path of the command), `pace_s` (seconds between two runs)."""

    name = "iluvatar"
    vendor = mapping.VENDOR
    serial = False
    remote = "accelwatch_iluvatar.remote:REMOTE"
    visibility = Visibility(variable="CUDA_VISIBLE_DEVICES")
    support = Support(
        vendor="Iluvatar",
        source="`ixsmi -q -x`, else `-q`; its table for processes and where it has nothing else",
        tested_with="recorded tables of a BI-V100, BI-V150 and MR-V100 DUO; composed documents, texts "
        "and tables, healthy and faulty",
    )
    command = Command(
        names=("ixsmi",),
        option="ixsmi",
        remedy="install the CoreX driver, which brings ixsmi under /usr/local/corex",
        vendor_id=0x1E3E,
        prefix="iluvatar",
        driver="sys/module/iluvatar",
        module="iluvatar",
        folders=("usr/local/corex/bin",),
        classes=(ACCELERATOR, DISPLAY),
        kind=DeviceKind.GPU,
        nodes="iluvatar[0-9]*",
    )
    options = command.options
    queries = (Query(("-q", "-x"), parse_xml), Query(("-q",), parse_text))
    table = Query((), parse_table)
    memory_units = mapping.MEBIBYTES

    def numbers(self, device: Device, gpu: Gpu) -> Reading:
        """What a listing says of a GPU, without its processes."""
        return mapping.read(device, gpu)

    def environ(self) -> Mapping[str, str]:
        """The libraries beside the command, which the driver's installer makes known to nobody."""
        home = self._program.parent.parent
        folders = [home / name for name in _LIBRARIES if (home / name / "libixml.so").exists()]
        return {"LD_LIBRARY_PATH": ":".join(map(str, folders))} if folders else {}

    def identify(self, device: Device) -> Sequence[Device]:
        """The GPU by its uuid; it has no partitions. Raises ReadError."""
        answer, gpu = self.tool.entry_for(device)
        version = self.driver_version(answer.document)
        return [mapping.identified(device, gpu, version, self._node(gpu))]

    def _node(self, gpu: Gpu) -> str | None:
        """The device node, by the minor number: in a container it is not the index."""
        minor = parse_integer(gpu.text(("minor_number",), ("minor number",)))
        return None if minor is None else self.node(f"iluvatar{minor}")
