"""Timing of whole processes in turn, so that a comparison holds when the machine's speed drifts.

And the processor time of a process that runs.
"""

import statistics
import subprocess
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Run(NamedTuple):
    """One finished (or killed: status None) run."""

    wall_s: float
    status: int | None
    output: bytes


def cpu_seconds(pid: int) -> float:
    """Processor time used so far, of ended threads too: clock_getcpuclockid(3). Raises OSError.

    /proc/PID/stat counts in hundredths of a second, of which a quiet program needs few in a minute.
    """
    return time.clock_gettime(~pid << 3 | 2)


def once(words: Sequence[str], environ: Mapping[str, str], timeout_s: float = 60) -> Run:
    """Run a command; one that hangs is killed."""
    began = time.perf_counter()
    try:
        run = subprocess.run(
            list(words), env=dict(environ), capture_output=True, timeout=timeout_s, check=False
        )
        output, status = run.stdout, run.returncode
    except subprocess.TimeoutExpired as late:
        output, status = late.stdout or b"", None
    return Run(time.perf_counter() - began, status, output)


def in_turn(
    commands: Mapping[str, Sequence[str]], environ: Mapping[str, str], runs: int
) -> dict[str, dict[str, float]]:
    """Median, least and greatest wall seconds of each command; one uncounted run of each first."""
    walls: dict[str, list[float]] = {name: [] for name in commands}
    for number in range(runs + 1):
        for name, words in commands.items():
            result = once(words, environ)
            if number:
                walls[name].append(result.wall_s)
    return {
        name: {
            "median_s": round(statistics.median(times), 4),
            "min_s": round(min(times), 4),
            "max_s": round(max(times), 4),
        }
        for name, times in walls.items()
    }
