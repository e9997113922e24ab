"""A set of rules over columns: text is looked at once, work is shared and cut into slices."""

import asyncio
import math

import numpy as np
import pytest

from accelwatch.base.slices import LongWork
from accelwatch.expr.explain import explain
from accelwatch.expr.rule import RuleExpression, compile_rule, compile_rule_value
from accelwatch.expr.vocabulary.functions import FUNCTIONS, Function, Parameter
from accelwatch.expr.vocabulary.kleene import Key, Raw
from accelwatch.expr.vocabulary.names import Type
from accelwatch.fleet.rules.columns.columns import Texts, factored
from accelwatch.fleet.rules.columns.groups import Groups
from accelwatch.fleet.rules.columns.plain import PlainColumns
from accelwatch.fleet.rules.row import RowEnvironment
from accelwatch.fleet.rules.vectors.program import Program, column_of
from accelwatch.fleet.table.belief import Floats

POWER = ("power_watts",)


class RecordedColumns(PlainColumns):
    """Columns that remember what was asked of them."""

    def __init__(self, size: int, **given: object) -> None:
        super().__init__(size, 0.0, **given)  # type: ignore[arg-type]  # fields by name
        self.seen: list[str] = []

    def number(self, key: Key) -> Floats:
        self.seen.append(str(key))
        return super().number(key)


def truths(rule: RuleExpression, columns: PlainColumns) -> list[bool | None]:
    (found,) = Program({"a": rule}).run(columns)
    pairs = zip(found.truths.true.tolist(), found.truths.false.tolist(), strict=True)
    return [True if true else False if false else None for true, false in pairs]


def test_what_rules_share_is_requested_once() -> None:
    columns = RecordedColumns(4, numbers={POWER: np.arange(4.0)})
    rules = {at: compile_rule(f"power_watts > {at}") for at in range(3)}
    found = {one.name: one.truths.true.tolist() for one in Program(rules).run(columns)}
    assert found[0] == [False, True, True, True]
    assert found[2] == [False, False, False, True]
    assert columns.seen == ["('power_watts',)"]


def test_text_is_looked_at_again_only_when_it_has_changed() -> None:
    calls: list[object] = []

    def is_odd(value: Raw) -> Raw:
        calls.append(value)
        return value == "amd"

    odd = Function(
        name="odd",
        parameters=(Parameter(name="text", types=(Type.STRING,)),),
        result=Type.BOOL,
        build=lambda: is_odd,
        help="",
    )
    rule = compile_rule("odd(vendor)", functions={**FUNCTIONS, "odd": odd})
    program = Program({"a": rule})
    texts = {"vendor": factored(["amd", "intel", None, "amd"])}
    columns = PlainColumns(4, 0.0, texts=texts)
    for _ in range(3):
        (found,) = program.run(columns)
        assert found.truths.true.tolist() == [True, False, False, True]
    assert calls == [None, "amd", "intel"]
    columns.texts = {"vendor": factored(["intel"] * 4)}
    (found,) = program.run(columns)
    assert not found.truths.true.any()


def test_a_function_without_a_vector_form_is_called_row_by_row() -> None:
    double = Function(
        name="double",
        parameters=(Parameter(name="number", types=(Type.NUMBER,)),),
        result=Type.NUMBER,
        build=lambda: lambda value: None if value is None else value * 2,
        help="",
    )
    rule = compile_rule_value("double(power_watts) + 1", functions={**FUNCTIONS, "double": double})
    found = column_of(rule, PlainColumns(3, 0.0, numbers={POWER: np.array([1.0, np.nan, 3.0])}))
    assert found[[0, 2]].tolist() == [3.0, 7.0]
    assert math.isnan(found[1])


def test_what_is_not_kept_is_unknown() -> None:
    columns = PlainColumns(2, 0.0)
    for text in (
        "power_watts > 1",
        'vendor == "amd"',
        'avg(power_watts, "5m") > 1',
        'event("xid")',
        'count("xid", within="1h") > 0',
        'since("xid") > 0',
        "rack.any(True)",
        "rack.count() > 1",
        'peer_median(power_watts, by="rack") > 0',
        'peers_affected("a", by="rack") > 0',
    ):
        assert truths(compile_rule(text), columns) == [None, None], text


