"""tests/mutants/modules.txt names modules and tests that are there, however they move."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
ENTRIES = [
    line.split()
    for line in (ROOT / "tests/mutants/modules.txt").read_text().splitlines()
    if line and not line.startswith("#")
]


def test_each_module_and_test_that_is_named_exists() -> None:
    named = [word.removeprefix("--ignore=") for entry in ENTRIES for word in entry]
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_each_module_has_tests_of_its_own_kind() -> None:
    """Tests come after the module, and each entry has some that are not left out."""
    without = [
        module
        for module, *tests in ENTRIES
        if module.startswith("tests/") or not any(test.startswith("tests/") for test in tests)
    ]
    assert without == []


def test_a_module_has_one_entry() -> None:
    modules = [module for module, *_ in ENTRIES]
    assert sorted(set(modules)) == modules
