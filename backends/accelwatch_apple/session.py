"""What the backend does once it is open: devices, who they are, and what the newest moment says."""

import contextlib
from collections.abc import Sequence

import msgspec

from accelwatch.backend import Check, Context, Opened, Request
from accelwatch.backend.errors import BackendUnavailable
from accelwatch.backend.kit.polled import Polled, PolledDocument, pace_of
from accelwatch.base.absence import Absence
from accelwatch.base.errors import AccelwatchError, DeviceLost, ReadError
from accelwatch.schema.device import Device
from accelwatch.schema.reading import CUT, MAX_PROCESSES, Reading
from accelwatch_apple import mapping
from accelwatch_apple.identity import Machine
from accelwatch_apple.registry import Accelerator
from accelwatch_apple.sources import POWERMETRICS, PollResult, Sources
from accelwatch_apple.system import IOREG, System

# Less than a backend is given to open (5 s).
_FIRST_WAIT_S = 3.0
_WAIT_S = 5.0

# Every Apple Silicon Mac has one, whether or not it can be queried.
GPU_UNREAD = msgspec.structs.replace(
    mapping.gpu_device(Machine(), None), id=f"{mapping.VENDOR}:{mapping.GPU}"
)


def checks(context: Context, system: System) -> tuple[Check, ...]:
    """What can be queried on this Mac; nothing is run."""
    root, macmon = context.root, Sources(context, system).macmon()
    ioreg = (root / IOREG).is_file()
    return (
        Check(subject="macOS on arm64", ok=True),
        Check(
            subject=f"/{IOREG}", ok=ioreg, remedy="" if ioreg else "repair the system's /usr/sbin"
        ),
        Check(
            subject="power, clock and heat",
            ok=system.is_root or macmon is not None,
            found=str(macmon) if macmon else f"/{POWERMETRICS}" if system.is_root else "",
            remedy="install macmon, or run as root for powermetrics",
        ),
    )


class Session:
    """The machine, and the commands that are polled at a pace of their own."""

    def __init__(self, context: Context, system: System) -> None:
        """Raises BackendUnavailable for an option that cannot be."""
        self._sources = Sources(context, system)
        self._root = context.root
        self._machine: Machine | None = None
        self._ane_reported = False
        self._polled = Polled(self._poll, context.clock, pace_s=pace_of(context.options, "apple"))

    def opened(self) -> Opened:
        """Poll for the first time. Raises BackendUnavailable without ioreg."""
        if not (self._root / IOREG).is_file():
            raise BackendUnavailable(
                f"/{IOREG} is not there", reason="command_not_found", remedy="repair the system"
            )
        with contextlib.suppress(AccelwatchError):  # The device says why, when it is read.
            self._polled.answer(_FIRST_WAIT_S)
        system = None if self._machine is None else self._machine.system
        return Opened(source=mapping.SOURCE, versions={"macos": system} if system else {})

    def discover(self) -> Sequence[Device]:
        """The GPU while ioreg lists it or fails; the neural engine from its first power on."""
        listed: Sequence[Accelerator | None] = (None,)
        with contextlib.suppress(AccelwatchError):
            listed = self._polled.answer(_FIRST_WAIT_S).document.accelerators[:1]
        machine = self._machine or Machine()
        devices = [mapping.gpu_device(machine, accelerator) for accelerator in listed]
        if self._ane_reported:
            devices.append(mapping.ane_device(machine))
        # The first round may still be under way, and with it the serial number.
        return [
            msgspec.structs.replace(device, id=f"{mapping.VENDOR}:{device.name}")
            for device in devices
        ]

    def identify(self, device: Device) -> Sequence[Device]:
        """With serial number, chip and versions. Raises ReadError, DeviceLost."""
        result = self._answer(device).document
        machine = self._machine or Machine()
        if device.name == mapping.ANE:
            return [mapping.ane_device(machine)]
        return [mapping.gpu_device(machine, result.accelerators[0])]

    def read(self, device: Device, request: Request) -> Sequence[Reading]:
        """What the newest moment says. Raises ReadError, DeviceLost."""
        answer = self._answer(device)
        result = answer.document
        if device.name == mapping.ANE:
            reading = mapping.ane_reading(device, result)
        else:
            reading = mapping.gpu_reading(device, self._machine or Machine(), result)
        reading = msgspec.structs.replace(reading, age_s=answer.age_s, pace_s=answer.pace_s)
        if not request.processes or device.name == mapping.ANE:
            why = Absence.UNSUPPORTED if request.processes else Absence.NOT_COLLECTED
            absent = {**reading.absent, ("processes",): why}
            return [msgspec.structs.replace(reading, absent=absent)]
        request.numbers([reading])
        return [_with_processes(reading, device, result)]

    def close(self) -> None:
        """Stop polling."""
        self._polled.close()

    def _poll(self) -> PollResult:
        if self._machine is None:
            self._machine = self._sources.machine()
        result = self._sources.poll()
        self._ane_reported = self._ane_reported or not isinstance(result.sample.ane_watts, Absence)
        return result

    def _answer(self, device: Device) -> PolledDocument[PollResult]:
        try:
            answer = self._polled.answer(_WAIT_S)
        except ReadError:
            raise
        except AccelwatchError as error:
            raise ReadError(str(error), code="command_failed") from error
        if device.name != mapping.ANE and not answer.document.accelerators:
            raise DeviceLost(f"{device.name}: ioreg lists no GPU any more", code="not_listed")
        return answer


def _with_processes(reading: Reading, device: Device, result: PollResult) -> Reading:
    """macOS has no /proc: what is known of a process is its name, owner, start and share."""
    listed, notes = mapping.processes(device, result), reading.notes
    if len(listed) > MAX_PROCESSES:
        notes = (*notes, f"{CUT}{MAX_PROCESSES} of {len(listed)}, those with the lowest pids")
    return msgspec.structs.replace(reading, processes=tuple(listed[:MAX_PROCESSES]), notes=notes)
