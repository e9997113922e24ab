"""Where each limit of the language lies, and the whole text of refusals."""

import re
from enum import StrEnum

import pytest

from accelwatch.base.errors import ExpressionError
from accelwatch.expr import compile_condition, compile_expression, device_names
from accelwatch.expr.vocabulary.kleene import MISSING, UNKNOWN, Missing, Truth, Value
from accelwatch.expr.vocabulary.pattern import MAX_SUBJECT, compile_pattern

LONG = "x" * 200


def refused(text: str) -> str:
    with pytest.raises(ExpressionError) as caught:
        compile_condition(text, device_names())
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (
            "  matches(text=model, 'x')",
            [
                "this cannot be read as an expression (column 26)",
                "    matches(text=model, 'x')",
                "                           ^",
            ],
        ),
        (
            "fan_speed_ratio.",
            [
                "a label is missing after the dot (column 16)",
                "  fan_speed_ratio.",
                "                 ^",
                'a label value that is not a word is written as in fan_speed_ratio["0"]',
            ],
        ),
        (
            "power_watts > 10_000",
            ["a number ends here (column 17)", "  power_watts > 10_000", f"{' ' * 18}^"],
        ),
        (
            "power_watts > 10%5x",
            [
                "a number ends here (column 19)",
                "  power_watts > 10%5x",
                f"{' ' * 20}^",
                "write for example GiB(5)",
            ],
        ),
        (
            "model == '中文' and\tpowr > 1",
            [
                "unknown name powr (column 19)",
                "  model == '中文' and powr > 1",
                f"{' ' * 22}^",
            ],
        ),
        (
            "model == 'e\u0301' and zzzz > 1",
            ["unknown name zzzz (column 19)", "  model == 'e\u0301' and zzzz > 1", f"{' ' * 19}^"],
        ),
        (
            "zzzz\f> '\x1b'",
            ["unknown name zzzz (column 1)", "  zzzz > '\N{REPLACEMENT CHARACTER}'", "  ^"],
        ),
        (
            f"vendor == '{LONG}' and zzzz > 1",
            [
                "unknown name zzzz (column 218)",
                f"  ...{'x' * 44}' and zzzz > 1",
                f"{' ' * 55}^",
            ],
        ),
        (
            f"zzzz > 1 and vendor == '{LONG}'",
            ["unknown name zzzz (column 1)", f"  zzzz > 1 and vendor == '{'x' * 76}...", "  ^"],
        ),
    ],
)
def test_a_refusal_shows_the_column(text: str, lines: list[str]) -> None:
    assert refused(text).splitlines() == lines


def test_an_expression_of_a_hundred_characters_is_shown_whole() -> None:
    text = f"zzzz == '{'x' * 90}'"
    assert len(text) == 100
    assert refused(text).splitlines()[1] == f"  {text}"
    assert refused(text + " ").splitlines()[1] == f"  {text}..."


@pytest.mark.parametrize(
    ("allowed", "beyond", "message"),
    [
        (
            f"index in [{','.join(['1'] * 497)}]",
            f"index in [{','.join(['1'] * 498)}]",
            "the expression has more than 500 parts (column 1)",
        ),
        (
            f"index > {'+'.join(['1'] * 31)}",
            f"index > {'+'.join(['1'] * 32)}",
            "nested more than 32 levels deep (column 11)",
        ),
        (
            f"{'(' * 32}True{')' * 32}",
            f"{'(' * 33}True{')' * 33}",
            "nested more than 32 levels deep (column 33)",
        ),
        (
            f"power_watts > 0.{'1' * 38}",
            f"power_watts > 0.{'1' * 39}",
            "a number has at most 40 characters (column 15)",
        ),
        (
            f"True{' ' * 4092}",
            f"True{' ' * 4093}",
            "the expression has 4097 characters; at most 4096 are allowed",
        ),
    ],
)
def test_where_a_limit_lies(allowed: str, beyond: str, message: str) -> None:
    compile_condition(allowed, device_names())
    assert refused(beyond).splitlines()[0] == message


