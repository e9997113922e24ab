"""GPUs of Moore Threads: found on the PCI bus, read through mthreads-gmi, two runs for all of them."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from accelwatch import sysfs
from accelwatch.backend import Check, Context, Opened, Probe, Request, Support, Visibility
from accelwatch.errors import BackendUnavailable
from accelwatch.listed_process import with_processes
from accelwatch.quantity_text import BYTES
from accelwatch.schema.absence import Absence
from accelwatch.schema.device import Device, DeviceKind
from accelwatch.schema.reading import Reading
from accelwatch.smi_listing import Gpu, Listing
from accelwatch.smi_processes import processes_of
from accelwatch.smi_queries import Queries, Query
from accelwatch.vendor_program import chosen_program, output_of
from accelwatch.vendor_tool import ACCELERATOR, DISPLAY, TIMEOUT_S, VendorTool, accelerators
from accelwatch.whole_output import Judge, never
from accelwatch_mthreads import mapping
from accelwatch_mthreads.document import parse_json, parse_text
from accelwatch_mthreads.table import parse_table

VENDOR_ID = 0x1ED5
_CLASSES = (DISPLAY, ACCELERATOR)
_PROGRAM = "mthreads-gmi"
_REMEDY = "install the Moore Threads driver package, which brings mthreads-gmi"
_QUERIES = (Query(("-q", "--json"), parse_json), Query(("-q",), parse_text))


class MthreadsBackend:
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

    def __init__(self, context: Context) -> None:
        self._context = context
        self._program = Path()
        self._tool: VendorTool[Listing, Gpu] | None = None

    def probe(self) -> Probe:
        """Look for the vendor on the PCI bus and for its driver."""
        there = bool(accelerators(self._context, VENDOR_ID, _CLASSES))
        folder = self._context.root / "sys/module/mtgpu"
        checks = (
            Check(subject="PCI 1ed5, class 03 or 12", ok=there),
            Check(subject=str(folder), ok=folder.is_dir(), remedy="load the driver: mtgpu"),
            Check(subject=_PROGRAM, ok=self._find() is not None, remedy=_REMEDY),
        )
        return Probe(present=there or folder.is_dir(), checks=checks)

    def open(self) -> Opened:
        """Find the command and begin to ask it. Raises BackendUnavailable."""
        program = self._find()
        if program is None:
            raise BackendUnavailable(
                "mthreads-gmi was not found in the folders of commands",
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
            prefix="mtgpu",
            vendor_id=VENDOR_ID,
            nodes="mtgpu.[0-9]*",
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
        node = f"/dev/mtgpu.{gpu.number}"
        there = (self._context.root / node.lstrip("/")).exists()
        version = answer.document.driver_version or self._driver_version()
        return [mapping.identified(device, gpu, version, node if there else None)]

    def read(self, device: Device, request: Request) -> Sequence[Reading]:
        """What the newest document says. Raises ReadError."""
        answer, gpu = self._opened.entry_for(device)
        numbers = msgspec.structs.replace(
            mapping.read(device.id, gpu), age_s=answer.age_s, pace_s=answer.pace_s
        )
        jobs = answer.document.jobs
        if not request.processes or jobs is None:
            reason = Absence.ERROR if request.processes else Absence.NOT_COLLECTED
            absent = {**numbers.absent, ("processes",): reason}
            return [msgspec.structs.replace(numbers, absent=absent)]
        request.numbers([numbers])
        mine = [job for job in jobs if job.number == gpu.number]
        listed = processes_of(device.id, mine, BYTES)
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
        return output_of(self._program, *arguments, timeout_s=TIMEOUT_S, is_whole=is_whole)

    def _driver_version(self) -> str | None:
        version = sysfs.read_text(self._context.root / "sys/module/mtgpu/version")
        return None if isinstance(version, Absence) else version[:64] or None

    def _find(self) -> Path | None:
        named = self._context.options.get("mthreads_gmi")
        return chosen_program(self._context.root, named, (_PROGRAM,), ("usr/local/musa/bin",))
