"""What the background thread knows at one moment; replaced as a whole, never changed."""

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from accelwatch.node.workloads.sources.environ import Job
from accelwatch.node.workloads.sources.job_files import JobFile
from accelwatch.node.workloads.sources.members import Key, Member
from accelwatch.node.workloads.sources.pod_names import PodNames
from accelwatch.node.workloads.sources.podresources import Allocation


class WorkloadFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Facts of all sources."""

    allocations: tuple[Allocation, ...] = ()
    pods: PodNames = PodNames()
    live_pods: frozenset[str] = frozenset()
    """Uids of pods that have a cgroup; empty when that cannot be seen."""
    members: Mapping[Key, Member] = {}
    containers: Mapping[str, str] = {}
    """Container id to Docker's name for it."""
    jobs: Mapping[str, Job] = {}
    """Slurm job id to the job; its `indices` are this node's."""
    files: tuple[JobFile, ...] = ()
    nodes: Mapping[str, str] = {}
    """Further names of device nodes."""


class SourceState(StrEnum):
    """How it stands with a source."""

    OK = "ok"
    ABSENT = "absent"
    """Nothing of its kind is on this node. Not an error."""
    FAILED = "failed"
    """It is here, but cannot be read, or not fully."""
    OFF = "off"
    """Left out by configuration."""
    STARTING = "starting"
    """Not looked at yet."""


class SourceStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One source as the user sees it in /capabilities and doctor."""

    name: str
    state: SourceState
    subject: str = ""
    """What is looked at: a socket, a folder."""
    entries: int = 0
    """How many allocations, pods, processes or jobs are known from it."""
    age_s: float | None = None
    """Since the last good answer; None before the first."""
    reason: str = ""
    """A word: absent, permission, timeout, protocol, refused, io, unmatched."""
    message: str = ""
    remedy: str = ""
