"""What is refused, and how the refusal reads."""

import pytest

from accelwatch.base.errors import ExpressionError
from accelwatch.expr import compile_condition, compile_expression, device_names


def refused(text: str) -> str:
    with pytest.raises(ExpressionError) as caught:
        compile_condition(text, device_names())
    return str(caught.value)


def test_typo_has_a_caret_and_a_suggestion() -> None:
    assert refused('vendor == "nvidia" and temprature_celsius > 85') == (
        "unknown name temprature_celsius (column 24)\n"
        '  vendor == "nvidia" and temprature_celsius > 85\n'
        "                         ^\n"
        "did you mean temperature_celsius?"
    )


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ('vendor = "x"', 8, "write == to compare"),
        ("power_watts and 1", 1, "a condition is needed here, but this is a number"),
        ("vendor > 3", 10, "text cannot be compared with a number"),
        ('driver_version < "550"', 18, "version_lt"),
        ("vendor + 1 > 2", 1, "a number is needed here, but this is text"),
        ("-vendor == 1", 2, "a number is needed here, but this is text"),
        ('matches(power_watts, "x")', 9, "text of matches is text, but this is a number"),
        ("matches(model, vendor)", 16, "pattern of matches is a constant"),
        ('matches(model, "x", ignorecase=True)', 21, "did you mean ignore_case?"),
        ('matches(model, "x", ignore_case=ecc_enabled)', 33, "is a condition"),
        ("matches(model)", 1, "write matches(text, pattern)"),
        ("present(m=power_watts)", 1, "takes 1 value, not 0"),
        ("missing((power_watts, 1))", 9, "a list is only allowed after in"),
        ("abs(power_watts, power_watts) > 1", 1, "abs takes 1 value, not 2"),
        ("max(power_watts) > 1", 1, "write max(number, number, ...)"),
        ("throttle_active", 1, "write for example throttle_active.power"),
        ("throttle_active.a.b", 1, "needs 1 label (reason)"),
        ("temperature_limit_celsius.gpu > 3", 1, "temperature_limit_celsius.gpu.slowdown"),
        ("fan_speed_ratio.x.y > 0", 1, 'fan_speed_ratio["0"]'),
        ("power_watts.gpu > 1", 1, "power_watts has no labels"),
        ("model.x == 'a'", 1, "model has no labels"),
        ("fan_speed_ratio[0:1] > 3", 18, "slices are not part of the language"),
        ("fan_speed_ratio[index] > 3", 17, "a label in [] is a string or a number"),
        ("fan_speed_ratio[1.5] > 3", 17, "a label in [] is a string or a number"),
        ("(power_watts).gpu > (vendor, 1).x", 2, "power_watts has no labels"),
        ("abs(1).x > 0", 1, "labels belong to a name"),
        ("power_watts > 10GiB", 17, "write for example GiB(10)"),
        ("power_watts > 007", 15, "a number does not begin with 0"),
        ("power_watts > 1" + "0" * 50, 15, "at most 40 characters"),
        ("power_watts > 1e999", 15, "this number is too large"),
        ("power_watts > 18446744073709551616", 15, "this number is too large"),
        ('vendor == "x', 11, "this string is not closed"),
        ('vendor == "x\ny"', 11, "this string is not closed"),
        ('(vendor == "x"', 1, "this ( is not closed"),
        ('vendor == "x")', 14, "this ) closes nothing"),
        ("vendor in ['a')", 15, "this ) does not close the [ before it"),
        ("power_watts >", 14, "a value is missing after >"),
        ("(power_watts >) and True", 15, "a value is missing before )"),
        ("> 3", 1, "a value is missing before >"),
        ("power_watts power_watts", 13, "an operator is missing before power_watts"),
        ("vendor == 'a' 'b'", 15, "an operator is missing before 'b'"),
        ("power_watts not 3", 13, "an operator is missing before not"),
        ("vendor in []", 11, "the list is empty"),
        ("vendor in ('a', 1)", 17, "elements of a list are of one type"),
        ("vendor in (1, 2)", 11, "text cannot be in a list whose elements are numbers"),
        ("vendor in 3", 11, "after in stands a list or text"),
        ("index in 'abc'", 10, "after in stands a list or text"),
        ("(1, 2) == (1, 2)", 1, "a list is only allowed after in"),
        ("vendor in ('a', ('b', 'c'))", 17, "a list is only allowed after in"),
        ("(power_watts > 1) < 2", 21, "a condition cannot be compared with a number"),
        ("powr_watts(3)", 1, "did you mean power_watts?"),
        ("vendor(3)", 1, "vendor is not a function"),
        ("abs > 3", 1, "abs is a function"),
        ("abs(1)(2) > 3", 1, "only a function can be called"),
        ("mtches(model, 'a')", 1, "did you mean matches?"),
        ("power_watt > 3", 1, "did you mean power_watts?"),
        ("Power_Watts > 3", 1, "did you mean power_watts?"),
        ("devices > 3", 1, "devices does not describe a device"),
        ("device_info > 3", 1, "device_info does not describe a device"),
        ('state == "okay"', 10, "state is never 'okay'"),
        ('state == "degradd"', 10, "did you mean degraded?"),
        ('"losst" != state', 1, "did you mean lost?"),
        ('state in ("ok", "gone")', 17, "it is one of ok, degraded, lost"),
        ("health.faild", 1, "did you mean failed?"),
        ("true", 1, "did you mean True?"),
        ("", 1, "the expression is empty"),
        (" \t\n", 1, "the expression is empty"),
        ("a\0b", 2, "U+0000 is not part of the language"),
        ("\ud800", 1, "U+D800 is not part of the language"),
        ("vendor == '日本' and 日", 20, "日 is not part of the language"),
        ("temperature_celsius.in > 3", 20, "a label is missing after the dot"),
        ("[power_watts]", 1, "a condition is needed here, but this is a list"),
    ],
)
def test_refusal_names_column_and_reason(text: str, column: int, message: str) -> None:
    shown = refused(text)
    assert message in shown
    assert f"(column {column})" in shown


