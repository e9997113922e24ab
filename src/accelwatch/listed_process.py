"""Processes that a vendor's tool lists, with what /proc knows of them."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from accelwatch import proc
from accelwatch.schema.absence import Absence
from accelwatch.schema.reading import MAX_PROCESSES, Process, Reading, cut_note, largest

_COMM = 15
"""Bytes of a name that the kernel keeps: TASK_COMM_LEN without its end."""


def with_processes(root: Path, reading: Reading, listed: Sequence[Process]) -> Reading:
    """The reading with its device's processes; of a crowd those with the most memory, and a note."""
    notes = reading.notes
    if len(listed) > MAX_PROCESSES:
        notes = (*notes, cut_note(MAX_PROCESSES, len(listed)))
        listed = largest(listed)
    processes = tuple(with_facts(root, process) for process in listed)
    return msgspec.structs.replace(reading, processes=processes, notes=notes)


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
    """Whether a kernel's name can be that of a program."""
    return bool(comm and program) and (comm or "")[:_COMM] == (program or "")[:_COMM]
