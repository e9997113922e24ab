"""Quantities that devices gave before and give no more: often the first sign of a driver that fails."""

from collections import Counter
from collections.abc import Iterable

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.schema.device import UP
from accelwatch.schema.reading import Number
from accelwatch.schema.snapshot import DeviceView

# Reasons of a quantity that was merely not read.
_EXPECTED = frozenset({Absence.NOT_COLLECTED, Absence.SUSPENDED})


class _ReportedKeys(msgspec.Struct, kw_only=True):
    """What one device has given so far."""

    keys: set[str]
    # Reasons of the newest reading: the very same object as long as series and reasons are.
    reasons: object = None
    # Keys without a value in the newest reading.
    lacking: set[str]


class Vanished:
    """Compares each reading with those before; devices that have gone are forgotten."""

    def __init__(self) -> None:
        self._reported: dict[str, _ReportedKeys] = {}

    def series(self, views: Iterable[tuple[str, DeviceView]]) -> dict[tuple[str, ...], Number]:
        """Series of a device, and vanished quantities of a collector, from views by backend.

        A device that does not answer is left out of the second: that it is lost says so already. So is a
        quantity without a reason, such as that of a process that has ended.
        """
        counts: dict[tuple[str, ...], Number] = {}
        vanished: Counter[str] = Counter()
        here: dict[str, _ReportedKeys] = {}
        for backend, view in views:
            values = view.reading.values
            counts["collector_device_series", backend, view.device.name] = len(values)
            vanished[backend] += 0
            reported = here[view.device.id] = self._updated(view)
            if view.state in UP and reported.lacking:
                vanished[backend] += _refused(view, reported.lacking)
        self._reported = here
        for backend, count in vanished.items():
            counts["collector_vanished_quantities", backend] = count
        return counts

    def _updated(self, view: DeviceView) -> _ReportedKeys:
        values = view.reading.values
        reported = self._reported.get(view.device.id)
        if reported is None:
            reported = _ReportedKeys(keys=set(), lacking=set())
        if view.reading.absent is not reported.reasons:
            reported.reasons = view.reading.absent
            keys = {series[0] for series in values}
            reported.keys |= keys
            reported.lacking = reported.keys - keys
        return reported


def _refused(view: DeviceView, lacking: set[str]) -> int:
    """How many of these keys have a reason other than not having been read."""
    reasons = (*view.reading.absent.items(), *view.unreported.items())
    return len(
        {series[0] for series, why in reasons if series[0] in lacking and why not in _EXPECTED}
    )
