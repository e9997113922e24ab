"""The table of the fifteen ways names tests that are there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
NAMED = re.findall(r"`(tests/\S+?\.py)::(\w+)`", Path(__file__).with_name("fifteen.md").read_text())


def test_the_tests_of_the_table_are_there() -> None:
    assert NAMED
    missing = [
        (file, name) for file, name in NAMED if f"def {name}(" not in (ROOT / file).read_text()
    ]
    assert not missing
