"""A benchmark that is killed leaves no process."""

import itertools
import os
import signal
import subprocess
import sys
from pathlib import Path

from support.processes.process_states import has_ended
from support.processes.waiting import wait_until

ROOT = Path(__file__).parents[2]
# Started by a block of a benchmark, by nobody's, and below a process of another session; the last
# ignores SIGTERM.
SCRIPT = """
import subprocess, sys, time
sys.path[:0] = {paths!r}
from hub_processes import running
with running(["sleep", "3600"], None) as first:
    second = subprocess.Popen(["sleep", "3600"])
    script = "trap '' TERM; sleep 3600 & echo $!; wait"
    third = subprocess.Popen(["sh", "-c", script], start_new_session=True, stdout=subprocess.PIPE)
    print(first.pid, second.pid, third.pid, int(third.stdout.readline()), flush=True)
    time.sleep(3600)
"""


def test_a_benchmark_that_is_killed_ends_what_it_has_started() -> None:
    script = SCRIPT.format(paths=[str(ROOT / "benchmarks" / "hub"), str(ROOT / "tests")])
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as benchmark:
        assert benchmark.stdout is not None
        pids = [int(word) for word in benchmark.stdout.readline().split()]
        try:
            assert [has_ended(pid) for pid in pids] == [False] * 4
            benchmark.terminate()
            assert benchmark.wait(60) == 128 + signal.SIGTERM
            wait_until(lambda: all(map(has_ended, pids)))
        finally:
            for pid in itertools.filterfalse(has_ended, pids):
                os.kill(pid, signal.SIGKILL)
