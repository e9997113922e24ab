"""NPUs of Rebellions: found on the PCI bus, read through `rbln-smi -j`, one run for all of them.

Where the command is not installed, through the vendor's daemon.
"""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from accelwatch.backend import Check, Context, Opened, Probe, Request, Support, Visibility
from accelwatch.errors import BackendUnavailable, DeviceTimeout, ReadError
from accelwatch.listed_process import with_processes, without_processes
from accelwatch.schema.absence import Absence
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Reading
from accelwatch.vendor_program import chosen_program, output_of
from accelwatch.vendor_tool import TIMEOUT_S, VendorTool, accelerators
from accelwatch.whole_output import Judge, closed, parsed
from accelwatch_rebellions import daemon, mapping
from accelwatch_rebellions.document import Document, Npu, parse
from accelwatch_rebellions.ownership import contexts_of, open_nodes
from accelwatch_rebellions.table import parse_table

VENDOR_ID = 0x1EFF
_PROGRAMS = ("rbln-smi", "rbln-stat")
"""The second is the name before the first, kept by the vendor as an alias."""
_DAEMON_S = 2.0
_REMEDY = "install the Rebellions driver package, which brings rbln-smi"


class RebellionsBackend:
    """Options: `rbln_smi` (path of the command), `pace_s` (seconds between two runs), `daemon_port`."""

    name = "rebellions"
    vendor = mapping.VENDOR
    serial = False
    remote = "accelwatch_rebellions.remote:REMOTE"
    visibility = Visibility(variable="RBLN_DEVICES")
    support = Support(
        vendor="Rebellions",
        source="`rbln-smi -j` (`rbln-stat -j` of older drivers); the vendor's daemon without it",
        tested_with="the vendor's recorded identity of an ATOM card; composed documents of "
        "ATOM and REBEL machines, healthy and faulty",
    )

    def __init__(self, context: Context) -> None:
        self._context = context
        self._program = Path()
        self._only_table = False
        """Whether the command has no JSON."""
        self._source = mapping.SOURCE
        self._tool: VendorTool[Document, Npu] | None = None

    def probe(self) -> Probe:
        """Look for the vendor on the PCI bus and for its class."""
        there = bool(accelerators(self._context, VENDOR_ID))
        folder = self._context.root / "sys/class/rebellions"
        checks = (
            Check(subject="PCI 1eff, class 12", ok=there),
            Check(subject=str(folder), ok=folder.is_dir(), remedy="load the driver: rebellions"),
            Check(subject="rbln-smi", ok=self._find() is not None, remedy=_REMEDY),
        )
        return Probe(present=there or folder.is_dir(), checks=checks)

    def open(self) -> Opened:
        """Find the command and begin to ask it. Raises BackendUnavailable."""
        program = self._find()
        if program is None and not self._daemon_answers():
            raise BackendUnavailable(
                "rbln-smi was not found in the folders of commands, and no daemon of it answers",
                reason="command_not_found",
                remedy=_REMEDY,
            )
        self._program = program or Path()
        self._source = mapping.SOURCE if program else daemon.SOURCE
        self._tool = VendorTool(
            self._context,
            self._ask if program else self._ask_daemon,
            lambda document: document.npus,
            name=self.name,
            command=self._source,
            prefix="rbln",
            vendor_id=VENDOR_ID,
            nodes="rbln[0-9]*",
        )
        first = self._tool.first()
        version = None if first is None else first.driver_version
        return Opened(source=self._source, versions={"driver": version} if version else {})

    def discover(self) -> Sequence[Device]:
        """What is on the PCI bus, then what only the command lists. Raises BackendUnavailable."""
        return self._opened.discover()

    def identify(self, device: Device) -> Sequence[Device]:
        """The NPU by its uuid; it has no partitions. Raises ReadError."""
        answer, npu = self._opened.entry_for(device)
        return [mapping.identified(device, npu, answer.document.driver_version)]

    def read(self, device: Device, request: Request) -> Sequence[Reading]:
        """What the newest document says. Raises ReadError."""
        answer, npu = self._opened.entry_for(device)
        numbers = msgspec.structs.replace(
            mapping.read(device.id, npu, answer.document.npus),
            sources={"*": self._source},
            age_s=answer.age_s,
            pace_s=answer.pace_s,
        )
        if not request.processes:
            return [without_processes(numbers, Absence.NOT_COLLECTED)]
        request.numbers([numbers])
        return [self._with_processes(numbers, npu, answer.document)]

    def close(self) -> None:
        """Ask no more."""
        if self._tool is not None:
            self._tool.close()

    def _with_processes(self, reading: Reading, npu: Npu, document: Document) -> Reading:
        root, entries = self._context.root, document.contexts
        if entries is None:
            return without_processes(reading, Absence.UNSUPPORTED)
        mine, undecided = contexts_of(
            npu, document.npus, entries, lambda pid: open_nodes(root, pid)
        )
        if undecided:
            note = f"rbln-smi does not tell on which NPU {undecided} of its contexts are"
            reading = msgspec.structs.replace(reading, notes=(*reading.notes, note))
            if not mine:
                return without_processes(reading, Absence.UNSUPPORTED)
        return with_processes(root, reading, mapping.processes_of(reading.device_id, mine))

    @property
    def _opened(self) -> VendorTool[Document, Npu]:
        assert self._tool is not None
        return self._tool

    def _ask_daemon(self) -> Document:
        port = self._context.options.get("daemon_port", daemon.PORT)
        if isinstance(port, bool) or not isinstance(port, int) or not 0 < port < 1 << 16:
            raise ReadError(f"daemon_port: {port!r} is no port from 1 to 65535", code="option")
        clock, root = self._context.clock, self._context.root
        return daemon.told(root, port, timeout_s=_DAEMON_S, clock=clock)

    def _daemon_answers(self) -> bool:
        try:
            return bool(self._ask_daemon().npus)
        except ReadError:
            return False

    def _ask(self) -> Document:
        """The document; of a command that does not know `-j`, what its table has of it."""
        if not self._only_table:
            try:
                return parse(self._run("-j", is_whole=parsed(parse, _npus)))
            except DeviceTimeout:
                raise
            except ReadError as error:
                document = self._table_or(error)
            self._only_table = True
            return document
        return self._table()

    def _table(self) -> Document:
        return parse_table(self._run(is_whole=closed(parse_table, _npus)))

    def _run(self, *arguments: str, is_whole: Judge) -> bytes:
        return output_of(self._program, *arguments, timeout_s=TIMEOUT_S, is_whole=is_whole)

    def _table_or(self, error: ReadError) -> Document:
        """What the table says. Raises the first error when that is not to be had either."""
        try:
            return self._table()
        except ReadError:
            raise error from None

    def _find(self) -> Path | None:
        named = self._context.options.get("rbln_smi")
        return chosen_program(self._context.root, named, _PROGRAMS, ("opt/rebellions/bin",))


def _npus(document: Document) -> tuple[Npu, ...]:
    return document.npus
