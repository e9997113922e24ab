"""How often something rings, and in which hours it does not: of several ways the earliest. Pure."""

from collections.abc import Sequence

import msgspec

from accelwatch.alerting.delivery.quiet import after_quiet
from accelwatch.alerting.rules.document import Severity
from accelwatch.config.alerts import Quiet

NO_QUIET = Quiet()


class Cadence(msgspec.Struct, frozen=True, kw_only=True):
    """How one route has its sinks told."""

    remind_s: float = 0.0
    """After how long it is said again that it is still open; 0 for never."""
    quiet: Quiet = NO_QUIET


def rings_at(cadences: Sequence[Cadence], severity: Severity, moment: float) -> float:
    """From when on something that is to be heard at a moment may be heard; Unix seconds."""
    times = (after_quiet(one.quiet, severity, moment) for one in cadences)
    return min(times, default=moment)


def reminds_at(cadences: Sequence[Cadence], severity: Severity, rung_at: float) -> float | None:
    """When what rang at a moment is to ring again; None for never."""
    times = (
        after_quiet(one.quiet, severity, rung_at + one.remind_s) for one in cadences if one.remind_s
    )
    return min(times, default=None)
