"""docs/architecture.md names the functions on an incident's path: they are there, and counted right."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
SECTION = (ROOT / "docs/architecture.md").read_text().partition("## The path of an incident")[2]
SECTION = SECTION.partition("\n## ")[0]


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


def stops() -> dict[str, list[tuple[Path, str]]]:
    """Module and function of each stop, by the step that it belongs to."""
    steps: dict[str, list[tuple[Path, str]]] = {}
    for step, cell in re.findall(r"^\| ([^|`]+) \| (`.+) \|$", SECTION, re.MULTILINE):
        module = Path()
        for name in re.findall(r"`([^`]+)`", cell):
            if name.endswith(".py"):
                module = ROOT / "src/accelwatch" / name
            else:
                steps.setdefault(step, []).append((module, name))
    return steps


def test_each_function_on_the_path_is_where_the_page_says() -> None:
    path = [stop for step in stops().values() for stop in step]
    assert path
    missing = [f"{module}: {name}" for module, name in path if name not in functions(module)]
    assert missing == []


def test_the_path_is_counted_right_and_stays_short() -> None:
    *to_machine, decision, notification = (len(step) for step in stops().values())
    assert (sum(to_machine), decision, notification) == (34, 6, 8)
    assert "34 from a reading" in SECTION
    assert "six more" in SECTION
    assert "eight from an incident" in SECTION
    assert sum(to_machine) <= 35
