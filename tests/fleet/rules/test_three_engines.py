"""Rules mean the same to the vector code, to the scalar code and to a plain reading of the language."""

import math
from collections.abc import Sequence
from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from accelwatch.expr.rule import RuleExpression, compile_rule, compile_rule_value
from accelwatch.expr.vocabulary.kleene import UNKNOWN
from accelwatch.fleet.rules.columns.columns import factored
from accelwatch.fleet.rules.columns.groups import Groups
from accelwatch.fleet.rules.columns.plain import PlainColumns
from accelwatch.fleet.rules.row import RowEnvironment
from accelwatch.fleet.rules.vectors.program import Program, column_of
from accelwatch.fleet.table.belief import Floats
from support.rules.naive_rules import naive
from support.rules.rule_worlds import World, conditions, values, worlds


def floats(column: Sequence[float | None]) -> Floats:
    return np.array([math.nan if one is None else one for one in column], dtype=np.float64)


def columns_of(world: World) -> PlainColumns:
    return PlainColumns(
        size=world.size,
        now=world.now,
        numbers={key: floats(column) for key, column in world.numbers.items()},
        texts={key: factored(list(column)) for key, column in world.texts.items()},
        windows={key: floats(column) for key, column in world.windows.items()},
        lasts={key: floats(column) for key, column in world.lasts.items()},
        counts={key: floats(column) for key, column in world.counts.items()},
        grouped={
            by: Groups(np.array([-1 if one is None else one for one in column], dtype=np.intp), 3)
            for by, column in world.groups.items()
        },
        fired={rule: np.array(column, dtype=np.bool_) for rule, column in world.fired.items()},
    )


@st.composite
def cases(draw: st.DrawFn, texts: st.SearchStrategy[str]) -> tuple[RuleExpression, World]:
    rule = compile_rule_value(draw(texts))
    return rule, draw(worlds(rule))


@settings(max_examples=200, deadline=None)
@given(cases(conditions))
def test_a_condition_is_the_same_to_all_three(case: tuple[RuleExpression, World]) -> None:
    rule, world = compile_rule(case[0].text), case[1]
    columns = columns_of(world)
    (verdicts,) = Program({"a": rule}).run(columns)
    true, false = verdicts.truths
    for at, row in enumerate(world.rows):
        plain = naive(rule.tree, row)
        expected = UNKNOWN if plain is None else bool(plain)
        found = True if true[at] else False if false[at] else UNKNOWN
        assert not (true[at] and false[at])
        assert found is expected, rule.text
        assert rule.evaluate(RowEnvironment(columns, at)) is expected, rule.text


@settings(max_examples=150, deadline=None)
@given(cases(conditions), st.randoms(use_true_random=False))
def test_among_some_rows_it_is_reported_where_it_is_true(
    case: tuple[RuleExpression, World], random: Random
) -> None:
    rule, columns = compile_rule(case[0].text), columns_of(case[1])
    (whole,) = Program({"a": rule}).run(columns)
    among = np.array([random.random() < 0.7 for _ in case[1].rows], dtype=np.bool_)
    before = among.copy()
    (some,) = Program({"a": rule}).run(columns, among=lambda _: among)
    assert some.truths.true.tolist() == (whole.truths.true & among).tolist(), rule.text
    assert not some.truths.false.any()
    assert among.tolist() == before.tolist(), "it belongs to who has given it"


@settings(max_examples=150, deadline=None)
@given(cases(values))
def test_a_number_is_the_same_to_all_three(case: tuple[RuleExpression, World]) -> None:
    rule, world = case
    columns = columns_of(world)
    found = column_of(rule, columns)
    for at, row in enumerate(world.rows):
        plain, scalar = naive(rule.tree, row), rule.value(RowEnvironment(columns, at))
        if plain is None:
            assert math.isnan(found[at]), rule.text
        else:
            assert isinstance(plain, float | int)
            assert isinstance(scalar, float | int)
            assert math.isclose(found[at], plain, rel_tol=1e-12), rule.text
            assert math.isclose(scalar, plain, rel_tol=1e-12), rule.text


def test_rules_of_a_program_do_not_mix() -> None:
    texts = {
        "one": 'peer_median(power_watts, by="node") > 500',
        "two": 'peer_median(power_watts, by="job") > 500',
        "three": 'vendor == "amd"',
        "four": 'vendor == "nvidia" or missing(vendor)',
        "five": "node.any(power_watts > 600)",
        "six": "node.all(power_watts > 600)",
    }
    rules = {name: compile_rule(text) for name, text in texts.items()}
    world = World(
        8,
        numbers={("power_watts",): [100.0, 200.0, 300.0, 400.0, 601.0, 602.0, 603.0, 604.0]},
        texts={"vendor": ["amd", None, "nvidia", "amd", "amd", "amd", "amd", "amd"]},
        groups={"node": [0, 0, 0, 0, 1, 1, 1, 1], "job": [0] * 8},
    )
    columns = columns_of(world)
    for verdicts in Program(rules).run(columns):
        tree = rules[verdicts.name].tree
        expected = [naive(tree, row) for row in world.rows]
        assert verdicts.truths.true.tolist() == [one is True for one in expected], verdicts.name
        assert verdicts.truths.false.tolist() == [one is False for one in expected], verdicts.name
    assert all(rule.cost.evaluations == 8 for rule in rules.values())
    assert all(rule.cost.ns > 0 for rule in rules.values())
