"""tests/mutants names modules, tests and functions that are there, however they move."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MUTANTS = ROOT / "tests/mutants"
ENTRIES = [
    line.split()
    for line in (MUTANTS / "modules.txt").read_text().splitlines()
    if line and not line.startswith("#")
]
SURVIVORS = [
    name
    for line in (MUTANTS / "survivors.md").read_text().splitlines()
    if line.startswith("| `")
    for name in re.findall(r"`([\w.]+)`", line.split(" | ")[0])
]
PACKAGES = ("src/accelwatch", "actions", "exporters")


def file_and_names(dotted: str) -> tuple[Path, list[str]]:
    """The innermost module or package of a dotted name, and what of the name is left."""
    words = dotted.split(".")
    for package in PACKAGES:
        for count in range(len(words), 0, -1):
            path = ROOT / package / "/".join(words[:count])
            for file in (path.with_suffix(".py"), path / "__init__.py"):
                if file.is_file():
                    return file, words[count:]
    pytest.fail(f"{dotted} is in no module")


def test_each_module_and_test_that_is_named_exists() -> None:
    named = [word.removeprefix("--ignore=") for entry in ENTRIES for word in entry]
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_each_module_has_tests_that_are_not_left_out() -> None:
    without = [
        module
        for module, *tests in ENTRIES
        if module.startswith("tests/") or not any(test.startswith("tests/") for test in tests)
    ]
    assert without == []


def test_a_module_has_one_entry() -> None:
    modules = [module for module, *_ in ENTRIES]
    assert sorted(set(modules)) == modules


@pytest.mark.parametrize("survivor", SURVIVORS)
def test_a_survivor_is_in_a_function_that_exists(survivor: str) -> None:
    file, names = file_and_names(survivor)
    text = file.read_text()
    assert [name for name in names if not re.search(rf"\b(def|class) {name}\b", text)] == []
