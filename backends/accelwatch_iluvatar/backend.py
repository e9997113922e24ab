"""GPUs of Iluvatar CoreX: found on the PCI bus, read through ixsmi, two runs for all of them."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from accelwatch import sysfs
from accelwatch.backend import Check, Context, Opened, Probe, Request, Support, Visibility
from accelwatch.errors import BackendUnavailable
from accelwatch.listed_process import with_processes
from accelwatch.schema.absence import Absence
from accelwatch.schema.device import Device, DeviceKind
from accelwatch.schema.reading import Reading
from accelwatch.smi_blocks import whole_number
from accelwatch.smi_listing import Gpu, Listing
from accelwatch.smi_processes import processes_of
from accelwatch.smi_queries import Queries, Query
from accelwatch.vendor_program import chosen_program, output_of
from accelwatch.vendor_tool import ACCELERATOR, DISPLAY, TIMEOUT_S, VendorTool, accelerators
from accelwatch.whole_output import Judge, never
from accelwatch_iluvatar import mapping
from accelwatch_iluvatar.document import parse_table, parse_text, parse_xml

VENDOR_ID = 0x1E3E
_CLASSES = (ACCELERATOR, DISPLAY)
_PROGRAM = "ixsmi"
_REMEDY = "install the CoreX driver, which brings ixsmi under /usr/local/corex"
_QUERIES = (Query(("-q", "-x"), parse_xml), Query(("-q",), parse_text))
_LIBRARIES = ("lib64", "lib")


class IluvatarBackend:
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

    def __init__(self, context: Context) -> None:
        self._context = context
        self._program = Path()
        self._tool: VendorTool[Listing, Gpu] | None = None

    def probe(self) -> Probe:
        """Look for the vendor on the PCI bus and for its driver."""
        there = bool(accelerators(self._context, VENDOR_ID, _CLASSES))
        folder = self._context.root / "sys/module/iluvatar"
        checks = (
            Check(subject="PCI 1e3e, class 12 or 03", ok=there),
            Check(subject=str(folder), ok=folder.is_dir(), remedy="load the driver: iluvatar"),
            Check(subject=_PROGRAM, ok=self._find() is not None, remedy=_REMEDY),
        )
        return Probe(present=there or folder.is_dir(), checks=checks)

    def open(self) -> Opened:
        """Find the command and begin to ask it. Raises BackendUnavailable."""
        program = self._find()
        if program is None:
            raise BackendUnavailable(
                "ixsmi was found neither in /usr/local/corex/bin nor in the folders of commands",
                reason="command_not_found",
                remedy=_REMEDY,
            )
        self._program = program
        self._tool = VendorTool(
            self._context,
            Queries(self._run, _QUERIES, parse_table).ask,
            lambda listing: listing.gpus,
            name=self.name,
            command=_PROGRAM,
            prefix="iluvatar",
            vendor_id=VENDOR_ID,
            nodes="iluvatar[0-9]*",
            classes=_CLASSES,
            kind=DeviceKind.GPU,
        )
        first = self._tool.first()
        version = None if first is None else first.driver_version
        return Opened(source=_PROGRAM, versions={"driver": version} if version else {})

    def discover(self) -> Sequence[Device]:
        """What is on the PCI bus, then what only the command lists. Raises BackendUnavailable."""
        return self._opened.discover()

    def identify(self, device: Device) -> Sequence[Device]:
        """The GPU by its uuid; it has no partitions. Raises ReadError."""
        answer, gpu = self._opened.entry_for(device)
        version = answer.document.driver_version or self._driver_version()
        return [mapping.identified(device, gpu, version, self._node(gpu))]

    def read(self, device: Device, request: Request) -> Sequence[Reading]:
        """What the newest document says. Raises ReadError."""
        answer, gpu = self._opened.entry_for(device)
        numbers = msgspec.structs.replace(
            mapping.read(device, gpu), age_s=answer.age_s, pace_s=answer.pace_s
        )
        jobs = answer.document.jobs
        if not request.processes or jobs is None:
            reason = Absence.ERROR if request.processes else Absence.NOT_COLLECTED
            absent = {**numbers.absent, ("processes",): reason}
            return [msgspec.structs.replace(numbers, absent=absent)]
        request.numbers([numbers])
        mine = [job for job in jobs if job.number == gpu.number]
        listed = processes_of(device.id, mine, mapping.MEBIBYTES)
        return [with_processes(self._context.root, numbers, listed)]

    def close(self) -> None:
        """Ask no more."""
        if self._tool is not None:
            self._tool.close()

    @property
    def _opened(self) -> VendorTool[Listing, Gpu]:
        assert self._tool is not None
        return self._tool

    def _run(self, *arguments: str, is_whole: Judge = never) -> bytes:
        return output_of(
            self._program,
            *arguments,
            timeout_s=TIMEOUT_S,
            environ=_libraries(self._program),
            is_whole=is_whole,
        )

    def _node(self, gpu: Gpu) -> str | None:
        """The device node, by the minor number: in a container it is not the index."""
        minor = whole_number(gpu.text(("minor_number",), ("minor number",)))
        if minor is None or not (self._context.root / f"dev/iluvatar{minor}").exists():
            return None
        return f"/dev/iluvatar{minor}"

    def _driver_version(self) -> str | None:
        version = sysfs.read_text(self._context.root / "sys/module/iluvatar/version")
        return None if isinstance(version, Absence) else version[:64] or None

    def _find(self) -> Path | None:
        named = self._context.options.get("ixsmi")
        return chosen_program(self._context.root, named, (_PROGRAM,), ("usr/local/corex/bin",))


def _libraries(program: Path) -> dict[str, str]:
    """The libraries beside the command, which the driver's installer makes known to nobody."""
    home = program.parent.parent
    folders = [home / name for name in _LIBRARIES if (home / name / "libixml.so").exists()]
    return {"LD_LIBRARY_PATH": ":".join(map(str, folders))} if folders else {}
