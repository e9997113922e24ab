"""A record of the firmware (APEI): its first line has the severity, a later one the PCI device.

Lines of one record share a number: `{359}[Hardware Error]:   device_id: 0000:20:03.1` (ghes.c, cper.c).
"""

import re

import msgspec

from accelwatch.schema.device import normal_pci_bus_id
from accelwatch_kernel_log.patterns.pattern import BDF, FOLD_S, Match
from accelwatch_kernel_log.record import Record

CODES = frozenset({"hardware_error", "hardware_error_fatal", "hardware_error_corrected"})
_NUMBER = re.compile(r"\{(?P<number>\d{1,10})\}\[Hardware Error\]:")
_DEVICE = re.compile(rf"\{{\d{{1,10}}\}}\[Hardware Error\]: +device_id: {BDF}")


class FirmwareRecord:
    """Holds what the first line of a record reports until a later line names the device."""

    def __init__(self) -> None:
        self._pending: tuple[str, Match, Record] | None = None

    @property
    def is_open(self) -> bool:
        """Whether a record waits for its device."""
        return self._pending is not None

    def try_start(self, match: Match, record: Record) -> bool:
        """Whether a match begins a record, which is then held."""
        number = _number(record.text)
        if match.code not in CODES or not number:
            return False
        self._pending = number, match, record
        return True

    def named(self, record: Record) -> tuple[Match, Record] | None:
        """The held match with its device, if this line names that."""
        device = _DEVICE.match(record.text)
        if self._pending is None or device is None or _number(record.text) != self._pending[0]:
            return None
        _, match, first = self._pending
        self._pending = None
        return msgspec.structs.replace(match, subject=normal_pci_bus_id(device["bdf"])), first

    def flush(self, record: Record | None = None) -> tuple[Match, Record] | None:
        """The held match without a device: no more lines come, or another record begins."""
        if self._pending is None:
            return None
        number, match, first = self._pending
        other = record is None or _number(record.text) not in ("", number)
        if not other and record is not None and record.seconds - first.seconds < FOLD_S:
            return None
        self._pending = None
        return match, first


def _number(text: str) -> str:
    match = _NUMBER.match(text)
    return match["number"] if match else ""
