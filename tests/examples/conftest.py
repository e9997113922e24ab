"""Where the examples are, what they hold, and the programs that judge them."""

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Promtool = Callable[..., str]
Dashboards = dict[str, dict[str, Any]]

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture(scope="session")
def examples() -> Path:
    return EXAMPLES


@pytest.fixture(scope="session")
def dashboards() -> Dashboards:
    """The dashboards by file name."""
    files = sorted((EXAMPLES / "prometheus" / "dashboards").glob("*.json"))
    return {file.stem: json.loads(file.read_text(encoding="utf-8")) for file in files}


@pytest.fixture(scope="session")
def promtool() -> Promtool:
    """Runs promtool and returns what it printed; a finding of promtool fails the test."""
    program = shutil.which("promtool")
    if program is None:
        pytest.skip("promtool is not on PATH; Debian has it in the package prometheus")

    def run(*arguments: str | Path) -> str:
        done = subprocess.run(
            [program, *arguments], capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run
