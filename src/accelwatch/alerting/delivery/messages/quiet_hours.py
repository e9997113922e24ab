"""Hours in which notices that are not urgent wait until the morning, in a time zone."""

from datetime import UTC, datetime, timedelta
from datetime import time as time_of_day
from zoneinfo import ZoneInfo

from accelwatch.alerting.rules.document import Severity
from accelwatch.config.alerts import QuietHours


def after_quiet_hours(quiet_hours: QuietHours, severity: Severity, timestamp: float) -> float:
    """The moment itself, or the end of the quiet hours that it is in; Unix seconds."""
    if not quiet_hours.start or severity.weight >= Severity(quiet_hours.below).weight:
        return timestamp
    local = datetime.fromtimestamp(timestamp, UTC).astimezone(ZoneInfo(quiet_hours.zone))
    start, stop = (time_of_day.fromisoformat(text) for text in (quiet_hours.start, quiet_hours.end))
    now = local.time()
    over_midnight = start > stop
    if not ((now >= start or now < stop) if over_midnight else start <= now < stop):
        return timestamp
    day = local.date() + timedelta(days=1 if over_midnight and now >= start else 0)
    # A clock that is set forward or back that night is the zone's business.
    end = datetime.combine(day, stop, tzinfo=ZoneInfo(quiet_hours.zone))
    return max(end.timestamp(), timestamp)
