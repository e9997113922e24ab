"""Numbers for people."""

import pytest

from accelwatch.schema.display import energy, quantity, short_duration


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0 s"),
        (42.0, "42 s"),
        (59.6, "1.0 min"),
        (84.0, "1.4 min"),
        (3596.0, "59.9 min"),
        (3599.0, "1.0 h"),
        (8280.0, "2.3 h"),
        (360_000.0, "100 h"),
    ],
)
def test_time_that_is_compared_is_short_and_never_in_days(seconds: float, text: str) -> None:
    assert short_duration(seconds) == text


@pytest.mark.parametrize(
    ("joules", "text"),
    [
        (0.0, "0.0 Wh"),
        (1_800.0, "0.5 Wh"),
        (43_200.0, "12 Wh"),
        (3_599_000.0, "1.0 kWh"),
        (4_320_000.0, "1.2 kWh"),
        (5_400_002_100.0, "1.5 MWh"),
        (36e12, "10000 MWh"),
    ],
)
def test_energy_has_the_unit_that_keeps_it_short(joules: float, text: str) -> None:
    assert energy(joules) == text


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("utilization_ratio", 0.96, "96%"),
        ("power_watts", 412.4, "412 W"),
        ("temperature_celsius", 61.0, "61 °C"),
        ("memory_used_bytes", 2 << 30, "2.0 GiB"),
    ],
)
def test_a_share_is_in_percent_without_a_blank(name: str, value: float, shown: str) -> None:
    assert quantity(name, value) == shown
