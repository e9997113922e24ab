"""From records to events: trust, patterns, correlation, folding. No input or output."""

import msgspec

from accelwatch.schema.device import normal_pci_bus_id
from accelwatch.schema.event import Category, ErrorEvent
from accelwatch_kernel_log.correlation import Correlator
from accelwatch_kernel_log.firmware_record import FirmwareRecord
from accelwatch_kernel_log.memory import Memory
from accelwatch_kernel_log.patterns.amd import AMD
from accelwatch_kernel_log.patterns.amdxdna import AMDXDNA
from accelwatch_kernel_log.patterns.gaudi import GAUDI
from accelwatch_kernel_log.patterns.hardware import HARDWARE
from accelwatch_kernel_log.patterns.host import HOST
from accelwatch_kernel_log.patterns.intel import INITIALIZED, INTEL
from accelwatch_kernel_log.patterns.intel_vpu import INTEL_VPU
from accelwatch_kernel_log.patterns.neuron import NEURON
from accelwatch_kernel_log.patterns.neuron_runtime import NEURON_RUNTIME
from accelwatch_kernel_log.patterns.nvgpu import NVGPU
from accelwatch_kernel_log.patterns.nvidia import NVIDIA
from accelwatch_kernel_log.patterns.pattern import Match, Pattern, find
from accelwatch_kernel_log.patterns.qaic import QAIC
from accelwatch_kernel_log.patterns.start import START
from accelwatch_kernel_log.patterns.tenstorrent import TENSTORRENT
from accelwatch_kernel_log.record import Record

# Parts that say where in a device a fault is: two links that fail at once are two faults.
_LOCATION_KEYS = ("gpu_instance", "compute_instance", "link", "ring", "engine", "socket", "die")
_VICTIM = "pid"
# Codes whose process is the next caller, often a monitor: it says nothing of the fault.
_BYSTANDER_CODES = frozenset({"xid_119"})
# In the order in which they are tried.
PATTERNS: tuple[Pattern, ...] = (
    *NVIDIA,
    *AMD,
    *INTEL,
    *GAUDI,
    *NEURON,
    *NEURON_RUNTIME,
    *TENSTORRENT,
    *AMDXDNA,
    *INTEL_VPU,
    *QAIC,
    *NVGPU,
    *START,
    *HOST,
    *HARDWARE,
)
SOURCE = "kernel_log"
OVERRUN = "kernel_log_overrun"
_MAX_TEXT = 1024
# Fragments of the messages without which later ones cannot be understood.
_LEARNED = ("NVRM: Xid", "i915 ", "xe ", "wedged", "Initialized")


class Fold:
    """Makes a burst of equal messages one event: the first is let through, the others are not."""

    def __init__(self) -> None:
        self._admitted: Memory[float] = Memory()

    def admit(self, match: Match, seconds: float, *, trusted: bool) -> bool:
        """Whether this is the first of its kind within its time.

        A record of user space never hides one of the kernel, nor a lesser category a graver one, nor
        a message without a process one that names whom the fault hit.
        """
        key = "\0".join(
            (match.subject, match.fault, match.category, str(trusted), *_location(match))
        )
        first = self._admitted.get(key)
        if first is not None and 0 <= seconds - first < match.fold_s:
            return False
        self._admitted.store(key, seconds)
        return True


def _location(match: Match) -> list[str]:
    names = _LOCATION_KEYS if match.code in _BYSTANDER_CODES else (*_LOCATION_KEYS, _VICTIM)
    return [match.detail.get(name, "") for name in names]


def _device_of(record: Record) -> str:
    """PCI id from the record's own `DEVICE=+pci:...` property, or an empty string."""
    bus, _, name = record.properties.get("DEVICE", "").partition(":")
    return normal_pci_bus_id(name) if bus == "+pci" else ""


class Interpreter:
    """Makes events of records, in the order of the log.

    A record of user space (facility above 0) gives an untrusted event, which is shown but drives no
    state; `accept_user` trusts it all the same, for tests of a whole installation.
    """

    def __init__(self, *, accept_user: bool = False) -> None:
        self._accept_user = accept_user
        self._correlator = Correlator()
        self._fold = Fold()
        self._firmware = FirmwareRecord()

    @property
    def is_waiting(self) -> bool:
        """Whether a record of the firmware has not named its device yet."""
        return self._firmware.is_open

    def learn(self, record: Record) -> None:
        """Learn from an earlier record about GPUs that later records only name."""
        if record.facility == 0 or self._accept_user:
            self._correlator.observe(record.text, record.seconds)
            is_learned = any(fragment in record.text for fragment in _LEARNED)
            match = find(record.text, PATTERNS) if is_learned else None
            if match is not None and self._correlator.is_event(match, record.seconds):
                self._correlator.relate(match, record.seconds)

    def events(self, record: Record, boot_time: float, now: float) -> list[ErrorEvent]:
        """What a record reports, and what records before it do by now; times in Unix seconds."""
        pending = self._firmware.named(record) or self._firmware.flush(record)
        candidates = [
            self._of_firmware(pending, boot_time, now),
            self.event(record, boot_time, now),
        ]
        return [event for event in candidates if event is not None]

    def flush(self, boot_time: float, now: float) -> list[ErrorEvent]:
        """What waited for a line that has not come."""
        event = self._of_firmware(self._firmware.flush(), boot_time, now)
        return [] if event is None else [event]

    def _of_firmware(
        self, pending: tuple[Match, Record] | None, boot_time: float, now: float
    ) -> ErrorEvent | None:
        if pending is None or not self._fold.admit(pending[0], pending[1].seconds, trusted=True):
            return None
        match, first = pending
        return _event(match, first.text, min(boot_time + first.seconds, now), True)

    def event(self, record: Record, boot_time: float, now: float) -> ErrorEvent | None:
        """The event that this line alone reports, if it reports one; times in Unix seconds."""
        trusted = record.facility == 0 or self._accept_user
        if trusted:
            self._correlator.observe(record.text, record.seconds)
        match = find(record.text, PATTERNS)
        if match is None:
            return None
        if trusted:
            if not match.subject:
                match = msgspec.structs.replace(match, subject=_device_of(record))
            if not self._correlator.is_event(match, record.seconds):
                return None
            match = self._correlator.relate(match, record.seconds)
            if not match.subject and self._firmware.try_start(match, record):
                return None
        elif match.code == INITIALIZED:
            # What user space writes has given no device up, so that none can have come back.
            return None
        if not self._fold.admit(match, record.seconds, trusted=trusted):
            return None
        when = min(boot_time + record.seconds, now)
        return _event(match, record.text, when, trusted)


def _event(match: Match, text: str, when: float, trusted: bool) -> ErrorEvent:
    return ErrorEvent(
        code=match.code,
        category=match.category,
        time=when,
        text=text[:_MAX_TEXT],
        source=SOURCE,
        subject=match.subject,
        trusted=trusted,
        detail=match.detail,
    )


def overrun(lost: int, now: float) -> ErrorEvent:
    """The event that says that records were overwritten unread; `lost` is 0 when nobody knows."""
    count = f"{lost} records" if lost else "an unknown number of records"
    return ErrorEvent(
        code=OVERRUN,
        category=Category.OTHER,
        time=now,
        text=f"the kernel log lost {count} before they were read; faults may have been missed",
        source=SOURCE,
        detail={"lost": str(lost)} if lost else {},
    )
