"""PPUs of T-Head: found on the PCI bus, read through ppu-smi, a few runs for all of them."""

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
from accelwatch.smi_listing import Gpu
from accelwatch.smi_processes import Job, processes_of
from accelwatch.vendor_program import chosen_program, output_of
from accelwatch.vendor_tool import DISPLAY, TIMEOUT_S, VendorTool, accelerators
from accelwatch.whole_output import Judge, never
from accelwatch_thead import mapping
from accelwatch_thead.instances import partition, read_instance
from accelwatch_thead.rounds import Document, Rounds

VENDOR_ID = 0x1DED
"""Of Alibaba, whose disks and network cards have it too: the class tells."""
_CLASSES = (DISPLAY,)
_PROGRAM = "ppu-smi"
_REMEDY = "install the PPU SDK, which brings ppu-smi, or name the command in the option ppu_smi"
_FOLDERS = ("usr/local/PPU_SDK/bin", "usr/local/PPU_SDK/ppu-smi/bin")


class TheadBackend:
    """Options: `ppu_smi` (path of the command), `pace_s` (seconds between two runs)."""

    name = "thead"
    vendor = mapping.VENDOR
    serial = False
    visibility = Visibility(variable="CUDA_VISIBLE_DEVICES")
    support = Support(
        vendor="T-Head",
        source="`ppu-smi -q`; its table for processes, instances and where it has nothing else; "
        "`ppu-smi icn` for links",
        tested_with="recorded identity and numbers of two ZW810E as another tool has them; composed "
        "texts and tables in the shapes of the vendor's manual, healthy and faulty",
    )

    def __init__(self, context: Context) -> None:
        self._context = context
        self._program = Path()
        self._tool: VendorTool[Document, Gpu] | None = None

    def probe(self) -> Probe:
        """Look for the vendor on the PCI bus and for its driver."""
        there = bool(accelerators(self._context, VENDOR_ID, _CLASSES))
        folder = self._context.root / "sys/module/alixpu"
        checks = (
            Check(subject="PCI 1ded, class 03", ok=there),
            Check(subject=str(folder), ok=folder.is_dir(), remedy="load the driver: alixpu"),
            Check(subject=_PROGRAM, ok=self._find() is not None, remedy=_REMEDY),
        )
        return Probe(present=there or folder.is_dir(), checks=checks)

    def open(self) -> Opened:
        """Find the command and begin to ask it. Raises BackendUnavailable."""
        program = self._find()
        if program is None:
            raise BackendUnavailable(
                "ppu-smi was found neither in /usr/local/PPU_SDK nor in the folders of commands",
                reason="command_not_found",
                remedy=_REMEDY,
            )
        self._program = program
        self._tool = VendorTool(
            self._context,
            Rounds(self._run).ask,
            lambda document: document.listing.gpus,
            name=self.name,
            command=_PROGRAM,
            prefix="ppu",
            vendor_id=VENDOR_ID,
            nodes="alixpu_ppu[0-9]*",
            classes=_CLASSES,
            kind=DeviceKind.GPU,
        )
        first = self._tool.first()
        version = None if first is None else first.listing.driver_version
        return Opened(source=_PROGRAM, versions={"driver": version} if version else {})

    def discover(self) -> Sequence[Device]:
        """What is on the PCI bus, then what only the command lists. Raises BackendUnavailable."""
        return self._opened.discover()

    def identify(self, device: Device) -> Sequence[Device]:
        """The PPU by its uuid, then its instances of MIG. Raises ReadError."""
        answer, gpu = self._opened.entry_for(device)
        document = answer.document
        version = document.listing.driver_version or self._driver_version()
        whole = mapping.identified(device, gpu, version)
        parts = document.instances_of(gpu)
        return [whole, *(partition(whole, part, document.uuids) for part in parts)]

    def read(self, device: Device, request: Request) -> Sequence[Reading]:
        """What the newest document says of the PPU and its instances. Raises ReadError."""
        answer, gpu = self._opened.entry_for(device)
        document = answer.document
        numbers = [mapping.read(device.id, gpu, document.links)]
        names: list[str | None] = [None]
        for part in document.instances_of(gpu):
            numbers.append(read_instance(partition(device, part, document.uuids).id, part))
            names.append(part.name)
        aged = [
            msgspec.structs.replace(one, age_s=answer.age_s, pace_s=answer.pace_s)
            for one in numbers
        ]
        jobs = document.listing.jobs
        if not request.processes or jobs is None:
            reason = Absence.ERROR if request.processes else Absence.NOT_COLLECTED
            return [
                msgspec.structs.replace(one, absent={**one.absent, ("processes",): reason})
                for one in aged
            ]
        request.numbers(aged)
        mine = [job for job in jobs if job.number == gpu.number]
        return [
            self._with_jobs(one, [job for job in mine if name in (None, job.instance)])
            for one, name in zip(aged, names, strict=True)
        ]

    def _with_jobs(self, numbers: Reading, jobs: Sequence[Job]) -> Reading:
        listed = processes_of(numbers.device_id, jobs, BYTES)
        return with_processes(self._context.root, numbers, listed)

    def close(self) -> None:
        """Ask no more."""
        if self._tool is not None:
            self._tool.close()

    @property
    def _opened(self) -> VendorTool[Document, Gpu]:
        assert self._tool is not None
        return self._tool

    def _run(self, *arguments: str, is_whole: Judge = never) -> bytes:
        return output_of(self._program, *arguments, timeout_s=TIMEOUT_S, is_whole=is_whole)

    def _driver_version(self) -> str | None:
        version = sysfs.read_text(self._context.root / "sys/module/alixpu/version")
        return None if isinstance(version, Absence) else version[:64] or None

    def _find(self) -> Path | None:
        named = self._context.options.get("ppu_smi")
        return chosen_program(self._context.root, named, (_PROGRAM,), _FOLDERS)
