"""A program in a pseudo-terminal: what it draws and when, and what its processes use."""

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from harness.timing import cpu_seconds

ESCAPES = re.compile(rb"\x1b\[[0-9;?]*[a-zA-Z]")


class Terminal:
    """Starts the command with a terminal of `columns` by `rows`."""

    def __init__(
        self, words: Sequence[str], environ: Mapping[str, str], columns: int = 140, rows: int = 50
    ) -> None:
        self.began = time.perf_counter()
        self.pid, self._descriptor = pty.fork()
        if self.pid == 0:
            os.execvpe(words[0], list(words), {**environ, "TERM": "xterm-256color"})
        size = struct.pack("HHHH", rows, columns, 0, 0)
        fcntl.ioctl(self._descriptor, termios.TIOCSWINSZ, size)
        self.output = b""

    def read(self, timeout_s: float) -> bytes:
        """What comes within a time; returns at the first bytes."""
        ready, _, _ = select.select([self._descriptor], [], [], timeout_s)
        if not ready:
            return b""
        try:
            given = os.read(self._descriptor, 1 << 16)
        except OSError:
            return b""
        self.output += given
        return given

    def wait_for(self, pattern: bytes, timeout_s: float, start: int = 0) -> float | None:
        """Seconds until the output matches, with escape sequences left out; None: it never did."""
        began = time.perf_counter()
        compiled = re.compile(pattern)
        while (left := timeout_s - (time.perf_counter() - began)) > 0:
            if compiled.search(ESCAPES.sub(b"", self.output[start:])):
                return time.perf_counter() - began
            self.read(left)
        return None

    def drain(self, seconds: float) -> None:
        """Read for a while."""
        until = time.perf_counter() + seconds
        while (left := until - time.perf_counter()) > 0:
            self.read(left)

    def press(self, keys: bytes) -> int:
        """Type; returns where the output was."""
        start = len(self.output)
        os.write(self._descriptor, keys)
        return start

    def processes(self) -> list[int]:
        """The program and all below it."""
        parents: dict[int, int] = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdecimal():
                with contextlib.suppress(OSError, IndexError):
                    stat = (entry / "stat").read_text()
                    parents[int(entry.name)] = int(stat.rsplit(")", 1)[1].split()[1])
        found = {self.pid}
        while more := {pid for pid, parent in parents.items() if parent in found} - found:
            found |= more
        return sorted(found)

    def cpu_s(self) -> float:
        """Processor seconds of all of them so far."""
        total = 0.0
        for pid in self.processes():
            with contextlib.suppress(OSError):
                total += cpu_seconds(pid)
        return total

    def memory_mib(self) -> dict[str, float]:
        """Proportional and resident sizes, all processes together."""
        given = {"pss": 0, "rss": 0}
        for pid in self.processes():
            with contextlib.suppress(OSError):
                for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
                    name = line.split(":")[0].lower()
                    if name in given:
                        given[name] += int(line.split()[1])
        return {name: round(kib / 1024, 1) for name, kib in given.items()}

    def ended_after(self, timeout_s: float) -> float | None:
        """Seconds until the program has ended; None: it had to be killed."""
        began = time.perf_counter()
        while time.perf_counter() - began < timeout_s:
            done, _ = os.waitpid(self.pid, os.WNOHANG)
            if done:
                return time.perf_counter() - began
            self.read(0.01)
        return None

    def kill(self) -> None:
        """End it for certain."""
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self._descriptor)
