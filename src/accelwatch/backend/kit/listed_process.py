"""Processes that a vendor's tool lists, with what /proc knows of them."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.schema.reading import MAX_PROCESSES, Process, Reading, cut_note, largest
from accelwatch.system.kernel import proc
from accelwatch.system.processes.program import program_name

# Bytes of a name that the kernel keeps: TASK_COMM_LEN without its end.
_COMM = 15


def listed(
    device_id: str,
    pid: int,
    command: str | None,
    memory: float | Absence,
    *,
    is_comm: bool = False,
) -> Process:
    """A process as a tool lists it, with its memory on the device in bytes but without its load.

    Of `command`, which may be a path and have arguments, the program's name is kept alone, unless it is
    the kernel's name of the process, which has no arguments and may have blanks.
    """
    name = command if is_comm or command is None else program_name(command)
    absent = {"utilization_ratio": Absence.UNSUPPORTED}
    if isinstance(memory, Absence):
        absent["gpu_memory_bytes"] = memory
    return Process(
        device_id=device_id,
        pid=pid,
        command=name,
        gpu_memory_bytes=None if isinstance(memory, Absence) else round(memory),
        absent=absent,
    )


def by_pid(processes: Iterable[Process]) -> list[Process]:
    """Each process once: of one in several rows the memory is their sum, unknown when one of them is."""
    merged: dict[int, Process] = {}
    for process in processes:
        before = merged.get(process.pid)
        merged[process.pid] = process if before is None else _together(before, process)
    return [merged[pid] for pid in sorted(merged)]


def _together(before: Process, more: Process) -> Process:
    if before.gpu_memory_bytes is None or more.gpu_memory_bytes is None:
        return before if before.gpu_memory_bytes is None else more
    total = before.gpu_memory_bytes + more.gpu_memory_bytes
    return msgspec.structs.replace(before, gpu_memory_bytes=total)


def with_processes(root: Path, reading: Reading, listed: Sequence[Process]) -> Reading:
    """The reading with its device's processes; of a crowd those with the most memory, and a note."""
    notes = reading.notes
    if len(listed) > MAX_PROCESSES:
        notes = (*notes, cut_note(MAX_PROCESSES, len(listed)))
        listed = largest(listed)
    processes = tuple(with_facts(root, process) for process in listed)
    return msgspec.structs.replace(reading, processes=processes, notes=notes)


def with_listed(reading: Reading, processes: Iterable[Process] | Absence) -> Reading:
    """The reading with the processes of another machine as they were listed there, or why not."""
    if isinstance(processes, Absence):
        return without_processes(reading, processes)
    return msgspec.structs.replace(reading, processes=tuple(processes))


def without_processes(reading: Reading, why: Absence) -> Reading:
    """The reading whose processes are not known, and why."""
    return msgspec.structs.replace(reading, absent={**reading.absent, ("processes",): why})


def with_facts(root: Path, process: Process) -> Process:
    """The process with start, user, container, pod and job of the pid, when the name there agrees.

    A tool lists pids of the host: in another pid namespace the same number is somebody else.
    """
    facts = proc.facts(root, process.pid)
    if facts is None or not _same_name(facts.command, process.command):
        return msgspec.structs.replace(process, pid_namespace="foreign")
    filled = {
        "start_time": facts.start_time,
        "user": None if facts.uid is None else proc.user_name(facts.uid),
        "command": facts.command,
        "container": facts.container,
        "pod": facts.pod_uid,
        "job": facts.job,
        "host_memory_bytes": facts.host_memory_bytes,
    }
    absent = {name: why for name, why in process.absent.items() if name not in filled}
    return msgspec.structs.replace(process, **filled, absent=absent)


def _same_name(comm: str | None, program: str | None) -> bool:
    """Whether a kernel's name can be that of a program; what it has after a blank was left out there."""
    if not comm or not program:
        return False
    return comm[:_COMM] == program[:_COMM] or program_name(comm) == program
