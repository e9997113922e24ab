"""numpy is loaded without threads, and nobody that is begun later learns how."""

import os
import subprocess
import sys

import pytest

_LOAD = """
import os
from accelwatch.base.single_thread import load_numpy
load_numpy()
import numpy
print(len(os.listdir("/proc/self/task")), os.environ.get("OPENBLAS_NUM_THREADS"))
"""


def _loaded(**more: str) -> list[str]:
    plain = {name: text for name, text in os.environ.items() if "OPENBLAS" not in name}
    words = [sys.executable, "-c", _LOAD]
    return subprocess.run(
        words, check=True, capture_output=True, text=True, env={**plain, **more}
    ).stdout.split()


def test_no_thread_is_started_and_the_environment_is_as_before() -> None:
    assert _loaded() == ["1", "None"]


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="OpenBLAS begins no thread here")
def test_who_configures_threads_has_them() -> None:
    assert _loaded(OPENBLAS_NUM_THREADS="2") == ["2", "2"]
