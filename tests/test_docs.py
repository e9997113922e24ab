"""Generated pages are current, and each row of the catalogue is on exactly one of them."""

import importlib.util
from pathlib import Path

from accelwatch.schema.metrics import catalogue

DOCS = Path(__file__).resolve().parent.parent / "docs"


def test_metrics_page_is_current() -> None:
    spec = importlib.util.spec_from_file_location("build_metrics", DOCS / "build_metrics.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    page = (DOCS / "metrics.md").read_text()
    assert page == module.build(), "run: python docs/build_metrics.py"
    for row in catalogue():
        assert page.count(f"| `{row.key}` |") == 1
