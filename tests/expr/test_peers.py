"""A device among its peers, and conditions over all of a group: worked by hand."""

import math

import pytest

from accelwatch.expr.rule import compile_rule_value
from accelwatch.expr.vocabulary.kleene import MISSING, Missing, Value
from support.rules.rule_worlds import NOW, World

Numbers = list[float | None]
MEDIAN = 'peer_median(power_watts, by="job")'
Z = 'peer_z(power_watts, by="job")'


def values_of(text: str, powers: Numbers) -> list[Value | Missing]:
    """What a rule gives for each device of one job."""
    rule = compile_rule_value(text)
    groups = {"job": [1] * len(powers)}
    world = World(len(powers), numbers={("power_watts",): powers}, groups=groups)
    return [rule.value(row) for row in world.rows]


def test_in_a_group_of_seven_a_device_is_not_compared_with_itself() -> None:
    found = values_of(MEDIAN, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0])
    assert found == [4.5, 4.5, 4.5, 4.0, 3.5, 3.5, 3.5]


def test_in_a_group_of_eight_it_is() -> None:
    assert values_of(MEDIAN, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]) == [4.5] * 8


def test_the_size_of_a_group_is_that_of_all_its_members() -> None:
    found = values_of(MEDIAN, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, None])
    assert found == [4.0] * 8


def test_three_others_must_have_a_value() -> None:
    assert values_of(MEDIAN, [1.0, 2.0, 3.0]) == [MISSING] * 3
    assert values_of(MEDIAN, [1.0, 2.0, 3.0, None]) == [MISSING, MISSING, MISSING, 2.0]
    assert values_of(Z, [1.0, 2.0, 3.0]) == [MISSING] * 3


def test_a_deviation_is_reckoned_from_medians() -> None:
    first, *_ = values_of(Z, [10.0, 1.0, 2.0, 3.0, 4.0])
    assert first == pytest.approx((10 - 2.5) / (1.4826 * 1.0))
    first, *_ = values_of(Z, [-5.0, 1.0, 2.0, 3.0, 4.0])
    assert first == pytest.approx((-5 - 2.5) / (1.4826 * 1.0))


@pytest.mark.parametrize("level", [100.0, -100.0])
def test_peers_that_are_all_alike_deviate_by_a_share_of_their_level(level: float) -> None:
    assert values_of(Z, [level + 2, level, level, level])[0] == pytest.approx(4.0)
    assert values_of(Z, [level, level, level, level]) == [0.0] * 4


def test_beside_peers_that_are_all_zero_there_is_no_deviation() -> None:
    assert values_of(Z, [1.0, 0.0, 0.0, 0.0])[0] is MISSING
    assert values_of(Z, [0.0, 0.0, 0.0, 0.0]) == [0.0] * 4


def test_a_device_without_a_value_deviates_by_none() -> None:
    assert values_of(Z, [None, 1.0, 2.0, 3.0, 4.0])[0] is MISSING


def test_what_is_beyond_all_numbers_is_missing() -> None:
    most = 1.7e308
    assert values_of(MEDIAN, [0.0, most, most, most, most])[0] is MISSING
    assert values_of(Z, [most, -most, -most, -most])[0] is MISSING


@pytest.mark.parametrize(
    ("powers", "count", "share"),
    [
        ([3.0, 1.0, None, None], 1, 0.5),
        ([3.0, None, None, None], MISSING, MISSING),
        ([3.0, 1.0, None], 1, 0.5),
        ([3.0, 3.0, 3.0, 1.0], 3, 0.75),
        ([1.0, 1.0], 0, 0.0),
    ],
)
def test_half_of_a_group_must_be_known_to_count(
    powers: Numbers, count: Value | Missing, share: Value | Missing
) -> None:
    assert set(values_of("job.count(power_watts > 2)", powers)) == {count}
    assert set(values_of("job.share(power_watts > 2)", powers)) == {share}


@pytest.mark.parametrize(
    ("powers", "some", "all_of_them"),
    [
        ([3.0, 1.0, None], True, False),
        ([3.0, None], True, MISSING),
        ([1.0, None], MISSING, False),
        ([3.0, 3.0], True, True),
        ([1.0, 1.0], False, False),
    ],
)
def test_of_any_and_of_all(
    powers: Numbers, some: Value | Missing, all_of_them: Value | Missing
) -> None:
    assert set(values_of("job.any(power_watts > 2)", powers)) == {some}
    assert set(values_of("job.all(power_watts > 2)", powers)) == {all_of_them}


def test_who_is_in_no_group_has_no_peers() -> None:
    powers: Numbers = [1.0, 2.0, 3.0, 4.0]
    world = World(4, numbers={("power_watts",): powers}, groups={"job": [1, 1, 1, None]})
    for text in (MEDIAN, Z, "job.count()", "job.any(power_watts > 2)"):
        assert compile_rule_value(text).value(world.rows[3]) is MISSING
    assert compile_rule_value("job.count()").value(world.rows[0]) == 3


@pytest.mark.parametrize(
    ("fired", "expected"), [([True, False, True], 2), ([False] * 3, 0), (None, MISSING)]
)
def test_how_many_another_rule_fires_for(fired: list[bool] | None, expected: object) -> None:
    world = World(3, groups={"rack": [1] * 3}, fired={} if fired is None else {"hot": fired})
    found = compile_rule_value('peers_affected("hot", by="rack")').value(world.rows[0])
    assert found == expected


@pytest.mark.parametrize(
    ("text", "last", "expected"),
    [
        ('event("xid", within="10s")', NOW - 10, True),
        ('event("xid", within="10s")', NOW - 10.5, False),
        ('event("xid", within="10s")', None, MISSING),
        ('since("xid")', NOW - 7, 7.0),
        ('since("xid")', -math.inf, MISSING),
        ('last("xid")', NOW - 7, NOW - 7),
        ('last("xid")', None, MISSING),
    ],
)
def test_how_long_ago_an_event_was(text: str, last: float | None, expected: object) -> None:
    rule = compile_rule_value(text)
    (need,) = rule.needs.events
    assert rule.value(World(1, lasts={need.pattern: [last]}).rows[0]) == expected


@pytest.mark.parametrize("count", [0, 3, None])
def test_how_often_an_event_was(count: int | None) -> None:
    rule = compile_rule_value('count("xid", within="1h")')
    (need,) = rule.needs.events
    found = rule.value(World(1, counts={(need.pattern, 3600): [count]}).rows[0])
    assert found == (MISSING if count is None else count)
