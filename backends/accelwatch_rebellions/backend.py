"""NPUs of Rebellions: found on the PCI bus, read through `rbln-smi -j`, one run for all of them.

Where the command is not installed, through the vendor's daemon.
"""

from collections.abc import Callable, Sequence

import msgspec

from accelwatch.backend import Context, Opened, Option, Request, Support, Visibility
from accelwatch.backend.errors import BackendUnavailable
from accelwatch.backend.kit.listed_process import with_processes, without_processes
from accelwatch.backend.kit.tool_backend import Command, ToolBackend
from accelwatch.base.absence import Absence
from accelwatch.base.errors import DeviceTimeout, ReadError
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Reading
from accelwatch.system.processes.complete_output import closed, parsed
from accelwatch_rebellions import daemon, mapping
from accelwatch_rebellions.document import Npu, ToolOutput, parse
from accelwatch_rebellions.ownership import contexts_of, open_nodes
from accelwatch_rebellions.table import parse_table

_DAEMON_S = 2.0


class RebellionsBackend(ToolBackend[ToolOutput, Npu]):
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
    command = Command(
        names=(mapping.SOURCE, "rbln-stat"),
        option="rbln_smi",
        remedy="install the Rebellions driver package, which brings rbln-smi",
        vendor_id=0x1EFF,
        prefix="rbln",
        driver="sys/class/rebellions",
        module="rebellions",
        folders=("opt/rebellions/bin",),
        nodes="rbln[0-9]*",
    )
    # The second program is the name before the first, kept by the vendor as an alias.
    options = (*command.options, Option("daemon_port"))

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        # Whether the command has no JSON.
        self._only_table = False
        self._source = mapping.SOURCE

    def open(self) -> Opened:
        """Find the command, or the vendor's daemon, and start to poll. Raises BackendUnavailable."""
        if self.find() is None and self._daemon_answers():
            self._source = daemon.SOURCE
            return self.start(self._query_daemon, source=daemon.SOURCE)
        return super().open()

    def not_found(self) -> BackendUnavailable:
        """Neither the command nor the daemon."""
        why = super().not_found()
        return BackendUnavailable(
            f"{why}, and no daemon of it answers", reason=why.reason, remedy=why.remedy
        )

    def make_query(self) -> Callable[[], ToolOutput]:
        """The document; of a command that has none, its table."""
        return self._query

    def listed(self, answer: ToolOutput) -> Sequence[Npu]:
        """The NPUs in an answer."""
        return answer.npus

    def reported_version(self, answer: ToolOutput) -> str | None:
        """Of the driver."""
        return answer.driver_version

    def identify(self, device: Device) -> Sequence[Device]:
        """The NPU by its uuid; it has no partitions. Raises ReadError."""
        answer, npu = self.tool.entry_for(device)
        return [mapping.identified(device, npu, answer.document.driver_version)]

    def read(self, device: Device, request: Request) -> Sequence[Reading]:
        """What the newest document says. Raises ReadError."""
        answer, npu = self.tool.entry_for(device)
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

    def _with_processes(self, reading: Reading, npu: Npu, document: ToolOutput) -> Reading:
        root, entries = self._context.root, document.contexts
        if entries is None:
            return without_processes(reading, Absence.UNSUPPORTED)
        mine, undecided = contexts_of(
            npu, document.npus, entries, lambda pid: open_nodes(root, pid)
        )
        if undecided:
            note = f"rbln-smi does not say on which NPU {undecided} of its contexts are"
            reading = msgspec.structs.replace(reading, notes=(*reading.notes, note))
            if not mine:
                return without_processes(reading, Absence.UNSUPPORTED)
        return with_processes(root, reading, mapping.processes_of(reading.device_id, mine))

    def _query_daemon(self) -> ToolOutput:
        port = self._context.options.get("daemon_port", daemon.PORT)
        if isinstance(port, bool) or not isinstance(port, int) or not 0 < port < 1 << 16:
            raise ReadError(f"daemon_port: {port!r} is not a port from 1 to 65535", code="option")
        clock, root = self._context.clock, self._context.root
        return daemon.read_document(root, port, timeout_s=_DAEMON_S, clock=clock)

    def _daemon_answers(self) -> bool:
        try:
            return bool(self._query_daemon().npus)
        except ReadError:
            return False

    def _query(self) -> ToolOutput:
        """The document; of a command that does not know `-j`, what its table has of it."""
        if not self._only_table:
            try:
                return parse(self.run("-j", is_complete=parsed(parse, _npus)))
            except DeviceTimeout:
                raise
            except ReadError as error:
                document = self._table_or(error)
            self._only_table = True
            return document
        return self._table()

    def _table(self) -> ToolOutput:
        return parse_table(self.run(is_complete=closed(parse_table, _npus)))

    def _table_or(self, error: ReadError) -> ToolOutput:
        """What the table says. Raises the first error when that is not to be had either."""
        try:
            return self._table()
        except ReadError:
            raise error from None


def _npus(document: ToolOutput) -> tuple[Npu, ...]:
    return document.npus
