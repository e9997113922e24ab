"""Any text compiles or is refused; what compiles agrees with a plain reading of the semantics."""

import ast
import operator
from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from accelwatch.base.errors import ExpressionError
from accelwatch.expr import (
    MISSING,
    UNKNOWN,
    Key,
    Missing,
    Value,
    compile_condition,
    compile_expression,
    device_names,
)
from accelwatch.expr.vocabulary.pattern import compile_pattern

WORDS = [
    *("power_watts", "vendor", "model", "throttle_active", ".power", "[0]", '["x"]', "health"),
    *("and", "or", "not", "in", "not in", "True", "False", "None", "is", "if", "lambda", ":", ":="),
    *(
        "(",
        ")",
        "[",
        "]",
        ",",
        ".",
        "=",
        "==",
        "!=",
        "<",
        "<=",
        "+",
        "-",
        "*",
        "**",
        "/",
        "//",
        "%",
    ),
    *("0", "1", "1.5", "1e308", "9223372036854775807", '"a"', "'b'", '"\\d"', 'r"x"', 'f"x"'),
    *("matches", "missing", "abs", "min", "version_lt", "GiB", "ignore_case", "__class__", "\n"),
]

texts = st.one_of(
    st.text(max_size=80),
    st.lists(st.sampled_from(WORDS), max_size=40).map(" ".join),
    st.lists(st.sampled_from(WORDS), max_size=40).map("".join),
)

anything: st.SearchStrategy[object] = st.one_of(
    st.just(MISSING),
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=10),
    st.just(b"bytes"),
)


@settings(max_examples=400, deadline=None)
@given(texts, anything)
def test_any_text_compiles_or_is_refused(text: str, reading: object) -> None:
    def lookup(key: Key) -> Value | Missing:
        return reading  # type: ignore[return-value]  # a lookup may be wrong

    try:
        expression = compile_expression(text, device_names())
    except ExpressionError:
        return
    expression.value(lookup)
    try:
        condition = compile_condition(text, device_names())
    except ExpressionError:
        return
    assert condition.evaluate(lookup) in (True, False, UNKNOWN)


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="ab()[]{}|*+?,.\\^$-1:=!<>P&~", max_size=30), st.text("ab1-", max_size=8))
def test_any_pattern_compiles_or_is_refused(pattern: str, text: str) -> None:
    try:
        matches = compile_pattern(pattern, ignore_case=False)
    except ValueError:
        return
    assert matches(text) in (True, False)


NUMBERS: dict[str, Key] = {
    "power_watts": ("power_watts",),
    "utilization_ratio": ("utilization_ratio",),
    "memory_used_bytes": ("memory_used_bytes",),
}

numbers = st.recursive(
    st.one_of(st.sampled_from(sorted(NUMBERS)), st.integers(0, 5).map(str)),
    lambda inner: st.tuples(inner, st.sampled_from("+-*/%"), inner).map(
        lambda parts: f"({parts[0]} {parts[1]} {parts[2]})"
    ),
    max_leaves=4,
)

chains = st.lists(
    st.tuples(st.sampled_from(["<", "<=", "==", "!=", ">="]), numbers), min_size=1, max_size=3
)

conditions = st.recursive(
    st.one_of(
        st.tuples(numbers, chains).map(
            lambda parts: f"({parts[0]} " + " ".join(f"{o} {n}" for o, n in parts[1]) + ")"
        ),
        st.tuples(
            numbers, st.sampled_from(["in", "not in"]), st.lists(numbers, min_size=1, max_size=3)
        ).map(lambda parts: f"({parts[0]} {parts[1]} [{', '.join(parts[2])}])"),
    ),
    lambda inner: st.one_of(
        inner.map(lambda one: f"(not {one})"),
        st.tuples(st.sampled_from([" and ", " or "]), st.lists(inner, min_size=2, max_size=3)).map(
            lambda parts: f"({parts[0].join(parts[1])})"
        ),
    ),
    max_leaves=6,
)

Three = bool | None
OPERATIONS: dict[type[ast.AST], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
}
COMPARISONS: dict[type[ast.AST], Callable[[float, float], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.GtE: operator.ge,
}


def all_of(values: list[Three]) -> Three:
    if False in values:
        return False
    return None if None in values else True


def opposite(value: Three) -> Three:
    return None if value is None else not value


def plain_number(node: ast.expr, readings: dict[str, float | None]) -> float | None:
    if isinstance(node, ast.Name):
        return readings[node.id]
    if isinstance(node, ast.Constant):
        return float(str(node.value))
    assert isinstance(node, ast.BinOp)
    left, right = plain_number(node.left, readings), plain_number(node.right, readings)
    if left is None or right is None:
        return None
    if isinstance(node.op, ast.Div | ast.Mod) and right == 0:
        return None
    return OPERATIONS[type(node.op)](left, right)


def plain(node: ast.expr, readings: dict[str, float | None]) -> Three:
    if isinstance(node, ast.UnaryOp):
        return opposite(plain(node.operand, readings))
    if isinstance(node, ast.BoolOp):
        values = [plain(value, readings) for value in node.values]
        if isinstance(node.op, ast.And):
            return all_of(values)
        return opposite(all_of([opposite(value) for value in values]))
    assert isinstance(node, ast.Compare)
    return all_of(list(plain_pairs(node, readings)))


def plain_pairs(node: ast.Compare, readings: dict[str, float | None]) -> list[Three]:
    pairs: list[Three] = []
    left = plain_number(node.left, readings)
    for op, comparator in zip(node.ops, node.comparators, strict=True):
        if isinstance(comparator, ast.List):
            differs = [
                None if left is None or (n := plain_number(e, readings)) is None else left != n
                for e in comparator.elts
            ]
            outside = all_of(differs)
            pairs.append(outside if isinstance(op, ast.NotIn) else opposite(outside))
            continue
        right = plain_number(comparator, readings)
        known = left is not None and right is not None
        pairs.append(COMPARISONS[type(op)](left, right) if known else None)  # type: ignore[arg-type]
        left = right
    return pairs


@settings(max_examples=400, deadline=None)
@given(conditions, st.lists(st.one_of(st.none(), st.integers(-2, 5)), min_size=3, max_size=3))
def test_compiled_code_agrees_with_an_interpreter(text: str, drawn: list[int | None]) -> None:
    readings = dict(zip(NUMBERS, (None if d is None else float(d) for d in drawn), strict=True))
    found = {NUMBERS[name]: value for name, value in readings.items() if value is not None}
    result = compile_condition(text, device_names()).evaluate(lambda key: found.get(key, MISSING))
    expected = plain(ast.parse(text, mode="eval").body, readings)
    assert result is (UNKNOWN if expected is None else expected)