def test_a_flag_alone_is_a_condition() -> None:
    numbers: dict[Key, Floats] = {("ecc_enabled",): np.array([0.0, 1.0, np.nan])}
    columns = PlainColumns(3, 0.0, numbers)
    assert truths(compile_rule("ecc_enabled"), columns) == [False, True, None]
    assert truths(compile_rule_value("ecc_enabled"), columns) == [False, True, None]


def test_a_constant_holds_for_all_rows() -> None:
    columns = PlainColumns(2, 0.0)
    assert truths(compile_rule("True"), columns) == [True, True]
    assert truths(compile_rule('"a" == "b" or 3 < 2'), columns) == [False, False]
    assert truths(compile_rule("node.count() > 0 or 1 / 0 > 1"), columns) == [None, None]


def test_a_part_that_is_true_of_nobody_spares_the_dearer_ones() -> None:
    everybody = np.ones(2, dtype=np.bool_)
    dear = 'peer_median(clock_hertz.sm, by="node") > 1 and power_watts > '
    for text, expected in (
        (dear + "500", [POWER]),
        (dear + "150", [POWER, ("clock_hertz", "sm")]),
        (dear + "500 or power_watts > 150", [POWER]),
    ):
        columns = RecordedColumns(
            2,
            numbers={POWER: np.array([100.0, 200.0])},
            grouped={"node": Groups(np.zeros(2, dtype=np.intp), 1)},
        )
        (found,) = Program({"a": compile_rule(text)}).run(columns, among=lambda _: everybody)
        assert found.truths.true.tolist() == [False, " or " in text]
        assert columns.seen == [str(one) for one in expected], text


def test_each_rule_is_charged_for_its_own_time() -> None:
    times = iter([0, 50, 100, 700])
    rules = {name: compile_rule("power_watts > 1") for name in "ab"}
    list(Program(rules, clock_ns=lambda: next(times)).run(PlainColumns(10, 0.0)))
    assert [(rule.cost.ns, rule.cost.evaluations) for rule in rules.values()] == [
        (50, 10),
        (600, 10),
    ]


def test_others_go_on_between_the_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accelwatch.base.slices.SLICE_S", 0.0)
    rules = {at: compile_rule(f"power_watts > {at}") for at in range(5)}
    turns: list[str] = []

    async def other() -> None:
        for _ in range(5):
            turns.append("other")
            await asyncio.sleep(0)

    async def both() -> None:
        beside = asyncio.create_task(other())
        found = await Program(rules).tick(PlainColumns(2, 0.0), LongWork())
        turns.append("rules")
        assert [one.name for one in found] == list(range(5))
        await beside

    asyncio.run(both())
    assert turns.index("rules") > 3


def test_explain_of_a_row() -> None:
    text = 'avg(power_watts, "5m") > 1 and vendor == "amd" and sample_age_s < 5'
    rule = compile_rule(text)
    columns = PlainColumns(
        2,
        0.0,
        numbers={"sample_age_s": np.array([1.0, 2.0])},
        texts={"vendor": Texts(np.array([0, -1], dtype=np.intp), ("amd",))},
        grouped={"node": Groups(np.zeros(2, dtype=np.intp), 1)},
        coverages={(POWER, 300): np.array([0.41, np.nan])},
    )
    parts = explain(text, rule.tree, RowEnvironment(columns, 0))
    assert [one.reason for one in parts if one.reason] == [
        "not known: power_watts avg",
        "not known: power_watts avg",
        "power_watts avg 5m has 41% of its samples",
    ]
    assert [one.value for one in parts][-4:] == [True, "amd", True, 1.0]
    absent = explain(text, rule.tree, RowEnvironment(columns, 1))
    assert "vendor has no value" in [one.reason for one in absent]
