"""Patterns that could take long are refused before they are ever matched."""

import pytest

from accelwatch.expr.vocabulary.pattern import compile_pattern


@pytest.mark.parametrize(
    "pattern",
    [
        "(a+)+",
        "(a*)*",
        "(a|a)*",
        "(a|b?)+",
        "(?:a{1,3})+",
        "(?:(?:a)?){2,}",
        "(a+){0000000002,}",
        "(?:(?:(?:){128}){128}){128}",
        "a*a*a*a*b",
        "a?" * 30 + "a" * 30,
        "(a|aa)" * 20,
        r"(a)\1",
        "(?P<x>a)(?P=x)",
        "(?=a)b",
        "(?!a)b",
        "(?<=a)b",
        "(?<!a)b",
        "(?>a)",
        "(?i)a",
        "(?(1)a|b)",
        "(?#x)",
        "a**",
        "a*+",
        "a{1,2}{3}",
        "*a",
        "a|*",
        "a{1,999}",
        "a{3,1}",
        "a{,}",
        "(a",
        "a)",
        "[a",
        "[[a]",
        "[a--b]",
        "[z-a]",
        "a\\",
        r"\N{DIGIT ONE}",
        r"\x41",
        "(" * 9 + ")" * 9,
        "a" * 201,
    ],
)
def test_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        compile_pattern(pattern, ignore_case=False)


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("H100|H200", "NVIDIA H200", True),
        ("^(NVIDIA|AMD) .*H?100", "NVIDIA H100", True),
        ("MI3[0-9]{2}[AX]$", "AMD Instinct MI300X", True),
        (r"[^\]]\.5", "1.5", True),
        ("[]x]+", "]", True),
        ("(?:ab)+c", "ababc", True),
        ("a{2}", "aa", True),
        (r"\(R\)", "Intel(R)", True),
        ("x{y", "x{y", True),
        (".*?b", "aab", True),
        ("", "anything", True),
        ("b", "aaa", False),
    ],
)
def test_matched(pattern: str, text: str, expected: bool) -> None:
    assert compile_pattern(pattern, ignore_case=False)(text) is expected
