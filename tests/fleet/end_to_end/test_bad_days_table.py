"""The table of bad days names tests that are there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
NAMED = re.findall(
    r"`(tests/\S+?\.py)::(\w+)`", (Path(__file__).with_name("bad_days.md")).read_text()
)


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_a_test_of_the_table_is_there(file: str, name: str) -> None:
    assert f"def {name}(" in (ROOT / file).read_text()
