"""The numbers of a device as a page reported them are a mapping like any other."""

from accelwatch.fleet.dialects.base.reported_values import ReportedValues
from accelwatch.fleet.dialects.base.sharing import series_positions

POWER, CLOCK = ("power_watts",), ("clock_hertz", "sm")
VALUES = ReportedValues(series_positions((POWER, CLOCK)), (300.5, 7))


def test_it_is_what_a_dictionary_is() -> None:
    plain = {POWER: 300.5, CLOCK: 7}
    assert VALUES == plain == VALUES
    assert (list(VALUES), len(VALUES), dict(VALUES)) == (list(plain), 2, plain)
    assert list(VALUES.items()) == list(plain.items())
    assert list(VALUES.values()) == list(plain.values())
    assert (POWER, 300.5) in VALUES.items()
    assert {**VALUES, POWER: 1} == {POWER: 1, CLOCK: 7}
    assert repr(VALUES) == repr(plain)


def test_what_was_not_reported_is_not_there() -> None:
    other = ("power_watts", "limit")
    assert (VALUES.get(CLOCK), VALUES.get(other), other in VALUES, CLOCK in VALUES) == (
        7,
        None,
        False,
        True,
    )


def test_of_a_series_that_is_reported_twice_the_last_number_counts() -> None:
    twice = ReportedValues(series_positions((POWER, CLOCK, POWER)), (1, 2, 3))
    assert twice == dict(twice.items()) == {POWER: 3, CLOCK: 2}
