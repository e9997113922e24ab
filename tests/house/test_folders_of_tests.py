"""Folders of tests are named as packages are, and tests/README.md names the others."""

import re
from collections.abc import Mapping
from pathlib import Path

TESTS = Path(__file__).parents[1]
SRC = TESTS.parent / "src"
README = (TESTS / "README.md").read_text()
# Folders, with all below them, that stand for no package of `src/accelwatch`, and why.
EXCEPTIONS: Mapping[str, str] = {
    "actions": "plug-ins",
    "backends": "plug-ins",
    "exporters": "plug-ins",
    "sinks": "plug-ins",
    "api": "import accelwatch",
    "lab": "accelwatch_lab",
    "nvml_stand_in": "a library in C",
    "golden": "outputs of every fixture machine",
    "cases": "whole incidents",
    "end_to_end": "a whole site",
    "whole_site": "a whole site",
    "night": "a whole site",
    "detection/bad_days": "bad days over all channels",
    "fleet/end_to_end": "agents, a hub and its rules together",
    "fleet/misbehaving_targets": "every way to follow a target",
    "docs": "pages",
    "examples": "example files",
    "distribution": "packages",
    "benchmarks": "measurements",
    "house": "rules about the code",
    "mutants": "mutation tests",
    "support": "no tests",
}


def folders(of: Path) -> set[str]:
    """The folders with tests, or with what tests share."""
    return {path.name for path in of.iterdir() if next(path.glob("**/*.py"), None) is not None}


def named(prefix: str = "") -> set[str]:
    """The folders that a table of the page names."""
    rows = [line for line in README.splitlines() if line.startswith("| `")]
    names = [name for row in rows for name in re.findall(r"`([^`]*)`", row.split("|")[1])]
    return {name.removeprefix(prefix) for name in names if name.startswith(prefix)}


def test_the_page_names_each_folder_that_stands_for_no_package() -> None:
    assert {name for name in EXCEPTIONS if "/" not in name} <= named()


def test_the_page_names_no_folder_that_is_not_there() -> None:
    assert {name for name in named() if "/" not in name and name != "..."} <= folders(TESTS)


def test_each_package_of_helpers_is_on_the_page() -> None:
    assert folders(TESTS / "support") == named("support/")


def test_helpers_are_in_packages() -> None:
    assert [path.name for path in TESTS.glob("*.py")] == ["conftest.py"]
    assert list((TESTS / "support").glob("*.py")) == []


def _folders() -> list[str]:
    found = {path.parent.relative_to(TESTS) for path in TESTS.rglob("test_*.py")}
    return sorted(str(folder) for folder in found)


def _stands_for_a_module(folder: str) -> bool:
    path = SRC / "accelwatch" / folder
    return path.is_dir() or path.with_suffix(".py").is_file()


def test_a_folder_is_named_as_what_it_tests() -> None:
    others = [
        folder
        for folder in _folders()
        if not _stands_for_a_module(folder)
        and not any(folder == name or folder.startswith(f"{name}/") for name in EXCEPTIONS)
    ]
    assert others == []


def test_no_exception_is_left_over() -> None:
    assert [name for name in EXCEPTIONS if not (TESTS / name).is_dir()] == []
    assert [name for name in EXCEPTIONS if _stands_for_a_module(name)] == []


def test_the_simulator_and_the_recovery_of_the_lab_have_their_folders() -> None:
    for name in ("simulator", "recovery"):
        assert (SRC / "accelwatch_lab" / name).is_dir()
        assert (TESTS / "lab" / name).is_dir()
