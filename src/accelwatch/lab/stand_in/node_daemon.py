"""The daemon of one node of the stand-in: it runs what is ordered, ends what is not, and reports."""

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from accelwatch.lab.stand_in.wire import ORDERS, REPORTS, Copy, Orders, Report, got, put

_ROUND_S = 0.05


class NodeDaemon:
    """Of one node."""

    def __init__(self, folder: Path, node: str) -> None:
        self._folder = folder
        self._node = node
        self._copies: dict[str, subprocess.Popen[bytes]] = {}

    def round(self) -> None:
        """Do what the orders say, and report. Raises OSError."""
        orders = got(self._folder, ORDERS, self._node, Orders) or Orders()
        wanted = {copy.name: copy for copy in orders.copies}
        for name in [name for name in self._copies if name not in wanted]:
            _end(self._copies.pop(name))
        for name, copy in wanted.items():
            if name not in self._copies:
                self._copies[name] = self._begun(copy)
        ends = {name: child.poll() is not None for name, child in self._copies.items()}
        report = Report(
            time=time.monotonic(),
            number=orders.number,
            running=tuple(name for name, ended in ends.items() if not ended),
            ended=tuple(name for name, ended in ends.items() if ended),
        )
        put(self._folder, REPORTS, self._node, report)

    def _begun(self, copy: Copy) -> "subprocess.Popen[bytes]":
        words = [sys.executable, "-m", "accelwatch.lab.step_counter", str(self._folder)]
        words += ["--job", copy.job, "--restart", str(copy.restart)]
        with (self._folder / f"job.{copy.job}.out").open("ab") as out:
            return subprocess.Popen(
                [*words, "--nodes", ",".join(copy.nodes)],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                cwd=self._folder,
                start_new_session=True,
            )


def _end(child: "subprocess.Popen[bytes]") -> None:
    """It and what it has begun are gone when this returns."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def main() -> None:
    """Run until ended."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("node")
    given = parser.parse_args()
    daemon = NodeDaemon(given.folder, given.node)
    while True:
        daemon.round()
        time.sleep(_ROUND_S)


if __name__ == "__main__":
    main()
