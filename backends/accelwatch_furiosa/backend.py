"""NPUs of FuriosaAI: found on the PCI bus, read through furiosa-smi, or furiosactl for Warboy.

Where neither is installed, through the vendor's library for Python.
"""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from accelwatch.backend import Check, Context, Opened, Probe, Request, Support
from accelwatch.errors import BackendUnavailable, DeviceTimeout, ReadError
from accelwatch.listed_process import with_processes, without_processes
from accelwatch.schema.absence import Absence
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Reading
from accelwatch.vendor_program import chosen_program, output_of
from accelwatch.vendor_tool import TIMEOUT_S, VendorTool, accelerators
from accelwatch_furiosa import mapping, rngd
from accelwatch_furiosa.document import Card, Document, cards_of, jobs_of
from accelwatch_furiosa.python_library import Library, load

VENDOR_ID = 0x1ED2
_NEW, _OLD = "furiosa-smi", "furiosactl"
"""The second is of the Warboy generation."""
_FORMS: tuple[tuple[str, ...], ...] = (("--format", "json"), ("--output", "json"), ())
"""Of the output: of the releases since RNGD, of those before, and the table for people."""
_REMEDY = "install the package furiosa-smi (for Warboy: furiosa-toolkit, which brings furiosactl)"


class FuriosaBackend:
    """Options: `furiosa_smi` (path of the command), `pace_s` (seconds between two runs)."""

    name = "furiosa"
    vendor = mapping.VENDOR
    serial = False
    support = Support(
        vendor="FuriosaAI",
        source="`furiosa-smi` as JSON or tables, `furiosa_smi` or `furiosa_smi_py`, and sysfs (RNGD); "
        "`furiosactl` (Warboy)",
        tested_with="the vendor's recorded tables of RNGD and Warboy and the identity of two RNGD "
        "cards; composed documents, healthy and faulty",
    )

    def __init__(self, context: Context) -> None:
        self._context = context
        self._program = Path()
        self._library: Library | None = None
        self._form: tuple[str, ...] | None = None
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
        """Find the command, or the library, and begin to ask it. Raises BackendUnavailable."""
        program = self._find()
        self._library = load() if program is None else None
        if program is None and self._library is None:
            raise BackendUnavailable(
                "neither furiosa-smi nor furiosactl was found in the folders of commands",
                reason="command_not_found",
                remedy=_REMEDY,
            )
        self._program = program or Path()
        self._tool = VendorTool(
            self._context,
            self._library or self._ask,
            lambda document: document.cards,
            name=self.name,
            command=self._source,
            prefix="npu",
            vendor_id=VENDOR_ID,
            nodes="rngd/npu*mgmt",
        )
        self._tool.first()
        return Opened(source=self._source)

    def discover(self) -> Sequence[Device]:
        """What is on the PCI bus, then what only the command lists. Raises BackendUnavailable."""
        return self._opened.discover()

    def identify(self, device: Device) -> Sequence[Device]:
        """The card by its uuid; it has no partitions. Raises ReadError."""
        _, card = self._opened.entry_for(device)
        folder = rngd.folder(self._context.root, card.number)
        version = None if folder is None else rngd.version(folder)
        named = mapping.identified(device, card)
        return [msgspec.structs.replace(named, driver_version=version)]

    def read(self, device: Device, request: Request) -> Sequence[Reading]:
        """What the newest document says. Raises ReadError."""
        answer, card = self._opened.entry_for(device)
        numbers = msgspec.structs.replace(
            self._numbers(device, card), age_s=answer.age_s, pace_s=answer.pace_s
        )
        if not request.processes:
            return [without_processes(numbers, Absence.NOT_COLLECTED)]
        jobs = answer.document.jobs
        if isinstance(jobs, Absence):
            return [without_processes(numbers, jobs)]
        request.numbers([numbers])
        mine = [job for job in jobs if job.number == card.number]
        if not mine and card.occupied:
            # Who is not root is told of its own processes only.
            return [without_processes(numbers, Absence.PERMISSION)]
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

    @property
    def _source(self) -> str:
        """What the cards are read through."""
        return self._program.name if self._library is None else self._library.name

    def _numbers(self, device: Device, card: Card) -> Reading:
        """What the command said, and the driver says now."""
        root = self._context.root
        out = mapping.collected(device.id, card)
        sources = {"*": self._source}
        if (folder := rngd.folder(root, card.number)) is not None:
            sources |= rngd.put_all(out, root, folder, card.pci_bus_id)
        return out.reading(sources=sources)

    def _ask(self) -> Document:
        if self._program.name == _OLD:
            cards = cards_of(self._run("info", "--full"))
        else:
            info = self._told("info")
            try:
                cards = cards_of(info, self._told("status"))
            except DeviceTimeout:
                cards = cards_of(info, Absence.TIMEOUT)
            except ReadError:
                # A command that has no status, as far as its complaint says.
                cards = cards_of(info)
        try:
            return Document(cards=cards, jobs=jobs_of(self._run("ps")))
        except ReadError as error:
            return Document(cards=cards, jobs=error.absence)

    def _told(self, what: str) -> bytes:
        """What the command says, in the form that is known to work. Raises ReadError."""
        if self._form is not None:
            return self._run(what, *self._form)
        refused: ReadError | None = None
        for form in _FORMS:
            try:
                told = self._run(what, *form)
            except DeviceTimeout:
                raise
            except ReadError as error:
                refused = refused or error
                continue
            self._form = form
            return told
        assert refused is not None
        raise refused

    def _run(self, *arguments: str) -> bytes:
        return output_of(self._program, *arguments, timeout_s=TIMEOUT_S)

    def _find(self) -> Path | None:
        named = self._context.options.get("furiosa_smi")
        return chosen_program(self._context.root, named, (_NEW, _OLD))
