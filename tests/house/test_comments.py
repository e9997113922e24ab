"""What is said of an attribute is a comment above it; a string below one drifts to another unseen."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted(
    file
    for folder in ("src", "actions", "alerts", "backends", "exporters", "tests")
    for file in (ROOT / folder).rglob("*.py")
)


def _bare_strings(text: str) -> Iterator[int]:
    """Lines of strings that are statements of their own and no docstrings."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from (statement.lineno for statement in node.body[1:] if _is_string(statement))


def _is_string(statement: ast.stmt) -> bool:
    value = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


@pytest.mark.parametrize(
    "text",
    [
        'a = 1\n"""Of a."""\n',
        'class A:\n    """Class."""\n    a = 1\n    """Of a."""\n',
        'class A:\n    def f(self): ...\n    """Of f."""\n',
    ],
)
def test_a_string_below_a_statement_is_found(text: str) -> None:
    assert list(_bare_strings(text))


def test_docstrings_and_comments_are_not() -> None:
    text = '"""Module."""\nclass A:\n    """Class."""\n    # Of a.\n    a = 1\n'
    assert not list(_bare_strings(text))


def test_no_string_is_a_comment() -> None:
    found = [
        f"{file.relative_to(ROOT)}:{line}"
        for file in SOURCES
        for line in _bare_strings(file.read_text(encoding="utf-8"))
    ]
    assert found == []
