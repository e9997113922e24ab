"""What an incident held up, and what its advice would have cost instead, in device-hours.

Reckoned, not measured: a job whose device is in trouble does nothing until somebody acts, and what is
advised lasts as long as it usually does.
"""

import msgspec

from accelwatch.alerting.incidents.grouping.levels import ALERT
from accelwatch.alerting.rules.document import Advice
from accelwatch.fleet.backtest.line import Line

# Until a job works again: its load of half an hour, and the time of a remedy that it waits for.
HOURS: dict[Advice, float] = {
    Advice.NONE: 0.0,
    Advice.RESTART: 0.55,
    Advice.RESET: 0.6,
    Advice.REBOOT: 0.8,
    Advice.REPLACE: 0.75,
    Advice.EXCLUDE: 0.75,
    Advice.WAIT: 0.0,
}


class Price(msgspec.Struct, frozen=True, kw_only=True):
    """Device-hours."""

    # Of all devices that were concerned, from the opening until it was over.
    lost: float
    # That the advice would have cost them.
    action: float

    @property
    def saved(self) -> float:
        """What acting at once would have saved; nothing of what wakes nobody."""
        return max(0.0, self.lost - self.action)


def price_of(line: Line, devices: int, end: float) -> Price:
    """The price of one line that concerned so many devices; `end` of the archive in Unix seconds."""
    hours = max(0.0, (line.closed if line.closed is not None else end) - line.opened) / 3600
    if line.level != ALERT:
        return Price(lost=0.0, action=0.0)
    return Price(lost=hours * devices, action=HOURS[line.advice] * devices)
