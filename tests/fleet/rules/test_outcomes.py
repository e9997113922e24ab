"""What a condition cannot come to is never seen, and what is left out of it changes nothing."""

import math
from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from accelwatch.expr.checking.tree import Event
from accelwatch.expr.outcomes import Facts, outcomes, pruned
from accelwatch.expr.rule import RuleExpression, compile_rule
from accelwatch.expr.vocabulary.events import EventUse
from accelwatch.expr.vocabulary.kleene import UNKNOWN
from support.rules.naive_rules import naive
from support.rules.rule_worlds import World, conditions, worlds

Gaps = st.integers(0, 255)


def emptied(world: World, rule: RuleExpression, gaps: int) -> World:
    """The same world, in which some series are never reported and some events have not happened."""
    gone = {one for at, one in enumerate(sorted(rule.needs.series)) if gaps >> at & 1}
    quiet = gaps & 16
    nothing = [None] * world.size
    return replace(
        world,
        numbers={one: nothing if one in gone else column for one, column in world.numbers.items()},
        windows={
            one: nothing if one[1] in gone else column for one, column in world.windows.items()
        },
        lasts={
            one: [-math.inf] * world.size if quiet else column
            for one, column in world.lasts.items()
        },
        counts={one: [0] * world.size if quiet else column for one, column in world.counts.items()},
    )


def facts_of(world: World) -> Facts:
    def missing(column: Sequence[object]) -> bool:
        return all(one is None for one in column)

    present = {one[1] for one, column in world.windows.items() if not missing(column)}
    empty = {one for one, column in world.numbers.items() if missing(column)}
    absent = {one for one in empty if isinstance(one, tuple) and one not in present}

    def is_quiet(event: Event) -> bool:
        if event.kind == EventUse.COUNT:
            return all(one == 0 for one in world.counts[event.pattern, event.seconds])
        return all(one == -math.inf for one in world.lasts[event.pattern])

    words = {key: {one for one in column if one} for key, column in world.texts.items()}
    return Facts(absent, is_quiet, words)


@st.composite
def cases(draw: st.DrawFn) -> tuple[RuleExpression, World]:
    rule = compile_rule(draw(conditions))
    return rule, emptied(draw(worlds(rule)), rule, draw(Gaps))


@settings(max_examples=200, deadline=None)
@given(cases())
def test_what_it_cannot_be_it_never_is(case: tuple[RuleExpression, World]) -> None:
    rule, world = case
    facts = facts_of(world)
    possible, shorter = outcomes(rule.tree, facts), pruned(rule.tree, facts)
    for row in world.rows:
        found = naive(rule.tree, row)
        truth = UNKNOWN if found is None else bool(found)
        assert truth in possible, rule.text
        assert naive(shorter, row) == found, rule.text


def test_rules_of_another_vendor_and_of_series_that_nobody_reports_never_hold() -> None:
    facts = Facts({("fan_speed_rpm", "0")}, lambda _: True, {"vendor": {"nvidia"}})
    for text in (
        'vendor == "amd"',
        "fan_speed_rpm == 0",
        'event("xid", code == 79)',
        'count("xid", within="1h") >= 3 and power_watts > 1',
        "job.share(fan_speed_rpm == 0) >= 0.8",
        'present(fan_speed_rpm) or vendor in ["amd", "intel"]',
    ):
        assert True not in outcomes(compile_rule(text).tree, facts), text
    for text in ('vendor == "nvidia"', "missing(fan_speed_rpm)", "power_watts > 1"):
        assert True in outcomes(compile_rule(text).tree, facts), text
    rule = compile_rule("present(fan_speed_rpm) and fan_speed_rpm == 0 or power_watts > 1")
    assert pruned(rule.tree, facts) == compile_rule("power_watts > 1").tree
