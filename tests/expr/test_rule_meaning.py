"""Rules mean the same to the scalar code and to a plain reading of the language."""

import math

from hypothesis import given, settings
from hypothesis import strategies as st

from accelwatch.expr.rule import RuleExpression, compile_rule, compile_rule_value
from accelwatch.expr.vocabulary.kleene import MISSING, UNKNOWN
from support.rules.naive_rules import naive
from support.rules.rule_worlds import World, conditions, values, worlds


@st.composite
def cases(draw: st.DrawFn, texts: st.SearchStrategy[str]) -> tuple[RuleExpression, World]:
    rule = compile_rule_value(draw(texts))
    return rule, draw(worlds(rule))


@settings(max_examples=120, deadline=None)
@given(cases(conditions))
def test_a_condition_is_what_a_plain_reading_says(case: tuple[RuleExpression, World]) -> None:
    drawn, world = case
    rule = compile_rule(drawn.text)
    for row in world.rows:
        expected = naive(rule.tree, row)
        assert rule.evaluate(row) is (UNKNOWN if expected is None else bool(expected)), rule.text


@settings(max_examples=120, deadline=None)
@given(cases(values))
def test_a_number_is_what_a_plain_reading_says(case: tuple[RuleExpression, World]) -> None:
    rule, world = case
    for row in world.rows:
        expected, found = naive(rule.tree, row), rule.value(row)
        if expected is None:
            assert found is MISSING, rule.text
        else:
            assert isinstance(found, float | int)
            assert isinstance(expected, float | int)
            assert math.isclose(found, expected, rel_tol=1e-12), rule.text
