"""Processes with a context on a GPU: NVML's rows joined with what /proc knows of their pids.

NVML gives pids of the host's namespace. In a container they mean nothing, or mean someone else, so a
process is only named when its pid is certainly ours.
"""

import os
import threading
from collections.abc import Container
from pathlib import Path

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.kernel import proc, sysfs
from accelwatch.schema.reading import MAX_PROCESSES, Process, cut_note
from accelwatch_nvidia import returns
from accelwatch_nvidia.nvml import lists
from accelwatch_nvidia.nvml.nvml import DeviceCalls

_LISTS = (
    (
        "compute",
        (
            "nvmlDeviceGetComputeRunningProcesses_v3",
            "nvmlDeviceGetComputeRunningProcesses_v2",
        ),
    ),
    (
        "graphics",
        (
            "nvmlDeviceGetGraphicsRunningProcesses_v3",
            "nvmlDeviceGetGraphicsRunningProcesses_v2",
        ),
    ),
    (
        "mps",
        (
            "nvmlDeviceGetMPSComputeRunningProcesses_v3",
            "nvmlDeviceGetMPSComputeRunningProcesses_v2",
        ),
    ),
)

_FACTS = ("start_time", "user", "command", "container", "pod", "job", "host_memory_bytes")
_NAMELESS = dict.fromkeys((*_FACTS, "cpu_utilization_ratio"), Absence.UNSUPPORTED)


class _CachedProcess(msgspec.Struct):
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
    def unmeasured(self) -> bool:
        """Whether it was read once only."""
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
    """Whether a process has an nvidia device node open, as far as we may look."""
    try:
        entries = list((root / "proc" / str(pid) / "fd").iterdir())
    except OSError:
        return False
    return any((sysfs.link_name(entry) or "").startswith("nvidia") for entry in entries)


class HostProcesses:
    """What /proc tells of the pids that GPUs name; shared by all GPUs, which often name the same."""

    def __init__(self, root: Path) -> None:
        self._root = root
        # Guards the table. The readers of all devices share it, because one process often uses them
        # all.
        self._lock = threading.Lock()
        self._host_namespace: bool | None = None
        # By pid. A reused pid is recognised by its start ticks; facts are read again after _FRESH_S
        # on request, and unused entries go when there are _MANY_PIDS.
        self._cached: dict[int, _CachedProcess] = {}

    def know(self, pid: int, now: float, *, argv: bool, refresh: bool) -> _CachedProcess:
        """Facts of a pid, read anew on `refresh` unless another GPU has just asked.

        The share of processors needs two reads: the second is not waited for longer than for numbers.
        """
        cached = self._cached.get(pid)
        refresh = refresh or (cached is not None and cached.unmeasured)
        if cached is None or (refresh and now - cached.read_at >= _FRESH_S):
            with self._lock:
                cached = self._read(pid, now, refresh=refresh)
        if argv and cached.argv is None and cached.facts is not None:
            # Not under the lock: reading the arguments of a stuck process can block.
            cached.argv = proc.argv(self._root, pid)
        cached.requested_at = now
        return cached

    def _read(self, pid: int, now: float, *, refresh: bool) -> _CachedProcess:
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

    def _inspect(self, pid: int, ticks: tuple[int, int] | None) -> _CachedProcess:
        if self._host_namespace is None:
            self._host_namespace = proc.shows_host_pids(self._root)
        ours = ticks is not None and (self._host_namespace or has_gpu_open(self._root, pid))
        facts = proc.facts(self._root, pid) if ours else None
        if facts is None:
            return _CachedProcess(ticks=(0, 0), facts=None, namespace="foreign")
        return _CachedProcess(
            ticks=ticks or (0, 0),
            facts=facts,
            namespace="same",
            user=None if facts.uid is None else proc.user_name(facts.uid),
        )


