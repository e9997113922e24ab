"""The numbers of a device as a page told them are a mapping like any other."""

from accelwatch.fleet.dialects.base.reported_values import ReportedValues
from accelwatch.fleet.dialects.base.sharing import series_positions

POWER, CLOCK = ("power_watts",), ("clock_hertz", "sm")
TOLD = ReportedValues(series_positions((POWER, CLOCK)), (300.5, 7))


def test_it_is_what_a_dictionary_is() -> None:
    plain = {POWER: 300.5, CLOCK: 7}
    assert TOLD == plain == TOLD
    assert (list(TOLD), len(TOLD), dict(TOLD)) == (list(plain), 2, plain)
    assert list(TOLD.items()) == list(plain.items())
    assert list(TOLD.values()) == list(plain.values())
    assert (POWER, 300.5) in TOLD.items()
    assert {**TOLD, POWER: 1} == {POWER: 1, CLOCK: 7}
    assert repr(TOLD) == repr(plain)


def test_what_was_not_told_is_not_there() -> None:
    other = ("power_watts", "limit")
    assert (TOLD.get(CLOCK), TOLD.get(other), other in TOLD, CLOCK in TOLD) == (
        7,
        None,
        False,
        True,
    )


def test_of_a_series_that_is_told_twice_the_last_number_counts() -> None:
    twice = ReportedValues(series_positions((POWER, CLOCK, POWER)), (1, 2, 3))
    assert twice == dict(twice.items()) == {POWER: 3, CLOCK: 2}
