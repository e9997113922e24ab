"""docs/architecture.md names the functions on the paths of an incident and of commands."""

import ast
import re
from collections.abc import Iterable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src/accelwatch"
PAGE = (ROOT / "docs/architecture.md").read_text()

# A function, and the module that has it.
Stop = tuple[Path, str]


def section(title: str) -> str:
    """The text below a heading of the page."""
    return PAGE.partition(f"## {title}\n")[2].partition("\n## ")[0]


def paths(text: str) -> list[dict[str, list[Stop]]]:
    """The stops of each table of a section, by the step that they belong to."""
    tables = text.split("| step | functions |")[1:]
    return [stops(table) for table in tables]


def stops(table: str) -> dict[str, list[Stop]]:
    """Module and function of each stop, by step."""
    steps: dict[str, list[Stop]] = {}
    for step, cell in re.findall(r"^\| ([^|`]+) \| (`.+) \|$", table, re.MULTILINE):
        module = Path()
        for name in re.findall(r"`([^`]+)`", cell):
            if name.endswith(".py"):
                module = SOURCE / name
            else:
                steps.setdefault(step, []).append((module, name))
    return steps


def functions(path: Path) -> set[str]:
    """Names of the functions and methods of a module, methods with their class."""
    names: set[str] = set()
    for node in ast.parse(path.read_text()).body:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                names.add(name)
            case ast.ClassDef(name=name, body=body):
                names |= {
                    f"{name}.{method.name}"
                    for method in body
                    if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef)
                }
    return names


def modules(steps: Iterable[list[Stop]]) -> set[Path]:
    """The modules in which some steps of a path are."""
    return {module for step in steps for module, _ in step}


INCIDENT, *_ = paths(section("The path of an incident"))
QUARANTINE, DOCUMENT = paths(section("The path of a command"))
PATHS = pytest.mark.parametrize(
    "path", [INCIDENT, QUARANTINE, DOCUMENT], ids=["incident", "quarantine", "document"]
)


@PATHS
def test_each_function_on_a_path_is_where_the_page_says(path: dict[str, list[Stop]]) -> None:
    all_stops = [stop for step in path.values() for stop in step]
    assert all_stops
    missing = [f"{module}: {name}" for module, name in all_stops if name not in functions(module)]
    assert missing == []


def test_the_path_of_an_incident_is_counted_right_and_stays_short() -> None:
    *to_machine, decision, notification = (len(step) for step in INCIDENT.values())
    assert (sum(to_machine), decision, notification) == (34, 6, 8)
    text = section("The path of an incident")
    assert "34 from a reading" in text
    assert "six more" in text
    assert "eight from an incident" in text
    assert sum(to_machine) <= 35


def test_the_paths_of_commands_are_counted_right_and_stay_short() -> None:
    *to_journal, effect = QUARANTINE.values()
    journaled, document = len(modules(to_journal)), len(modules(DOCUMENT.values()))
    counts = (journaled, len(modules(QUARANTINE.values())) - journaled, document)
    assert effect
    assert counts == (21, 3, 15)
    text = section("The path of a command")
    assert "21 modules" in text
    assert "three more" in text
    assert "15 modules" in text