def test_more_than_fifteen_hundred_tokens_are_too_many() -> None:
    assert refused("1 " * 1500).startswith("an operator is missing before 1 (column 3)")
    assert refused("1 " * 1501).startswith("the expression has too many parts (column 3001)")


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("a" * 201, "a pattern has at most 200 characters"),
        ("a*a*a*a*b", "this pattern could take too long: it has too many *, + or ?"),
        ("(a+)+", "this pattern could take too long: a repeated group holds a choice"),
        ("a{1,2}{3}", "a quantifier follows a quantifier"),
        ("*a", "nothing to repeat at character 1 of the pattern"),
        ("ab|*c", "nothing to repeat at character 4 of the pattern"),
        ("a{1,129}", "a part of a pattern is repeated at most 128 times"),
        ("a{,}", "write \\{ for a curly bracket in a pattern"),
        ("(a", "a bracket of the pattern is not closed"),
        ("(a)b)", "unbalanced bracket at character 5 of the pattern"),
        ("(?P<x>a)", "of the groups that begin with (? only (?: is allowed"),
        ("(a){2}", "a group cannot be repeated with {}"),
        ("((((((((()))))))))", "groups in a pattern nest at most 8 deep"),
        ("[a", "a [ of the pattern is not closed, or a class holds a bare ["),
        ("[a--b]", "a class of the pattern holds -- && ~~ or ||"),
        ("[z-a]", "this pattern cannot be read: bad character range z-a at position 1"),
        ("a\\", "\\ is not allowed in a pattern"),
        (r"a\x41", "\\x is not allowed in a pattern"),
    ],
)
def test_why_a_pattern_is_refused(pattern: str, reason: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(reason)}$"):
        compile_pattern(pattern, ignore_case=False)


@pytest.mark.parametrize(
    ("allowed", "beyond"),
    [
        ("a" * 200, "a" * 201),
        ("a*b*c*", "a*b*c*d?"),
        ("a{1,25}" * 3, "a{1,25}" * 3 + "a?"),
        ("a?" * 13, "a?" * 14),
        ("a{,4}" * 6, "a{,4}" * 6 + "a?"),
        ("(a|b)" * 13, "(a|b)" * 14),
        ("a{128}", "a{129}"),
        ("a{0,128}", "a{0,129}"),
        ("a{3,3}", "a{3,2}"),
        ("a{,3}", "a{,}"),
        ("a{3,}", "a{129,}"),
        ("(" * 8 + ")" * 8, "(" * 9 + ")" * 9),
        ("(?:a)", "(?=a)"),
        ("(ab)+", "(ab?)+"),
        ("(ab?)?", "(ab?)*"),
        ("a+?", "a+??"),
        ("[a-b]", "[a--b]"),
        ("[&]", "[&&]"),
        (r"\d\W\b\.\-", r"\d\1"),
    ],
)
def test_where_a_limit_of_a_pattern_lies(allowed: str, beyond: str) -> None:
    compile_pattern(allowed, ignore_case=False)
    with pytest.raises(ValueError, match="pattern|quantifier|group"):
        compile_pattern(beyond, ignore_case=False)


def test_a_text_that_is_too_long_to_match_counts_as_missing() -> None:
    found = compile_pattern("x", ignore_case=False)
    assert found("x" * MAX_SUBJECT) is True
    assert found("x" * (MAX_SUBJECT + 1)) is None
    assert found(3) is None
    assert found(None) is None


@pytest.mark.parametrize(("ignore_case", "expected"), [(True, True), (False, False)])
def test_case_is_ignored_for_who_requests_it(ignore_case: bool, expected: bool) -> None:
    assert compile_pattern("h100", ignore_case=ignore_case)("NVIDIA H100") is expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (2**64 - 1, True),
        (2**64, UNKNOWN),
        (1 - 2**64, False),
        (-(2**64), UNKNOWN),
        (float("inf"), UNKNOWN),
        (float("nan"), UNKNOWN),
        (True, True),
        ("7", UNKNOWN),
    ],
)
def test_what_counts_as_a_number(value: Value, expected: Truth) -> None:
    condition = compile_condition("power_watts > 0", device_names())
    assert condition.evaluate(lambda key: value) is expected


class Word(StrEnum):
    OK = "ok"


@pytest.mark.parametrize(("value", "expected"), [("ok", True), (Word.OK, True), (7, UNKNOWN)])
def test_what_counts_as_text(value: Value, expected: Truth) -> None:
    condition = compile_condition('state == "ok"', device_names())
    assert condition.evaluate(lambda key: value) is expected


def test_unknown_is_neither_true_nor_false() -> None:
    with pytest.raises(TypeError, match="^UNKNOWN is neither true nor false: compare with"):
        bool(UNKNOWN)


