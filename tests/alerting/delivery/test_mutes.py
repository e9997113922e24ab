"""Quiet hours, over midnight and over a clock that is set."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from accelwatch.alerting.delivery.messages.quiet_hours import after_quiet_hours
from accelwatch.alerting.rules.document import Severity
from accelwatch.config.alerts import QuietHours

BERLIN = ZoneInfo("Europe/Berlin")


def timestamp(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=BERLIN).timestamp()


@pytest.mark.parametrize(
    ("start", "ends", "now", "then"),
    [
        ("22:00", "07:00", "2026-11-22 21:59", "2026-11-22 21:59"),
        ("22:00", "07:00", "2026-11-22 22:00", "2026-11-23 07:00"),
        ("22:00", "07:00", "2026-11-23 00:30", "2026-11-23 07:00"),
        ("22:00", "07:00", "2026-11-23 06:59", "2026-11-23 07:00"),
        ("22:00", "07:00", "2026-11-23 07:00", "2026-11-23 07:00"),
        ("12:00", "13:00", "2026-11-23 12:30", "2026-11-23 13:00"),
        ("12:00", "13:00", "2026-11-23 13:00", "2026-11-23 13:00"),
        ("12:00", "13:00", "2026-11-23 11:59", "2026-11-23 11:59"),
        # Clocks are set forward at 02:00 on the 29th of March, and back at 03:00 on the 25th of October.
        ("22:00", "07:00", "2026-03-28 23:00", "2026-03-29 07:00"),
        ("22:00", "07:00", "2026-10-24 23:00", "2026-10-25 07:00"),
    ],
)
def test_what_is_not_urgent_waits_for_their_end(start: str, ends: str, now: str, then: str) -> None:
    quiet = QuietHours(start=start, end=ends, zone="Europe/Berlin")
    assert after_quiet_hours(quiet, Severity.WARNING, timestamp(now)) == timestamp(then)
    assert after_quiet_hours(quiet, Severity.CRITICAL, timestamp(now)) == timestamp(now)


def test_from_which_severity_on_nothing_waits() -> None:
    quiet = QuietHours(start="00:00", end="23:59", zone="Europe/Berlin", below="warning")
    now = timestamp("2026-11-22 12:00")
    assert after_quiet_hours(quiet, Severity.INFO, now) > now
    assert after_quiet_hours(quiet, Severity.WARNING, now) == now


def test_without_hours_nothing_waits() -> None:
    assert after_quiet_hours(QuietHours(), Severity.INFO, 1.0) == 1.0
