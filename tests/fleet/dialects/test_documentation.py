"""docs/fleet/dialects.md is what the tables say."""

import importlib.util
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[3] / "docs" / "fleet"


def test_the_page_is_current() -> None:
    spec = importlib.util.spec_from_file_location("build_dialects", FOLDER / "build_dialects.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    page = (FOLDER / "dialects.md").read_text()
    assert page == module.build(), "run: python docs/fleet/build_dialects.py"