@pytest.mark.parametrize(
    ("text", "first", "hint"),
    [
        (
            "vendor in (True, ecc_enabled)",
            "text cannot be in a list whose elements are conditions (column 11)",
            None,
        ),
        (
            "vendor in (ecc_enabled, ecc_enabled)",
            "text cannot be in a list whose elements are flags (column 11)",
            None,
        ),
        (
            "index in ('a', 'b')",
            "a number cannot be in a list whose elements are text (column 10)",
            None,
        ),
        (
            "matches(model)",
            "matches takes 2 values, not 1 (column 1)",
            "write matches(text, pattern)",
        ),
        ("abs() > 1", "abs takes 1 value, not 0 (column 1)", "write abs(number)"),
        ("matches(model, 'a**')", "a quantifier follows a quantifier (column 16)", None),
        ("vendor < 3", "text cannot be compared with a number (column 10)", None),
        (
            "vendor < 'x'",
            "< compares numbers, but this is text (column 10)",
            "write version_lt(a, b) to compare versions",
        ),
        ("ecc_enabled < True", "< compares numbers, but this is a condition (column 15)", None),
        ("false", "unknown name false (column 1)", "did you mean False?"),
        ("power_watt > 3", "unknown name power_watt (column 1)", "did you mean power_watts?"),
        (
            "power_watts",
            "a condition is needed here, but this is a number (column 1)",
            "compare it with a value, as in temperature_celsius > 85",
        ),
        (
            "devices > 3",
            "devices does not describe a device, so it cannot be used here (column 1)",
            None,
        ),
        ("abs(1, x=1) > 1", "abs has no keyword x (column 8)", None),
        (
            "throttle_active",
            "throttle_active needs 1 label (reason) (column 1)",
            "write for example throttle_active.power",
        ),
    ],
)
def test_the_words_of_a_refusal(text: str, first: str, hint: str | None) -> None:
    lines = refused(text).splitlines()
    assert lines[0] == first
    assert lines[3:] == ([] if hint is None else [hint])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r"vendor == 'it\'s'", "it's"),
        (r'vendor == "a\"b"', 'a"b'),
        (r"vendor == 'a\\b\d'", r"a\b\d"),
        (r"vendor == r'a\\b'", r"a\\b"),
    ],
)
def test_what_a_string_stands_for(text: str, value: str) -> None:
    condition = compile_condition(text, device_names())
    assert condition.evaluate(lambda key: value) is True


@pytest.mark.parametrize(
    ("value", "expected"), [(1, True), (0, False), (0.0, False), (2, True), (MISSING, UNKNOWN)]
)
def test_a_flag_is_a_condition(value: Value | Missing, expected: Truth) -> None:
    for compile_any in (compile_condition, compile_expression):
        flag = compile_any("ecc_enabled", device_names())
        assert flag.evaluate(lambda key: value) is expected
        negated = compile_any("not ecc_enabled", device_names())
        assert negated.evaluate(lambda key: value) is (
            UNKNOWN if expected is UNKNOWN else not expected
        )


def test_a_number_is_no_condition_when_it_is_evaluated_either() -> None:
    number = compile_expression("power_watts - index", device_names())
    values = {"power_watts": 5, "index": 3}
    assert number.value(lambda key: values[key if isinstance(key, str) else key[0]]) == 2
    assert number.value(lambda key: MISSING) is MISSING
    with pytest.raises(ExpressionError, match="a condition is needed, but this is a number"):
        number.evaluate(lambda key: 1)


@pytest.mark.parametrize(
    ("middle", "last", "expected"),
    [(2, 4, True), (2, 2, False), (3, 4, False), (1, 4, False), (2, 1, False)],
)
def test_every_pair_of_a_chain_is_compared(middle: int, last: int, expected: bool) -> None:
    chain = compile_condition("1 < power_watts < 3 <= index", device_names())
    values = {"power_watts": middle, "index": last}
    found = chain.evaluate(lambda key: values[key if isinstance(key, str) else key[0]])
    assert found is expected


@pytest.mark.parametrize(("vendor", "expected"), [("a", True), ("b", False), ("c", False)])
def test_a_list_may_end_a_chain(vendor: str, expected: bool) -> None:
    chain = compile_condition("'a' == vendor in ('a', 'b')", device_names())
    assert chain.evaluate(lambda key: vendor) is expected
    negated = compile_condition("'c' != vendor not in ('a', 'b')", device_names())
    assert negated.evaluate(lambda key: vendor) is False
