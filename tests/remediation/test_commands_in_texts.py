"""A command that a message says to type is complete: one without its reason is refused."""

import ast
import re
from pathlib import Path

import pytest

import accelwatch.remediation

PACKAGE = Path(accelwatch.remediation.__file__).parents[1]
FILES = sorted(
    path
    for folder in ("remediation", "fleet/remedies", "fleet/approval", "alerting")
    for path in (PACKAGE / folder).rglob("*.py")
)
NEEDS_REASON = re.compile(
    r"accelwatch (?:remedy )?(quarantine|release|recovered|retry|forget|hold|stop|start)"
    r"(?: NODE| \{[a-z_.]*\})?((?: --[a-z]+| WHY)*)"
)


def texts(path: Path) -> list[str]:
    """The texts of a module that are no docstrings, with their gaps as `{}`."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docs = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    inner = {
        part for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values
    }
    found = []
    for node in ast.walk(tree):
        if node in docs or node in inner:
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.append(node.value)
        elif isinstance(node, ast.JoinedStr):
            parts = (one.value if isinstance(one, ast.Constant) else "{}" for one in node.values)
            found.append("".join(map(str, parts)))
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_command_in_a_message_has_its_reason(path: Path) -> None:
    for text in texts(path):
        for match in NEEDS_REASON.finditer(text):
            assert "--reason" in match[2], text


def test_there_are_commands_in_messages() -> None:
    assert sum(bool(NEEDS_REASON.search(text)) for path in FILES for text in texts(path)) >= 8
