"""From records to events: trust, patterns, correlation, folding. No input or output."""

import msgspec

from accelwatch.schema.device import normal_pci_bus_id
from accelwatch.schema.event import Category, ErrorEvent
from accelwatch_kernel_log.correlation import Correlator
from accelwatch_kernel_log.fold import Fold
from accelwatch_kernel_log.pattern import Found, find
from accelwatch_kernel_log.record import Record
from accelwatch_kernel_log.tables import PATTERNS

SOURCE = "kernel_log"
OVERRUN = "kernel_log_overrun"
_MAX_TEXT = 1024
_NAMING = "NVRM: Xid"


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

    def learn(self, record: Record) -> None:
        """Take from a record of before what it says of GPUs that later ones only name."""
        if record.facility == 0 or self._accept_user:
            self._correlator.observe(record.text, record.seconds)
            found = find(record.text, PATTERNS) if record.text.startswith(_NAMING) else None
            if found is not None:
                self._correlator.relate(found, record.seconds)

    def event(self, record: Record, boot_time: float, now: float) -> ErrorEvent | None:
        """The event that a record reports, if it reports one; times in Unix seconds."""
        trusted = record.facility == 0 or self._accept_user
        if trusted:
            self._correlator.observe(record.text, record.seconds)
        found = find(record.text, PATTERNS)
        if found is None:
            return None
        if trusted:
            if not found.subject:
                found = msgspec.structs.replace(found, subject=_device_of(record))
            found = self._correlator.relate(found, record.seconds)
        if not self._fold.admit(found, record.seconds, trusted=trusted):
            return None
        when = min(boot_time + record.seconds, now)
        return _event(found, record.text, when, trusted)


def _event(found: Found, text: str, when: float, trusted: bool) -> ErrorEvent:
    return ErrorEvent(
        code=found.code,
        category=found.category,
        time=when,
        text=text[:_MAX_TEXT],
        source=SOURCE,
        subject=found.subject,
        trusted=trusted,
        detail=found.detail,
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
