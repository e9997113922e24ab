"""Durations in a rule: what is taken, and how a refusal names the mend."""

import pytest

from accelwatch.expr.syntax.duration import DurationError, duration, spoken

DAY = 86400
EXAMPLES = 'write for example "30s", "5m", "1h" or "7d"'


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("10s", 10), ("5m", 300), (" 1.5 h ", 5400), ("0.5m", 30), ("7d", 7 * DAY), ("60.0s", 60)],
)
def test_a_number_and_a_unit(text: str, seconds: int) -> None:
    assert duration(text, 10, 7 * DAY) == seconds


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("soon", "'soon' is not a valid duration", 'write for example "5m"'),
        ("x" * 50, f"{'x' * 40!r} is not a valid duration", 'write for example "5m"'),
        ("5", "the duration '5' has no unit; there are s, m, h and d", EXAMPLES),
        ("5x", "the duration '5x' has the unit x; there are s, m, h and d", EXAMPLES),
        ("5M", "the duration '5M' has the unit M; there are s, m, h and d", 'write "5m"'),
        (
            "1.5 Hours",
            "the duration '1.5 Hours' has the unit Hours; there are s, m, h and d",
            'write "1.5h"',
        ),
        (
            "9s",
            "the duration '9s' is out of range",
            "it is 10s to 7d, in whole seconds",
        ),
        ("8d", "the duration '8d' is out of range", "it is 10s to 7d, in whole seconds"),
        ("10.5s", "the duration '10.5s' is out of range", "it is 10s to 7d, in whole seconds"),
        (
            "9" + " " * 50 + "s",
            f"the duration {'9' + ' ' * 39!r} is out of range",
            "it is 10s to 7d, in whole seconds",
        ),
        (
            "9" + " " * 50 + "x",
            f"the duration {'9' + ' ' * 39!r} has the unit x; there are s, m, h and d",
            EXAMPLES,
        ),
    ],
)
def test_a_refusal_says_what_to_write(text: str, message: str, hint: str) -> None:
    with pytest.raises(DurationError) as caught:
        duration(text, 10, 7 * DAY)
    assert (str(caught.value), caught.value.hint) == (message, hint)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (59, "59s"), (60, "1m"), (90, "90s"), (3600, "1h"), (5400, "90m"), (DAY, "1d")],
)
def test_seconds_in_the_largest_unit_that_fits(seconds: int, text: str) -> None:
    assert spoken(seconds) == text
