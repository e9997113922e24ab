"""Processes with a context on a GPU: NVML's rows joined with what /proc knows of their pids."""

from collections.abc import Container

from accelwatch.base.absence import Absence
from accelwatch.schema.reading import MAX_PROCESSES, Process, cut_note
from accelwatch_nvidia import returns
from accelwatch_nvidia.devices.host_processes import HostProcess, HostProcesses
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


class ProcessReader:
    """Processes of one device."""

    def __init__(self, host: HostProcesses) -> None:
        self._host = host
        self._previous_pids: set[int] = set()
        self._read_until_us = 0
        # Remarks on the last list.
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


def _absences(cached: HostProcess, *, argv: bool) -> dict[str, Absence]:
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


def _process(  # noqa: PLR0917 - one function joins the three sources of a process
    device_id: str,
    pid: int,
    kind: str,
    memory: int | Absence | None,
    utilization: float | Absence,
    cached: HostProcess,
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