@pytest.mark.parametrize(
    "text",
    [
        '__import__("os")',
        "power_watts.__class__",
        "().__class__.__bases__",
        "power_watts['__class__'].x",
        "lambda: 1",
        "1 if True else 2",
        "[x for x in (1, 2)]",
        "{1: 2}",
        "{1}",
        "power_watts ** 2",
        "9**9**9",
        'f"{vendor}"',
        'b"x" == b"x"',
        'u"x" == vendor',
        "x := 3",
        "(x := 3)",
        "min(*power_watts)",
        'matches(model, "x", **a)',
        "1j",
        "...",
        "None",
        "vendor is None",
        "await power_watts",
        "yield",
        "power_watts; power_watts",
        "power_watts # x",
        "power_watts @ 2",
        "power_watts << 2",
        "~power_watts",
        "power_watts & 1",
        "0x10 > 1",
        "1_000 > 1",
        "print(1)",
        "open('/etc/passwd')",
        "pow\u00ebr > 1",
        "\ufb01d == 'x'",
    ],
)
def test_python_outside_the_language_is_refused(text: str) -> None:
    refused(text)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 4096,
        "(" * 33 + "True" + ")" * 33,
        "[" * 1000,
        "-" * 4095 + "1",
        "- " * 40 + "1 > 0",
        "not " * 33 + "True",
        "1" + "+1" * 2000 + " > 0",
        "1" + "+1" * 40 + " > 0",
        "power_watts" + ".a" * 2000,
        "abs(" * 33 + "1" + ")" * 33 + " > 0",
        "power_watts > 1" + " or power_watts > 1" * 200,
        "True" + " or True" * 600,
        "True or" * 1000,
        "x" * 5000,
        "(" * 100_000,
    ],
)
def test_size_and_nesting_are_bounded(text: str) -> None:
    assert len(refused(text)) < 400


@pytest.mark.parametrize(
    "text",
    [
        "(" * 30 + "True" + ")" * 30,
        "not " * 29 + "True",
        "- " * 28 + "power_watts > 0",
        "power_watts" + "+power_watts" * 29 + " > 0",
        "abs(" * 29 + "power_watts" + ")" * 29 + " > 0",
        "((power_watts > 1) and " * 13 + "True" + ")" * 13,
        "True in (ecc_enabled, " * 15 + "True" + ")" * 15,
        "(ecc_enabled == True == " * 29 + "True" + ")" * 29,
        "(index < index and " * 14 + "not ecc_enabled" + ")" * 14,
        "True" + " or True" * 490,
        "1" + " < index" * 400,
    ],
)
def test_what_is_within_the_limits_compiles(text: str) -> None:
    expression = compile_condition(text, device_names())
    expression.evaluate(lambda key: 1.0)


def test_terminal_escapes_are_not_echoed() -> None:
    assert "\x1b" not in refused("vendor == '\x1b[31m' and \x1b")


def test_long_expressions_are_shown_around_the_fault() -> None:
    shown = refused("power_watts > 1 or " * 20 + "nope > 3" + " or True" * 20)
    line, caret = shown.splitlines()[1:3]
    assert line[caret.index("^") :].startswith("nope > 3")
    assert len(line) < 120


def test_a_value_is_no_condition() -> None:
    number = compile_expression("power_watts", device_names())
    with pytest.raises(ExpressionError, match="a condition is needed"):
        number.evaluate(lambda key: 1.0)


def test_a_list_is_no_value() -> None:
    with pytest.raises(ExpressionError, match="a list is only allowed after in"):
        compile_expression("(1, 2)", device_names())
