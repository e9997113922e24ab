"""How often may be read: what is too often is refused, by every command alike."""

import pytest

from accelwatch.base.durations import LEAST_INTERVAL_S, reading_interval
from accelwatch.base.errors import UsageError
from accelwatch.cli.startup.dashboard import override
from accelwatch.tui.theme.preferences import INTERVALS, Preferences
from support.processes.installed_command import accelwatch


@pytest.mark.parametrize(
    "words",
    [
        ("--watch", "0.1"),
        ("--json", "-lms", "100"),
        ("record", "-o", "never.zst", "--interval", "100ms"),
        ("stream", "--interval", "249ms"),
        ("fleet", "-t", "127.0.0.1:1", "--no-state", "--json", "--watch", "0"),
    ],
)
def test_an_interval_that_is_too_short_is_refused(words: tuple[str, ...]) -> None:
    run = accelwatch(*words)
    assert (run.returncode, run.stdout) == (2, "")
    assert "is too short; write 250ms or more" in run.stderr


def test_the_dashboard_refuses_it_too() -> None:
    preferences = Preferences()
    with pytest.raises(UsageError, match="an interval of 0.1 is too short"):
        override(preferences, "0.1", None)
    override(preferences, "250ms", None)
    assert preferences.interval_s == LEAST_INTERVAL_S


def test_the_shortest_interval_is_taken() -> None:
    assert reading_interval("250ms") == LEAST_INTERVAL_S == INTERVALS[0]
