"""Hours in which what is not urgent waits until the morning, in the time of a place."""

from datetime import UTC, datetime, timedelta
from datetime import time as time_of_day
from zoneinfo import ZoneInfo

from accelwatch.alerting.rules.document import Severity
from accelwatch.config.alerts import Quiet


def after_quiet(quiet: Quiet, severity: Severity, moment: float) -> float:
    """The moment itself, or the end of the quiet hours that it is in; Unix seconds."""
    if not quiet.begins or severity.weight >= Severity(quiet.below).weight:
        return moment
    local = datetime.fromtimestamp(moment, UTC).astimezone(ZoneInfo(quiet.zone))
    begins, ends = (time_of_day.fromisoformat(text) for text in (quiet.begins, quiet.ends))
    now = local.time()
    over_midnight = begins > ends
    if not ((now >= begins or now < ends) if over_midnight else begins <= now < ends):
        return moment
    day = local.date() + timedelta(days=1 if over_midnight and now >= begins else 0)
    # A clock that is set forward or back that night is the zone's business.
    end = datetime.combine(day, ends, tzinfo=ZoneInfo(quiet.zone))
    return max(end.timestamp(), moment)
