"""Slurm's jobs on this node, by the cgroups that slurmstepd makes for them.

v2: `system.slice/[<node>_]slurmstepd.scope/job_<id>/step_<s>/user/task_<t>`; v1: below each controller
`slurm[_<node>]/uid_<u>/job_<id>/step_<s>/task_<t>` (Slurm's cgroup documentation).
"""

import re
from pathlib import Path

import msgspec

from accelwatch.node.workloads.sources.cgroup_tree import CgroupTree

_BASE = re.compile(r"(?:.+_)?slurmstepd\.scope|slurm(?:_.+)?")
_JOB = re.compile(r"job_(\d{1,20})")
_STEP = re.compile(r"step_(\w{1,20})")
_NOT_BELOW = re.compile(r"kubepods.*|user\.slice|docker.*|machine\.slice|init\.scope|.*\.service")
_BASE_DEPTH = 3
_JOB_DEPTH = 3
_STEP_DEPTH = 4
_MAX_PIDS = 32
_MAX_BYTES = 64 << 10


class JobCgroup(msgspec.Struct, frozen=True, kw_only=True):
    """Processes of one job, at most 32, each with the step it belongs to (`batch`, `extern`, `0`)."""

    job_id: str
    pids: tuple[tuple[int, str], ...] = ()


class JobCgroups(msgspec.Struct, frozen=True, kw_only=True):
    """What was found; `slurm` is whether slurmstepd keeps cgroups on this node at all."""

    slurm: bool
    jobs: tuple[JobCgroup, ...] = ()


def read(root: Path) -> JobCgroups:
    """All jobs on this node; never raises."""
    tree = CgroupTree(root)
    bases = tree.matching(tree.top, _BASE, _BASE_DEPTH, _NOT_BELOW)
    pids: dict[str, dict[int, str]] = {}
    for base in bases:
        for folder in tree.matching(base, _JOB, _JOB_DEPTH):
            steps = pids.setdefault(folder.name.removeprefix("job_"), {})
            _gather(tree, folder, "", _STEP_DEPTH, steps)
    jobs = (JobCgroup(job_id=name, pids=tuple(steps.items())) for name, steps in pids.items())
    return JobCgroups(slurm=bool(bases), jobs=tuple(jobs))


def _gather(tree: CgroupTree, folder: Path, step: str, depth: int, steps: dict[int, str]) -> None:
    """The pids of a folder and those below it; v1 has the same ones in each controller."""
    for pid in _procs(folder / "cgroup.procs"):
        if len(steps) < _MAX_PIDS:
            steps.setdefault(pid, step)
    if depth and len(steps) < _MAX_PIDS:
        for entry in tree.folders(folder):
            match = _STEP.fullmatch(entry.name)
            _gather(tree, entry, match[1] if match else step, depth - 1, steps)


def _procs(path: Path) -> list[int]:
    try:
        with path.open("rb") as file:
            lines = file.read(_MAX_BYTES).split()
    except OSError:
        return []
    return [int(line) for line in lines if line.isdigit() and len(line) < 10 and int(line) > 0]
