"""The examples of docs/history.md, run as they are written."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from support.archives.history_archives import steady, write

_EXAMPLE = re.compile(r"<!-- test: (\w+) -->\n```python\n(.*?)```", re.DOTALL)
_PAGE = Path(__file__).parents[3] / "docs" / "history.md"
EXAMPLES = dict(_EXAMPLE.findall(_PAGE.read_text(encoding="utf-8")))


@pytest.mark.parametrize("library", ["pandas", "duckdb", "polars"])
def test_an_example_runs_as_it_is_written(tmp_path: Path, library: str) -> None:
    if find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    write(tmp_path / "fleet", steady(minutes=10))
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", EXAMPLES[library]],
        cwd=tmp_path,
        env={**os.environ, "POLARS_FMT_MAX_ROWS": "20"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "node000" in done.stdout
    assert "309.5" in done.stdout
