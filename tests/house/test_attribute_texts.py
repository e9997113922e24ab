"""A text under an attribute is about that attribute; one that has slipped under another misleads."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted(
    file
    for folder in ("src", "actions", "alerts", "backends", "exporters")
    for file in (ROOT / folder).rglob("*.py")
)


def _misplaced(text: str) -> Iterator[int]:
    """Lines of texts that follow no attribute: a second one in a row, or one under something else."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for before, statement in zip(node.body, node.body[1:], strict=False):
            if _is_text(statement) and not isinstance(before, ast.Assign | ast.AnnAssign):
                yield statement.lineno


def _is_text(statement: ast.stmt) -> bool:
    value = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


@pytest.mark.parametrize(
    "text",
    [
        'class A:\n    a = 1\n    """Of a."""\n    """Of b."""\n',
        'class A:\n    def f(self): ...\n    """Of b."""\n',
    ],
)
def test_a_second_text_and_one_under_a_function_are_found(text: str) -> None:
    assert list(_misplaced(text))


def test_one_under_its_attribute_and_a_docstring_are_not() -> None:
    assert not list(
        _misplaced('"""Module."""\nclass A:\n    """Class."""\n    a = 1\n    """Of a."""\n')
    )


def test_every_text_stands_under_its_attribute() -> None:
    found = [
        f"{file.relative_to(ROOT)}:{line}"
        for file in SOURCES
        for line in _misplaced(file.read_text(encoding="utf-8"))
    ]
    assert found == []
