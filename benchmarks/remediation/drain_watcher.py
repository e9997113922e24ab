"""When Slurm shows a node as drained."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from support.slurm.controller import Slurm

POLL_EVERY_S = 0.1


class DrainWatcher:
    """Asks a Slurm which nodes are drained, on a thread of its own."""

    def __init__(self, slurm: Slurm) -> None:
        self._environ = {**os.environ, "SLURM_CONF": str(slurm.conf)}
        # Unix seconds at which a drain was seen first, by node.
        self.seen: dict[str, float] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._poll, daemon=True)
        self._thread.start()

    def _poll(self) -> None:
        words = ("sinfo", "--noheader", "--Node", "--states=drain", "--format=%N")
        while not self._ended.wait(POLL_EVERY_S):
            shown = subprocess.run(
                words, env=self._environ, capture_output=True, text=True, timeout=30, check=False
            )
            now = time.time()
            for name in shown.stdout.split():
                self.seen.setdefault(name, now)

    def end(self) -> None:
        """Ask no more."""
        self._ended.set()
        self._thread.join()
