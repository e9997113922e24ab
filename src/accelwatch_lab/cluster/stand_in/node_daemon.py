"""The daemon of one node of the stand-in: it runs what is ordered, ends what is not, and reports."""

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from accelwatch_lab.cluster.stand_in.wire import ORDERS, REPORTS, Copy, Orders, Report, got, write

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
        desired = {copy.name: copy for copy in orders.copies}
        for name in [name for name in self._copies if name not in desired]:
            _kill(self._copies.pop(name))
        for name, copy in desired.items():
            if name not in self._copies:
                self._copies[name] = self._start_copy(copy)
        exited = {name: child.poll() is not None for name, child in self._copies.items()}
        report = Report(
            time=time.monotonic(),
            number=orders.number,
            running=tuple(name for name, has_exited in exited.items() if not has_exited),
            exited=tuple(name for name, has_exited in exited.items() if has_exited),
        )
        write(self._folder, REPORTS, self._node, report)

    def _start_copy(self, copy: Copy) -> "subprocess.Popen[bytes]":
        argv = [
            sys.executable,
            "-m",
            "accelwatch_lab.cluster.slurm.step_counter",
            str(self._folder),
        ]
        argv += ["--job", copy.job, "--restart", str(copy.restart)]
        with (self._folder / f"job.{copy.job}.out").open("ab") as out:
            return subprocess.Popen(
                [*argv, "--nodes", ",".join(copy.nodes)],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                cwd=self._folder,
                start_new_session=True,
            )


def _kill(child: "subprocess.Popen[bytes]") -> None:
    """It and what it has started are gone when this returns."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def main() -> None:
    """Run until ended."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("node")
    options = parser.parse_args()
    daemon = NodeDaemon(options.folder, options.node)
    while True:
        daemon.round()
        time.sleep(_ROUND_S)


if __name__ == "__main__":
    main()
