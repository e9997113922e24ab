"""Folders of tests are named as packages are, and tests/README.md names the others."""

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
README = (TESTS / "README.md").read_text()
ROOMS = {path.stem for path in (TESTS.parent / "src" / "accelwatch").iterdir()}


def folders(of: Path) -> set[str]:
    """The folders with tests, or with what tests share."""
    return {path.name for path in of.iterdir() if next(path.glob("**/*.py"), None) is not None}


def named(prefix: str = "") -> set[str]:
    """The folders that a table of the page names."""
    rows = [line for line in README.splitlines() if line.startswith("| `")]
    names = [name for row in rows for name in re.findall(r"`([^`]*)`", row.split("|")[1])]
    return {name.removeprefix(prefix) for name in names if name.startswith(prefix)}


def test_a_folder_is_named_as_its_package_or_the_page_says_what_it_tests() -> None:
    assert folders(TESTS) - ROOMS - named() == {"support"}


def test_the_page_names_no_folder_that_is_not_there() -> None:
    assert {name for name in named() if "/" not in name and name != "..."} <= folders(TESTS)


def test_each_package_of_helpers_is_on_the_page() -> None:
    assert folders(TESTS / "support") == named("support/")


def test_helpers_are_in_packages() -> None:
    assert [path.name for path in TESTS.glob("*.py")] == ["conftest.py"]
    assert list((TESTS / "support").glob("*.py")) == []