class ProcessReader:
    """Processes of one device."""

    def __init__(self, host: HostProcesses) -> None:
        self._host = host
        self._previous_pids: set[int] = set()
        self._read_until_us = 0
        # What there is to say of the last list.
        self.notes: tuple[str, ...] = ()

    def read(
        self, calls: DeviceCalls, device_id: str, now: float, *, argv: bool, refresh: bool
    ) -> tuple[Process, ...] | Absence:
        """At most MAX_PROCESSES by pid; facts of /proc are read for new pids and on `refresh`."""
        rows, memory = self._rows(calls)
        if isinstance(rows, Absence):
            return rows
        utilization, why = self._utilization(calls, rows) if rows else ({}, Absence.UNSUPPORTED)
        arrived = rows.keys() - self._previous_pids
        self._previous_pids = set(rows)
        processes = []
        for pid in sorted(rows):
            cached = self._host.know(pid, now, argv=argv, refresh=refresh or pid in arrived)
            processes.append(
                _process(
                    device_id,
                    pid,
                    "+".join(rows[pid]),
                    memory.get(pid),
                    utilization.get(pid, why),
                    cached,
                    argv=argv,
                )
            )
        return tuple(processes)

    def _rows(
        self, calls: DeviceCalls
    ) -> tuple[dict[int, list[str]] | Absence, dict[int, int | Absence]]:
        """(types by pid, memory by pid); the first is an absence when no list could be read."""
        rows: dict[int, list[str]] = {}
        memory: dict[int, int | Absence] = {}
        reasons = []
        total = 0
        for kind, functions in _LISTS:
            answer = lists.running(calls, functions)
            if isinstance(answer, Absence):
                reasons.append(answer)
                continue
            total += answer.total
            for row in answer.processes:
                types = rows.setdefault(row.pid, [])
                if kind not in types:
                    types.append(kind)
                _add_memory(memory, row.pid, row.used_bytes, kind)
        if len(reasons) == len(_LISTS) or Absence.ERROR in reasons:
            faults = [why for why in reasons if why is not Absence.UNSUPPORTED]
            return (faults or reasons)[0], {}
        return self._cut(rows, memory, total), memory

    def _cut(
        self, rows: dict[int, list[str]], memory: dict[int, int | Absence], total: int
    ) -> dict[int, list[str]]:
        """The processes with the most memory, where there are too many."""
        self.notes = ()
        if total <= MAX_PROCESSES:
            return rows

        def by_memory(pid: int) -> int:
            used = memory[pid]
            return -used if isinstance(used, int) else 0

        self.notes = (cut_note(min(len(rows), MAX_PROCESSES), total),)
        return {pid: rows[pid] for pid in sorted(rows, key=by_memory)[:MAX_PROCESSES]}

    def _utilization(
        self, calls: DeviceCalls, pids: Container[int]
    ) -> tuple[dict[int, float], Absence]:
        """Newest SM busy ratio by pid since the last call, and why a pid may have none.

        Code 6 (not found) means that no sample is newer.
        """
        answer = lists.samples(calls, self._read_until_us, pids)
        if isinstance(answer, Absence):
            no_samples = returns.NOT_FOUND in calls.codes
            return {}, Absence.NOT_COLLECTED if no_samples else answer
        newest: dict[int, lists.Sample] = {}
        for sample in answer:
            if sample.pid not in newest or sample.time_us > newest[sample.pid].time_us:
                newest[sample.pid] = sample
            self._read_until_us = max(self._read_until_us, sample.time_us)
        ratios = {pid: s.sm_percent / 100 for pid, s in newest.items() if s.sm_percent <= 100}
        return ratios, Absence.NOT_COLLECTED


def _add_memory(memory: dict[int, int | Absence], pid: int, used: int | None, kind: str) -> None:
    """Add up a pid's rows of different GPU instances; a pid in two lists has one allocation."""
    before = memory.get(pid)
    if used is None:
        memory.setdefault(pid, Absence.UNSUPPORTED)
    elif isinstance(before, int) and kind == "compute":
        memory[pid] = before + used
    elif not isinstance(before, int):
        memory[pid] = used


def _absences(cached: _CachedProcess, *, argv: bool) -> dict[str, Absence]:
    """Why fields that come from /proc are missing."""
    facts = cached.facts
    if facts is None:
        return {**_NAMELESS, "argv": Absence.UNSUPPORTED if argv else Absence.NOT_COLLECTED}
    absent = {
        field: Absence.PERMISSION
        for field in ("start_time", "command", "host_memory_bytes")
        if getattr(facts, field) is None
    }
    if cached.user is None:
        absent["user"] = Absence.PERMISSION
    if cached.cpu_ratio is None:
        absent["cpu_utilization_ratio"] = Absence.NOT_COLLECTED
    if not argv or cached.argv is None:
        absent["argv"] = Absence.PERMISSION if argv else Absence.NOT_COLLECTED
    return absent


def _process(  # noqa: PLR0917 - one place joins the three sources of a process
    device_id: str,
    pid: int,
    kind: str,
    memory: int | Absence | None,
    utilization: float | Absence,
    cached: _CachedProcess,
    *,
    argv: bool,
) -> Process:
    facts = cached.facts
    absent = _absences(cached, argv=argv)
    if not isinstance(memory, int):
        absent["gpu_memory_bytes"] = memory or Absence.UNSUPPORTED
    if isinstance(utilization, Absence):
        absent["utilization_ratio"] = utilization
    return Process(
        device_id=device_id,
        pid=pid,
        pid_namespace=cached.namespace,
        type=kind,
        start_time=facts.start_time if facts else None,
        user=cached.user,
        command=facts.command if facts else None,
        argv=cached.argv if argv else None,
        container=facts.container if facts else None,
        pod=facts.pod_uid if facts else None,
        job=facts.job if facts else None,
        gpu_memory_bytes=memory if isinstance(memory, int) else None,
        utilization_ratio=None if isinstance(utilization, Absence) else utilization,
        host_memory_bytes=facts.host_memory_bytes if facts else None,
        cpu_utilization_ratio=cached.cpu_ratio,
        absent=absent,
    )
