"""Numbers with units as tools print them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelwatch.backend.kit.text.quantity import (
    BYTES,
    CELSIUS,
    HERTZ,
    PERCENT,
    WATTS,
    Units,
    first_quantity,
    integer,
    quantity,
)
from accelwatch.base.absence import Absence


@pytest.mark.parametrize(
    ("raw", "units", "value"),
    [
        ("38C", CELSIUS, 38.0),
        ("38.5 °C", CELSIUS, 38.5),
        ("-3", CELSIUS, -3.0),
        (38, CELSIUS, 38.0),
        ("43.9W", WATTS, 43.9),
        ("43900 mW", WATTS, 43.9),
        ("98.7", PERCENT, 0.987),
        ("98.7 %", PERCENT, 0.987),
        ("[ 5% ]", PERCENT, 0.05),
        ("2.4GB", BYTES, 2.4e9),
        ("15.7GiB", BYTES, 15.7 * 2**30),
        ("0.0B", BYTES, 0.0),
        ("1.5GHz", HERTZ, 1.5e9),
        ("1e3 MHz", HERTZ, 1e9),
        ("43,9W", WATTS, 43.9),
        ("43,92 W", WATTS, 43.92),
        ("98,7 %", PERCENT, 0.987),
    ],
)
def test_a_number_in_base_units(raw: object, units: Units, value: float) -> None:
    assert quantity(raw, units) == pytest.approx(value)


@pytest.mark.parametrize("raw", [None, "", " ", "-", "--", "N/A", "[N/A]", "n/a", "Not Supported"])
def test_what_is_not_given(raw: object) -> None:
    assert quantity(raw, WATTS) is Absence.UNSUPPORTED


@pytest.mark.parametrize(
    ("raw", "units"),
    [
        ("ERR!", WATTS),
        ("43.9C", WATTS),
        ("1.2.3W", WATTS),
        ("1,024 W", WATTS),
        ("1,2,3 W", WATTS),
        ("1,2.3 W", WATTS),
        ("1,W", WATTS),
        ("12 W 13 W", WATTS),
        (True, WATTS),
        ([1], WATTS),
        ({}, WATTS),
        (math.nan, WATTS),
        (math.inf, WATTS),
        (10**400, WATTS),
        ("1e999", WATTS),
        ("nan", WATTS),
        (5, HERTZ),
        ("5", HERTZ),
    ],
)
def test_what_is_no_such_number(raw: object, units: Units) -> None:
    assert quantity(raw, units) is Absence.ERROR


_ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=4,
)


@given(_ANY, st.sampled_from([CELSIUS, WATTS, PERCENT, HERTZ, BYTES]))
def test_nothing_raises_and_no_value_is_infinite(raw: object, units: Units) -> None:
    answer = quantity(raw, units)
    assert isinstance(answer, Absence) or math.isfinite(answer)


def test_the_first_number_counts_and_else_the_first_reason() -> None:
    assert first_quantity((None, "N/A", "61 C", "62 C"), CELSIUS) == 61.0
    assert first_quantity((None, "ERR!", "N/A"), CELSIUS) is Absence.ERROR
    assert first_quantity((None, None), CELSIUS) is Absence.UNSUPPORTED


def test_a_number_of_bytes_is_whole() -> None:
    assert integer("1.5KiB", BYTES) == 1536
    assert isinstance(integer("1.5KiB", BYTES), int)
    assert integer("N/A", BYTES) is Absence.UNSUPPORTED
