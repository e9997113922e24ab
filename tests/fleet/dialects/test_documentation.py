"""docs/fleet/dialects.md is what the tables say."""

import importlib.util
from pathlib import Path

import pytest

from accelwatch.fleet.dialects import Dialect
from accelwatch.fleet.dialects.registry import DIALECTS

FOLDER = Path(__file__).resolve().parents[3] / "docs" / "fleet"


def test_the_page_is_current() -> None:
    spec = importlib.util.spec_from_file_location("build_dialects", FOLDER / "build_dialects.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    page = (FOLDER / "dialects.md").read_text()
    assert page == module.build(), "run: python docs/fleet/build_dialects.py"


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_a_dialect_lists_all_families_that_it_maps(dialect: Dialect) -> None:
    page = (FOLDER / "dialects.md").read_text()
    section = page.partition(f"\n## {dialect.name}\n")[2].partition("\n## ")[0]
    families = {row.name for row in (*dialect.rows, *dialect.host)}
    assert {name for name in families if f"| `{name}` |" not in section} == set()
    assert ("The families of [metrics.md]" in section) == (not families)
