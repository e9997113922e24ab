"""What /proc knows of the pids that GPUs name.

NVML gives pids of the host's namespace. In a container they mean nothing, or mean someone else, so a
process is only named when its pid is certainly ours.
"""

import os
import threading
from pathlib import Path

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.system.kernel import proc, sysfs


class HostProcess(msgspec.Struct):
    """What is remembered of a pid between readings."""

    # (start, CPU time), both in clock ticks.
    ticks: tuple[int, int]
    facts: proc.ProcessFacts | None
    namespace: str
    user: str | None = None
    argv: tuple[str, ...] | None = None
    cpu_ratio: float | None = None
    read_at: float = 0.0
    requested_at: float = 0.0

    @property
    def needs_second_read(self) -> bool:
        """Whether its share of the processors is not known yet, for which it is read twice."""
        return self.facts is not None and self.cpu_ratio is None


# Facts this young serve all GPUs of one turn; a pid is not given to another process so soon.
_FRESH_S = 0.2
_MANY_PIDS = 4096
_KEEP_S = 60.0


def stat_ticks(root: Path, pid: int) -> tuple[int, int] | None:
    """(start, user plus system time) in clock ticks: fields 22, 14 and 15 of proc(5) stat."""
    content = sysfs.read_bytes(root / "proc" / str(pid) / "stat")
    if isinstance(content, Absence):
        return None
    fields = content[content.rfind(b")") + 1 :].split()
    try:
        return int(fields[19]), int(fields[11]) + int(fields[12])
    except (IndexError, ValueError):
        return None


def has_gpu_open(root: Path, pid: int) -> bool:
    """Whether a process has an nvidia device node open, as far as we may read."""
    try:
        entries = list((root / "proc" / str(pid) / "fd").iterdir())
    except OSError:
        return False
    return any((sysfs.link_name(entry) or "").startswith("nvidia") for entry in entries)


class HostProcesses:
    """What /proc says of the pids that GPUs name; shared by all GPUs, which often name the same."""

    def __init__(self, root: Path) -> None:
        self._root = root
        # Guards the table. The readers of all devices share it, because one process often uses them
        # all.
        self._lock = threading.Lock()
        self._host_namespace: bool | None = None
        # By pid. A reused pid is recognised by its start ticks; facts are read again after _FRESH_S
        # on request, and unused entries go when there are _MANY_PIDS.
        self._cached: dict[int, HostProcess] = {}

    def know(self, pid: int, now: float, *, argv: bool, refresh: bool) -> HostProcess:
        """Facts of a pid, read anew on `refresh` unless another GPU has just done so.

        The share of processors needs two reads: the second is not waited for longer than for numbers.
        """
        cached = self._cached.get(pid)
        refresh = refresh or (cached is not None and cached.needs_second_read)
        if cached is None or (refresh and now - cached.read_at >= _FRESH_S):
            with self._lock:
                cached = self._read(pid, now, refresh=refresh)
        if argv and cached.argv is None and cached.facts is not None:
            # Not under the lock: reading the arguments of a stuck process can block.
            cached.argv = proc.argv(self._root, pid)
        cached.requested_at = now
        return cached

    def _read(self, pid: int, now: float, *, refresh: bool) -> HostProcess:
        before = self._cached.get(pid)
        if before is not None and not (refresh and now - before.read_at >= _FRESH_S):
            return before
        cached = self._inspect(pid, stat_ticks(self._root, pid))
        cached.read_at = cached.requested_at = now
        if before is not None and cached.facts is not None and before.ticks[0] == cached.ticks[0]:
            elapsed = (now - before.read_at) * os.sysconf("SC_CLK_TCK")
            spent = cached.ticks[1] - before.ticks[1]
            cached.cpu_ratio = spent / elapsed if elapsed > 0 and spent >= 0 else None
        if len(self._cached) >= _MANY_PIDS:
            recent = {p: k for p, k in self._cached.items() if now - k.requested_at < _KEEP_S}
            self._cached = recent if len(recent) < _MANY_PIDS else {}
        self._cached[pid] = cached
        return cached

    def _inspect(self, pid: int, ticks: tuple[int, int] | None) -> HostProcess:
        if self._host_namespace is None:
            self._host_namespace = proc.shows_host_pids(self._root)
        ours = ticks is not None and (self._host_namespace or has_gpu_open(self._root, pid))
        facts = proc.facts(self._root, pid) if ours else None
        if facts is None:
            return HostProcess(ticks=(0, 0), facts=None, namespace="foreign")
        return HostProcess(
            ticks=ticks or (0, 0),
            facts=facts,
            namespace="same",
            user=None if facts.uid is None else proc.user_name(facts.uid),
        )
