"""A recorder that is killed: a real process, SIGKILL at some moment, nothing that was told is lost."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from archive.recording.shots import numbers, write

_WRITE = """
import itertools, sys
from pathlib import Path
from accelwatch.archive.recording import Recorder
from archive.recording.shots import shot
recorder = Recorder(Path(sys.argv[1]), max_bytes=64 << 10, keep=50)
for number in itertools.count():
    recorder.write(shot(number))
    print(number, flush=True)
"""


@pytest.mark.parametrize("name", ["r.ndjson", "r.gz", "r.zst"])
@pytest.mark.parametrize("after", [5, 130])
def test_a_killed_recorder_leaves_all_that_it_wrote(tmp_path: Path, name: str, after: int) -> None:
    path = tmp_path / name
    process = subprocess.Popen(
        [sys.executable, "-c", _WRITE, str(path)],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    reported = -1
    with process:
        while reported < after:
            reported = int(process.stdout.readline())
        process.kill()
        rest = process.stdout.read().splitlines()
    reported = int(rest[-1]) if rest and rest[-1] else reported
    left = numbers(tmp_path)
    assert left == list(range(len(left)))
    assert len(left) >= reported
    write(path, 1, first=5000, keep=100)
    assert numbers(tmp_path / f"{name}*") == [*left, 5000]
