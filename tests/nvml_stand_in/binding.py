"""NVIDIA's own binding, loaded over the stand-in library."""

import os
import subprocess
import sys
from typing import Any

import pynvml
import pytest

from support.machines.nvml_stand_ins import NvmlScenario

# The binding is not typed.
nvml: Any = pynvml


def code_of(error: pytest.ExceptionInfo[BaseException]) -> int:
    value: int = error.value.value  # type: ignore[attr-defined]
    return value


def run_child(scenario: NvmlScenario, body: str, timeout_s: float = 20) -> Any:
    """Runs Python with pynvml imported as `p` in a process whose only NVML is the stand-in."""
    scenario.write()
    return subprocess.run(
        [sys.executable, "-c", f"import pynvml as p\n{body}"],
        env=os.environ | scenario.environment(),
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
