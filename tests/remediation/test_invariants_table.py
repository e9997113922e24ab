"""The table of the invariants names tests that are there, and complaints of the walker."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROWS = [
    [cell.strip() for cell in line.strip("|\n").split("|")]
    for line in Path(__file__).with_name("invariants.md").read_text().splitlines()
    if line.startswith("| ") and "::" in line
]
WALKER = "".join(
    (ROOT / "tests/support/remediation" / name).read_text()
    for name in ("invariants.py", "walker.py")
)


def test_the_tests_of_the_table_are_there() -> None:
    named = [found for row in ROWS for found in re.findall(r"`(tests/\S+?\.py)::(\w+)`", row[2])]
    assert len(named) >= len(ROWS)
    missing = [
        (file, name) for file, name in named if f"def {name}(" not in (ROOT / file).read_text()
    ]
    assert not missing


def test_the_walker_complains_in_the_words_of_the_table() -> None:
    words = [found for row in ROWS for found in re.findall(r"`([^`]+)`", row[1])]
    assert words
    assert not [one for one in words if one not in WALKER]
