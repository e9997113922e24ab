"""Google's TPUs: chips are found on the PCI bus, and read through tpu-info while a workload runs."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from accelwatch import sysfs
from accelwatch.backend import Check, Context, Opened, Probe, Request, Support, Visibility
from accelwatch.errors import AccelwatchError, DeviceLost, DeviceSuspended, ReadError
from accelwatch.listed_process import with_processes
from accelwatch.polled import Answer, Polled
from accelwatch.schema.absence import Absence
from accelwatch.schema.device import Device, DeviceKind
from accelwatch.schema.reading import Reading
from accelwatch.vendor_program import chosen_program, output_of
from accelwatch.vendor_tool import TIMEOUT_S, pace_of
from accelwatch_tpu import mapping
from accelwatch_tpu.chips import Chip, chips
from accelwatch_tpu.report import Report, parse

_PROGRAM = "tpu-info"
_REMEDY = "pip install tpu-info, or name it in collect.options.tpu.tpu_info"
_FIRST_WAIT_S = 3.0


class TpuBackend:
    """Options: `tpu_info` (path of the command), `pace_s` (seconds between two runs)."""

    name = "tpu"
    vendor = mapping.VENDOR
    serial = False
    visibility = Visibility(variable="TPU_VISIBLE_CHIPS")
    support = Support(
        vendor="Google TPU",
        source="the PCI bus; `tpu-info` for memory and load while a workload runs",
        tested_with="recorded tables of two v6e hosts; composed hosts of v3, v5e and v6e, busy, idle "
        "and faulty",
    )

    def __init__(self, context: Context) -> None:
        self._context = context
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
        """Find the command, without which the chips have an identity and no numbers."""
        program = self._find()
        pace_s = pace_of(self._context.options, self.name)
        if program is None:
            return Opened(source="sysfs")

        def ask() -> Report:
            return parse(output_of(program, timeout_s=TIMEOUT_S))

        self._polled = Polled(ask, self._context.clock, pace_s=pace_s)
        report = self._first()
        version = None if report is None else report.libtpu_version
        return Opened(source=f"sysfs+{_PROGRAM}", versions={"libtpu": version} if version else {})

    def discover(self) -> Sequence[Device]:
        """The chips on the bus."""
        return [self._device(chip) for chip in chips(self._context.root)]

    def identify(self, device: Device) -> Sequence[Device]:
        """The chip by its place on the bus: it has no serial that a guest sees. Raises ReadError."""
        chip, _ = self._chip_of(device)
        return [mapping.identified(device, chip, self._first())]

    def read(self, device: Device, request: Request) -> Sequence[Reading]:
        """What the newest run of the command says. Raises ReadError."""
        chip, count = self._chip_of(device)
        if self._context.leaves_asleep(device.pci_bus_id):
            raise DeviceSuspended(f"{device.name} sleeps and was left asleep")
        if self._polled is None:
            return [_without_processes(mapping.silent(device.id, mapping.NO_COMMAND), request)]
        answer = self._answer(self._polled)
        numbers = msgspec.structs.replace(
            mapping.read(device.id, chip, count, answer.document),
            age_s=answer.age_s,
            pace_s=answer.pace_s,
        )
        if not request.processes:
            return [_without_processes(numbers, request)]
        request.numbers([numbers])
        listed = mapping.process_of(device.id, chip, answer.document)
        return [with_processes(self._context.root, numbers, listed)]

    def close(self) -> None:
        """Ask no more."""
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
        """The chip, and how many there are. Raises DeviceLost when it is not on the bus any more."""
        there = chips(self._context.root)
        for chip in there:
            if chip.pci_bus_id == device.pci_bus_id:
                return chip, len(there)
        raise DeviceLost(
            f"{device.name}: there is no TPU at {device.pci_bus_id} any more", code="not_on_bus"
        )

    def _answer(self, polled: Polled[Report]) -> Answer[Report]:
        try:
            return polled.answer(TIMEOUT_S)
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


def _without_processes(reading: Reading, request: Request) -> Reading:
    """Processes are told by the command only."""
    reason = Absence.UNSUPPORTED if request.processes else Absence.NOT_COLLECTED
    return msgspec.structs.replace(reading, absent={**reading.absent, ("processes",): reason})
