"""Slurm's jobs on this node, by the cgroups that slurmstepd makes for them.

v2: `system.slice/[<node>_]slurmstepd.scope/job_<id>/step_<s>/user/task_<t>`; v1: below each controller
`slurm[_<node>]/uid_<u>/job_<id>/step_<s>/task_<t>` (Slurm's cgroup documentation).
"""

import os
import re
from itertools import islice
from pathlib import Path

import msgspec

_BASE = re.compile(r"(?:.+_)?slurmstepd\.scope|slurm(?:_.+)?")
_JOB = re.compile(r"job_(\d{1,20})")
_STEP = re.compile(r"step_(\w{1,20})")
_NOT_BELOW = re.compile(r"kubepods.*|user\.slice|docker.*|machine\.slice|init\.scope|.*\.service")
_BASE_DEPTH = 3
_JOB_DEPTH = 3
_STEP_DEPTH = 4
_MAX_FOLDERS = 20_000
_MAX_PIDS = 32
_MAX_BYTES = 64 << 10


class JobCgroup(msgspec.Struct, frozen=True, kw_only=True):
    """Processes of one job, at most 32, each with the step it belongs to (`batch`, `extern`, `0`)."""

    job_id: str
    pids: tuple[tuple[int, str], ...] = ()


class JobCgroups(msgspec.Struct, frozen=True, kw_only=True):
    """What was found; `slurm` tells whether slurmstepd keeps cgroups on this node at all."""

    slurm: bool
    jobs: tuple[JobCgroup, ...] = ()


def read(root: Path) -> JobCgroups:
    """All jobs on this node; never raises, and looks at 20,000 folders at most."""
    return _Walk().jobs(root / "sys/fs/cgroup")


class _Walk:
    def __init__(self) -> None:
        self._left = _MAX_FOLDERS

    def jobs(self, top: Path) -> JobCgroups:
        bases = self._matching(top, _BASE, _BASE_DEPTH)
        pids: dict[str, dict[int, str]] = {}
        for base in bases:
            for folder in self._matching(base, _JOB, _JOB_DEPTH):
                job_id = folder.name.removeprefix("job_")
                self._pids(folder, "", _STEP_DEPTH, pids.setdefault(job_id, {}))
        jobs = (JobCgroup(job_id=name, pids=tuple(found.items())) for name, found in pids.items())
        return JobCgroups(slurm=bool(bases), jobs=tuple(jobs))

    def _matching(self, folder: Path, name: re.Pattern[str], depth: int) -> list[Path]:
        """Folders with such a name, not looking below one that has it."""
        found: list[Path] = []
        for entry in self._folders(folder):
            if name.fullmatch(entry.name):
                found.append(entry)
            elif depth > 1 and not _NOT_BELOW.fullmatch(entry.name):
                found += self._matching(entry, name, depth - 1)
        return found

    def _folders(self, folder: Path) -> list[Path]:
        try:
            with os.scandir(folder) as entries:
                found = [Path(entry.path) for entry in entries if _is_folder(entry)]
        except OSError:
            return []
        found = list(islice(sorted(found), max(self._left, 0)))
        self._left -= len(found)
        return found

    def _pids(self, folder: Path, step: str, depth: int, found: dict[int, str]) -> None:
        """Gather the pids of a folder and those below it; v1 has the same ones in each controller."""
        for pid in _procs(folder / "cgroup.procs"):
            if len(found) < _MAX_PIDS:
                found.setdefault(pid, step)
        if depth and len(found) < _MAX_PIDS:
            for entry in self._folders(folder):
                match = _STEP.fullmatch(entry.name)
                self._pids(entry, match[1] if match else step, depth - 1, found)


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _procs(path: Path) -> list[int]:
    try:
        with path.open("rb") as file:
            lines = file.read(_MAX_BYTES).split()
    except OSError:
        return []
    return [int(line) for line in lines if line.isdigit() and len(line) < 10 and int(line) > 0]
