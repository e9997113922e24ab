"""The first full picture of a fleet, beside `all-smi view`: `first_picture.py FOLDER [--nodes 63 256]`.

FOLDER holds the programs `all-smi` and `all-smi-mock-server`, which serves the nodes of 8 devices that
both look at in turn. Each runs in tmux of 200 by 60; what its screen says is looked at every 20 ms.
Gives seconds until it counts every node as live, and the memory of all its processes then and half a
minute later.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from dashboard import spread
from harness.node import accelwatch
from support.processes.terminated import end_children_when_terminated

PORT = 28001
LOOK_S = 0.02
GUARD_S = 120.0
LATER_S = 30.0


class Screen:
    """A program in a terminal of its own; `words` are what runs there."""

    def __init__(self, folder: Path, words: list[str]) -> None:
        self._socket = str(folder / f"tmux-{time.monotonic_ns()}")
        home = {"HOME": str(folder), "XDG_STATE_HOME": str(folder), "LC_ALL": "C.UTF-8"}
        self.began = time.perf_counter()
        self._tmux("new-session", "-d", "-x", "200", "-y", "60", *words, environ=home)
        self._pid = int(self._tmux("display-message", "-p", "#{pane_pid}"))

    def _tmux(self, *words: str, environ: dict[str, str] | None = None) -> str:
        return subprocess.run(
            ["tmux", "-f", "/dev/null", "-S", self._socket, *words],
            env={**os.environ, **(environ or {})},
            check=True,
            capture_output=True,
            text=True,
        ).stdout

    def seconds_until(self, text: str) -> float:
        """Since the start, until the screen has the text. Raises RuntimeError."""
        while time.perf_counter() - self.began < GUARD_S:
            if text in self._tmux("capture-pane", "-p"):
                return time.perf_counter() - self.began
            time.sleep(LOOK_S)
        raise RuntimeError(f"{text!r} was never shown:\n{self._tmux('capture-pane', '-p')}")

    def memory_mib(self) -> float:
        """Proportional share of memory, of all processes."""
        first = psutil.Process(self._pid)
        pss = sum(one.memory_full_info().pss for one in (first, *first.children(recursive=True)))
        return round(pss / 2**20, 1)

    def close(self) -> None:
        """End it."""
        self._tmux("kill-server")


@contextmanager
def nodes(programs: Path, folder: Path, count: int) -> Iterator[Path]:
    """So many simulated nodes; gives the file that lists them."""
    listed = folder / f"hosts-{count}.csv"
    words = [
        "--platform",
        "nvidia",
        "--port-range",
        f"{PORT}-{PORT + count - 1}",
        "-o",
        str(listed),
    ]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([programs / "all-smi-mock-server", *words], **quiet) as server:  # type: ignore[call-overload]
        try:
            while not listed.exists() or len(listed.read_text().splitlines()) < count:
                time.sleep(0.1)
            time.sleep(3.0)
            if server.poll() is not None:
                raise RuntimeError(f"the simulated nodes ended; is something else at port {PORT}?")
            yield listed
        finally:
            server.kill()


def measured(folder: Path, words: list[str], complete: str, runs: int) -> dict[str, object]:
    """Times of some runs; the memory of the last one."""
    times: list[float] = []
    memory: list[float] = []
    for run in range(runs):
        screen = Screen(folder, words)
        try:
            times.append(screen.seconds_until(complete))
            if run == runs - 1:
                memory.append(screen.memory_mib())
                time.sleep(LATER_S)
                memory.append(screen.memory_mib())
        finally:
            screen.close()
    return {"complete_s": spread(times), "pss_mib": memory[0], "pss_mib_later": memory[1]}


def main() -> None:
    """One JSON document."""
    end_children_when_terminated()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", type=Path)
    parser.add_argument("--nodes", type=int, nargs="+", default=[63, 256, 800])
    parser.add_argument("--runs", type=int, default=5)
    asked = parser.parse_args()
    given = {}
    with tempfile.TemporaryDirectory(prefix="accelwatch-bench-") as name:
        folder = Path(name)
        for count in asked.nodes:
            with nodes(asked.programs, folder, count) as listed:
                targets = f"localhost:[{PORT}-{PORT + count - 1}]"
                view = [str(asked.programs / "all-smi"), "view", "--hostfile", str(listed)]
                given[str(count)] = {
                    "accelwatch": measured(
                        folder, accelwatch("fleet", "-t", targets), f"● {count} up", asked.runs
                    ),
                    "all-smi": measured(folder, view, f"{count}/{count}", asked.runs),
                }
    json.dump(given, sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main()
