"""Reads of /proc/PID under an injectable root: who a process is, and in which container or job."""

import os
import re
import time
from pathlib import Path

import msgspec

_CONTAINER = re.compile(r"([0-9a-f]{64})(?:\.scope)?$")
_POD = re.compile(r"pod([0-9a-f]{8}[-_](?:[0-9a-f]{4}[-_]){3}[0-9a-f]{12}|[0-9a-f]{32})")
_JOB = re.compile(r"slurm[^/]*(?:/[^/]+)*?/job_(\d+)")
# /proc/self/ns/pid in the initial namespace (PROC_PID_INIT_INO, include/linux/proc_ns.h).
HOST_PID_NAMESPACE = "pid:[4026531836]"


class ProcessFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What /proc says of a process; None where it says nothing (gone, or not ours to read)."""

    pid: int
    # Unix seconds.
    start_time: float | None = None
    # Kernel's short name, at most 15 bytes; undecodable bytes are replaced.
    command: str | None = None
    uid: int | None = None
    # 64 hexadecimal digits.
    container: str | None = None
    pod_uid: str | None = None
    job: str | None = None
    host_memory_bytes: int | None = None


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


# How long a boot time is good for: it moves only when the wall clock is stepped.
_BOOT_TIME_S = 60.0
_MAX_ROOTS = 8
_boot_times: dict[Path, tuple[float, float]] = {}


def boot_time(root: Path) -> float:
    """Unix seconds of the boot; 0.0 where it cannot be read. Kept for a minute: /proc/stat is slow."""
    now = time.monotonic()
    cached = _boot_times.get(root)
    if cached is None or not cached[1] or now - cached[0] > _BOOT_TIME_S:
        if len(_boot_times) > _MAX_ROOTS:
            _boot_times.clear()
        cached = _boot_times[root] = (now, _read_boot_time(root))
    return cached[1]


def _read_boot_time(root: Path) -> float:
    """`btime` of /proc/stat, proc(5)."""
    for line in (_read(root / "proc/stat") or b"").splitlines():
        if line.startswith(b"btime "):
            fields = line.split()
            return float(fields[1]) if len(fields) == 2 and fields[1].isdigit() else 0.0
    return 0.0


def start_time(root: Path, pid: int) -> float | None:
    """Unix seconds at which a process began."""
    ticks = start_ticks(root, pid)
    return None if ticks is None else boot_time(root) + ticks / os.sysconf("SC_CLK_TCK")


def start_ticks(root: Path, pid: int) -> int | None:
    """Ticks from the boot to the start of a process: field 22 of /proc/PID/stat, proc(5).

    With the boot and the pid it names the process for ever, whatever the wall clock does.
    """
    stat = _read(root / "proc" / str(pid) / "stat")
    if stat is None:
        return None
    fields = stat[stat.rfind(b")") + 1 :].split()
    if len(fields) < 20 or not fields[19].isdigit():
        return None
    return int(fields[19])


def owner_from_cgroup(text: str) -> tuple[str | None, str | None, str | None]:
    """(container id, pod uid, Slurm job id) from the content of /proc/PID/cgroup, v1 and v2."""
    container = pod = job = None
    for line in text.splitlines():
        path = line.split(":", 2)[-1]
        if container is None and (match := _CONTAINER.search(path)):
            container = match[1]
        if pod is None and (match := _POD.search(path)):
            pod = match[1].replace("_", "-")
        if job is None and (match := _JOB.search(path)):
            job = match[1]
    return container, pod, job


def _uid_and_memory(status: bytes) -> tuple[int | None, int | None]:
    uid = memory = None
    for line in status.splitlines():
        name, *fields = line.split()[:2] or [b""]
        if not fields or not fields[0].isdigit():
            continue
        if name == b"Uid:":
            uid = int(fields[0])
        elif name == b"VmRSS:":
            memory = int(fields[0]) * 1024
    return uid, memory


def facts(root: Path, pid: int) -> ProcessFacts | None:
    """What is known of a process; None when there is no such process in this pid namespace."""
    folder = root / "proc" / str(pid)
    comm = _read(folder / "comm")
    if comm is None:
        return None
    uid, memory = _uid_and_memory(_read(folder / "status") or b"")
    cgroup = (_read(folder / "cgroup") or b"").decode("utf-8", "replace")
    container, pod_uid, job = owner_from_cgroup(cgroup)
    return ProcessFacts(
        pid=pid,
        start_time=start_time(root, pid),
        command=comm.decode("utf-8", "replace").rstrip("\n"),
        uid=uid,
        container=container,
        pod_uid=pod_uid,
        job=job,
        host_memory_bytes=memory,
    )


def argv(root: Path, pid: int) -> tuple[str, ...] | None:
    """Arguments of a process, undecodable bytes replaced; None when they cannot be read."""
    content = _read(root / "proc" / str(pid) / "cmdline")
    if not content:
        return None
    return tuple(
        argument.decode("utf-8", "replace") for argument in content.rstrip(b"\0").split(b"\0")
    )


def user_name(uid: int) -> str:
    """Login name of a user id, else the number as text."""
    import pwd

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def shows_host_pids(root: Path) -> bool:
    """Whether pids here are those of the host, which drivers report."""
    try:
        return (root / "proc/self/ns/pid").readlink().name == HOST_PID_NAMESPACE
    except OSError:
        return True


def pids(root: Path) -> list[int]:
    """Process ids in this pid namespace, ascending."""
    try:
        return sorted(
            int(entry.name) for entry in (root / "proc").iterdir() if entry.name.isdigit()
        )
    except OSError:
        return []


# The machine's own pid namespace has this fixed number (PROC_PID_INIT_INO).
_HOST_NAMESPACE = "pid:[4026531836]"


def in_own_pid_namespace(root: Path) -> bool:
    """Whether we see only the processes of a pid namespace of our own, as in a container."""
    try:
        return (root / "proc/self/ns/pid").readlink().name != _HOST_NAMESPACE
    except OSError:
        return False
