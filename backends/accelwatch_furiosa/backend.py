"""NPUs of FuriosaAI: found on the PCI bus, read through furiosa-smi, or furiosactl for Warboy."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from accelwatch.backend import Check, Context, Opened, Probe, Request, Support
from accelwatch.errors import BackendUnavailable, ReadError
from accelwatch.listed_process import with_processes
from accelwatch.schema.absence import Absence
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Reading
from accelwatch.vendor_program import chosen_program, output_of
from accelwatch.vendor_tool import TIMEOUT_S, VendorTool, accelerators
from accelwatch_furiosa import mapping
from accelwatch_furiosa.document import Card, Document, cards_of, jobs_of

VENDOR_ID = 0x1ED2
_NEW, _OLD = "furiosa-smi", "furiosactl"
"""The second is of the Warboy generation."""
_REMEDY = "install the package furiosa-smi (for Warboy: furiosa-toolkit, which brings furiosactl)"


class FuriosaBackend:
    """Options: `furiosa_smi` (path of the command), `pace_s` (seconds between two runs)."""

    name = "furiosa"
    vendor = mapping.VENDOR
    serial = False
    support = Support(
        vendor="FuriosaAI",
        source="`furiosa-smi` info, status and ps as JSON or tables (RNGD); `furiosactl` (Warboy)",
        tested_with="the vendor's recorded tables of RNGD and Warboy and the identity of two RNGD "
        "cards; composed documents, healthy and faulty",
    )

    def __init__(self, context: Context) -> None:
        self._context = context
        self._program = Path()
        self._tool: VendorTool[Document, Card] | None = None

    def probe(self) -> Probe:
        """Look for the vendor on the PCI bus and for the driver's nodes."""
        root = self._context.root
        there = bool(accelerators(self._context, VENDOR_ID))
        folders = (root / "sys/class/rngd_mgmt", root / "sys/class/npu_mgmt")
        driver = any(folder.is_dir() for folder in folders)
        checks = (
            Check(subject="PCI 1ed2, class 12", ok=there),
            Check(
                subject=" or ".join(map(str, folders)),
                ok=driver,
                remedy="load the driver: furiosa_rngd",
            ),
            Check(subject=_NEW, ok=self._find() is not None, remedy=_REMEDY),
        )
        return Probe(present=there or driver, checks=checks)

    def open(self) -> Opened:
        """Find the command and begin to ask it. Raises BackendUnavailable."""
        program = self._find()
        if program is None:
            raise BackendUnavailable(
                "neither furiosa-smi nor furiosactl was found in the folders of commands",
                reason="command_not_found",
                remedy=_REMEDY,
            )
        self._program = program
        self._tool = VendorTool(
            self._context,
            self._ask,
            lambda document: document.cards,
            name=self.name,
            command=program.name,
            prefix="npu",
            vendor_id=VENDOR_ID,
        )
        self._tool.first()
        return Opened(source=program.name)

    def discover(self) -> Sequence[Device]:
        """What is on the PCI bus, then what only the command lists. Raises BackendUnavailable."""
        return self._opened.discover()

    def identify(self, device: Device) -> Sequence[Device]:
        """The card by its uuid; it has no partitions. Raises ReadError."""
        _, card = self._opened.entry_for(device)
        return [mapping.identified(device, card)]

    def read(self, device: Device, request: Request) -> Sequence[Reading]:
        """What the newest document says. Raises ReadError."""
        answer, card = self._opened.entry_for(device)
        numbers = msgspec.structs.replace(
            mapping.read(device.id, card, self._program.name),
            age_s=answer.age_s,
            pace_s=answer.pace_s,
        )
        jobs = answer.document.jobs
        if not request.processes or jobs is None:
            reason = Absence.ERROR if request.processes else Absence.NOT_COLLECTED
            absent = {**numbers.absent, ("processes",): reason}
            return [msgspec.structs.replace(numbers, absent=absent)]
        request.numbers([numbers])
        mine = [job for job in jobs if job.number == card.number]
        listed = mapping.processes_of(device.id, mine)
        return [with_processes(self._context.root, numbers, listed)]

    def close(self) -> None:
        """Ask no more."""
        if self._tool is not None:
            self._tool.close()

    @property
    def _opened(self) -> VendorTool[Document, Card]:
        assert self._tool is not None
        return self._tool

    def _ask(self) -> Document:
        if self._program.name == _OLD:
            cards = cards_of(self._run("info", "--full"))
        else:
            cards = cards_of(self._run("info", "--format", "json"), self._status())
        try:
            return Document(cards=cards, jobs=jobs_of(self._run("ps")))
        except ReadError:
            return Document(cards=cards)

    def _status(self) -> bytes:
        """Empty for a command that has no status: the numbers of `info` stand alone then."""
        try:
            return self._run("status", "--format", "json")
        except ReadError:
            return b""

    def _run(self, *arguments: str) -> bytes:
        return output_of(self._program, *arguments, timeout_s=TIMEOUT_S)

    def _find(self) -> Path | None:
        named = self._context.options.get("furiosa_smi")
        return chosen_program(self._context.root, named, (_NEW, _OLD))
