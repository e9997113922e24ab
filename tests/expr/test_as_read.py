"""Words of the screen in filters."""

import pytest

from accelwatch.base.errors import ExpressionError
from accelwatch.expr import compile_condition, compile_expression, device_names
from accelwatch.expr.as_read import SPOKEN, as_read
from accelwatch.fleet.names import fleet_names
from accelwatch.node.query.lookup import lookup
from support.machines import composed as machines

NAMES = device_names()


@pytest.mark.parametrize("word", SPOKEN)
def test_every_word_is_one_that_can_be_compared(word: str) -> None:
    assert compile_condition(f"{word} > 1", NAMES).names


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("temp > 85", "temperature_celsius > 85"),
        ("util < 10", "(utilization_ratio * 100) < 10"),
        ("not util<10 and temp>85", "not (utilization_ratio * 100)<10 and temperature_celsius>85"),
        ("temperature_celsius > 85", "temperature_celsius > 85"),
        ('model == "temp"', 'model == "temp"'),
        ("temp.memory > 3", "temp.memory > 3"),
        ("temp[1] > 3", "temp[1] > 3"),
        ("throttle_active.power", "throttle_active.power"),
        ("power(3)", "power(3)"),
        ("power", "power_watts"),
    ],
)
def test_words_stand_for_names(text: str, meant: str) -> None:
    assert as_read(text, NAMES) == meant


def test_units_are_those_of_the_screen() -> None:
    view = machines.view(0)
    answers = lookup(view, "n01")
    load = view.reading.values["utilization_ratio",]

    for text, holds in ((f"util > {load * 100 - 1}", True), (f"util > {load * 100 + 1}", False)):
        assert compile_condition(text, NAMES).evaluate(answers) is holds


@pytest.mark.parametrize("word", ["temp", "util"])
def test_a_label_of_that_name_stays_the_label(word: str) -> None:
    names = fleet_names([word])

    assert as_read(f'{word} == "x"', names) == f'{word} == "x"'


def test_rules_know_the_names_of_the_catalogue_only() -> None:
    with pytest.raises(ExpressionError, match="temp"):
        compile_expression("temp > 85", NAMES)


def test_what_is_not_of_the_language_is_refused_as_ever() -> None:
    with pytest.raises(ExpressionError, match="&&"):
        compile_condition("temp > 85 && util < 10", NAMES)


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ('temp > "x"', '"x"'),
        ('util > 1 and temp > "x"', '"x"'),
        ("temp and util > 1", "temp"),
        ("util > 1 and mem", "mem"),
        ("power > 1 or klock > 1", "klock"),
        ('model > "x" and temp > 1', '"x"'),
    ],
)
def test_a_mistake_is_shown_in_the_words_that_were_typed(text: str, position: str) -> None:
    with pytest.raises(ExpressionError) as error:
        compile_condition(text, NAMES)
    message, shown, caret, *_ = str(error.value).splitlines()
    assert shown == f"  {text}"
    assert caret.index("^") - 2 == text.index(position)
    assert f"(column {text.index(position) + 1})" in message
