"""How often something rings, and in which hours it does not: of several ways the earliest. Pure."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from accelwatch.alerting.delivery.messages.quiet_hours import after_quiet_hours
from accelwatch.alerting.rules.document import Severity
from accelwatch.config.alerts import QuietHours

NO_QUIET_HOURS = QuietHours()


class Cadence(msgspec.Struct, frozen=True, kw_only=True):
    """How often one route has its sinks notified."""

    # After how long sinks are reminded that an incident is still open; 0 for never.
    remind_s: float = 0.0
    quiet: QuietHours = NO_QUIET_HOURS


class Plan(NamedTuple):
    """When a sink is notified of an incident."""

    # Unix seconds.
    due: float
    # Of the routes that lead there.
    cadences: tuple[Cadence, ...] = ()


def rings_at(cadences: Sequence[Cadence], severity: Severity, timestamp: float) -> float:
    """From when on a notice that is due at a time may alert; Unix seconds."""
    times = (after_quiet_hours(cadence.quiet, severity, timestamp) for cadence in cadences)
    return min(times, default=timestamp)


def reminds_at(cadences: Sequence[Cadence], severity: Severity, alerted_at: float) -> float | None:
    """When what rang at a moment is to ring again; None for never."""
    times = (
        after_quiet_hours(cadence.quiet, severity, alerted_at + cadence.remind_s)
        for cadence in cadences
        if cadence.remind_s
    )
    return min(times, default=None)
