"""Google's TPUs: chips are found on the PCI bus, and read through libtpu while a workload runs."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from accelwatch.backend import Check, Context, Opened, Option, Probe, Request, Support, Visibility
from accelwatch.backend.errors import BackendUnavailable
from accelwatch.backend.kit.listed_process import with_processes
from accelwatch.backend.kit.polled import TIMEOUT_S, Polled, PolledDocument, pace_of
from accelwatch.backend.kit.vendor_program import chosen_program, output_of
from accelwatch.base.absence import Absence
from accelwatch.base.errors import (
    AccelwatchError,
    DeviceLost,
    DevicePermission,
    DeviceSuspended,
    ReadError,
)
from accelwatch.schema.device import Device, DeviceKind
from accelwatch.schema.reading import Reading
from accelwatch.system.kernel import sysfs
from accelwatch.system.processes.complete_output import closed
from accelwatch_tpu import mapping, runtime
from accelwatch_tpu.chips import Chip, chips, shared_out
from accelwatch_tpu.report import Report, parse

_PROGRAM = "tpu-info"
_REMEDY = "pip install tpu-info, or name it in collect.options.tpu.tpu_info"
_FIRST_WAIT_S = 3.0
# For one question to libtpu, which answers in milliseconds.
_RUNTIME_S = 1.0


class TpuBackend:
    """Options: `tpu_info` (path of the command), `pace_s` (seconds between two runs), `port` of libtpu.

    tpu-info queries libtpu as we do, and knows processes and cores besides: where it is there, it
    comes first.
    """

    name = "tpu"
    vendor = mapping.VENDOR
    serial = False
    options = (
        Option("tpu_info", is_path=True),
        Option("pace_s"),
        Option("port"),
    )
    visibility = Visibility(variable="TPU_VISIBLE_CHIPS")
    support = Support(
        vendor="Google TPU",
        source="the PCI bus; `tpu-info`, or libtpu's gRPC without it, while a workload runs",
        tested_with="recorded tables of two v6e hosts; composed hosts of v3, v5e and v6e, busy, idle "
        "and faulty; a gRPC server with composed messages",
    )

    def __init__(self, context: Context) -> None:
        self._context = context
        self._program: Path | None = None
        self._port = runtime.PORT
        self._polled: Polled[Report] | None = None

    def probe(self) -> Probe:
        """Look for chips on the PCI bus."""
        there = bool(chips(self._context.root))
        checks = (
            Check(subject="PCI 1ae0, a TPU", ok=there),
            Check(subject=_PROGRAM, ok=self._find() is not None, remedy=_REMEDY),
        )
        return Probe(present=there, checks=checks)

    def open(self) -> Opened:
        """Find the command, and start to poll. Raises BackendUnavailable for an invalid option."""
        options, clock = self._context.options, self._context.clock
        self._program = self._find()
        try:
            self._port, pace_s = _port_of(options), pace_of(options, self.name)
        except BackendUnavailable as refusal:
            mine, _ = shared_out(chips(self._context.root))
            raise refusal.with_devices([self._device(chip) for chip in mine]) from None
        self._polled = Polled(self._query_report, clock, pace_s=pace_s)
        report = self._first()
        version = None if report is None else report.libtpu_version
        source = "sysfs+libtpu" if self._program is None else f"sysfs+{_PROGRAM}"
        return Opened(source=source, versions={"libtpu": version} if version else {})

    def discover(self) -> Sequence[Device]:
        """The chips on the bus; those that were given to others come last."""
        mine, others = shared_out(chips(self._context.root))
        return [self._device(chip) for chip in (*mine, *others)]

    def identify(self, device: Device) -> Sequence[Device]:
        """The chip by its PCI id: it has no serial that a guest sees. Raises ReadError."""
        chip, _ = self._chip_of(device)
        return [mapping.identified(device, chip, self._first())]

    def read(self, device: Device, request: Request) -> Sequence[Reading]:
        """What the newest run of the command says. Raises ReadError."""
        chip, count = self._chip_of(device)
        if self._context.leaves_asleep(device.pci_bus_id):
            raise DeviceSuspended(f"{device.name} sleeps and was left asleep")
        answer = self._answer()
        numbers = msgspec.structs.replace(
            mapping.read(device.id, chip, count, answer.document),
            age_s=answer.age_s,
            pace_s=answer.pace_s,
        )
        if not request.processes or not answer.document.listed:
            # Only the command lists who has opened a chip.
            reason = Absence.UNSUPPORTED if request.processes else Absence.NOT_COLLECTED
            absent = {**numbers.absent, ("processes",): reason}
            return [msgspec.structs.replace(numbers, absent=absent)]
        request.numbers([numbers])
        listed = mapping.processes_of(device.id, chip, answer.document)
        return [with_processes(self._context.root, numbers, listed)]

    def close(self) -> None:
        """Stop polling."""
        if self._polled is not None:
            self._polled.close()

    def _device(self, chip: Chip) -> Device:
        return Device(
            id=f"{self.name}:{chip.pci_bus_id}",
            vendor=self.vendor,
            backend=self.name,
            index=chip.number,
            name=f"tpu{chip.number}",
            kind=DeviceKind.NPU,
            pci_bus_id=chip.pci_bus_id,
            numa_node=sysfs.numa_node(self._context.root, chip.pci_bus_id),
        )

    def _chip_of(self, device: Device) -> tuple[Chip, int]:
        """The chip, and how many there are for us. Raises DeviceLost when it is not on the bus any more.

        DevicePermission when it was given to another container: of others the nodes are here.
        """
        mine, others = shared_out(chips(self._context.root))
        for chip in mine:
            if chip.pci_bus_id == device.pci_bus_id:
                return chip, len(mine)
        if any(chip.pci_bus_id == device.pci_bus_id for chip in others):
            raise DevicePermission(
                f"{device.name}: the TPU at {device.pci_bus_id} was not given to us: "
                "its node is not here",
                code="not_given",
            )
        raise DeviceLost(
            f"{device.name}: there is no TPU at {device.pci_bus_id} any more", code="not_on_bus"
        )

    def _query_report(self) -> Report:
        """The command's report; the runtime's own words where that has none. Raises AccelwatchError."""
        report, error = None, None
        if self._program is not None:
            try:
                is_complete = closed(parse, lambda parsed: parsed.listed or parsed.memory)
                report = parse(
                    output_of(self._program, timeout_s=TIMEOUT_S, is_complete=is_complete)
                )
            except AccelwatchError as failure:
                error = failure
        if report is None or not report.is_alive:
            reply = runtime.fetch_report(
                self._port, timeout_s=_RUNTIME_S, clock=self._context.clock
            )
            if reply is not None:
                return runtime.with_runtime(report, reply)
        elif bandwidth := runtime.bandwidth(
            self._port, timeout_s=_RUNTIME_S, clock=self._context.clock
        ):
            report = msgspec.structs.replace(report, bandwidth=bandwidth)
        if error is not None:
            raise error
        return report or Report()

    def _answer(self) -> PolledDocument[Report]:
        assert self._polled is not None
        try:
            return self._polled.answer(TIMEOUT_S)
        except ReadError:
            raise
        except AccelwatchError as error:
            raise ReadError(str(error), code="command_failed") from error

    def _first(self) -> Report | None:
        try:
            return None if self._polled is None else self._polled.answer(_FIRST_WAIT_S).document
        except AccelwatchError:
            return None

    def _find(self) -> Path | None:
        named = self._context.options.get("tpu_info")
        return chosen_program(self._context.root, named, (_PROGRAM,))


def _port_of(options: Mapping[str, object]) -> int:
    """The option `port`. Raises BackendUnavailable for what is none."""
    port = options.get("port", runtime.PORT)
    if isinstance(port, bool) or not isinstance(port, int) or not 0 < port < 1 << 16:
        raise BackendUnavailable(
            f"port: {port!r} is not a valid port",
            reason="option",
            remedy="fix collect.options.tpu.port in the configuration",
        )
    return port
