"""In which container, pod and job a process is: read once per process, and remembered."""

import re
from pathlib import Path

import msgspec

from accelwatch.node.workloads.sources import environ
from accelwatch.node.workloads.sources.environ import Job
from accelwatch.system.kernel import proc

# (pid, start time in Unix seconds): a pid alone is used again.
Key = tuple[int, float]

MAX_MEMBERS = 8_192
# The boot time that start times are counted from moves by a second when the clock is set.
_SAME_START_S = 2.0
_POD_UID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32}")
_NESTED = re.compile(r"(?:^|[/-])([0-9a-f]{64})(?:\.scope)?(?=/|$)", re.MULTILINE)
_MAX_BYTES = 64 << 10


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """Membership of one process; None where there is none, or it cannot be seen."""

    container: str | None = None
    pod_uid: str | None = None
    # By the cgroup, which the process cannot change.
    slurm_job: str | None = None
    # By the environment, which is the process's own word.
    job: Job | None = None


class Members:
    """A bounded memory of processes, for one thread; unknown ones are read from /proc."""

    def __init__(self, root: Path, *, environments: bool = True) -> None:
        self._root = root
        self._environments = environments
        # Pid and start time identify a process for ever and its cgroup hardly changes, so /proc is
        # read once per process. `retain` drops the processes that have gone.
        self._cached: dict[Key, Member] = {}

    def of(self, key: Key) -> Member | None:
        """Membership of a process; None when it is gone or not in our /proc."""
        cached = self._cached.get(key)
        if cached is not None:
            return cached
        member = self._read(key)
        if member is not None:
            if len(self._cached) >= MAX_MEMBERS:
                self._cached.pop(next(iter(self._cached)))
            self._cached[key] = member
        return member

    def retain(self, keys: set[Key]) -> None:
        """Forget all other processes."""
        for key in self._cached.keys() - keys:
            del self._cached[key]

    def _read(self, key: Key) -> Member | None:
        pid, start = key
        facts = proc.facts(self._root, pid)
        if facts is None or not _same(start, facts.start_time):
            return None
        variables = environ.read(self._root, pid) if self._environments else None
        return Member(
            container=facts.container or _nested_container(self._root, pid),
            pod_uid=facts.pod_uid,
            slurm_job=facts.job,
            job=environ.job(variables) if variables else None,
        )


def _same(expected: float, actual: float | None) -> bool:
    return actual is not None and abs(expected - actual) <= _SAME_START_S


def _nested_container(root: Path, pid: int) -> str | None:
    """The innermost container whose processes are in a cgroup below its own (podman, systemd inside)."""
    try:
        with (root / "proc" / str(pid) / "cgroup").open("rb") as file:
            text = file.read(_MAX_BYTES).decode("utf-8", "replace")
    except OSError:
        return None
    return nested_container(text)


def is_pod_uid(text: str) -> bool:
    """Whether a pod is named by its uid; a static pod's is a digest of its manifest."""
    return _POD_UID.fullmatch(text) is not None


def nested_container(text: str) -> str | None:
    """The innermost container id in the content of /proc/PID/cgroup, wherever in the path it is."""
    ids: list[str] = _NESTED.findall(text)
    return ids[-1] if ids else None
