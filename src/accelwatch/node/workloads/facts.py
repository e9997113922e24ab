"""What the background thread knows at one moment; replaced as a whole, never changed."""

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from accelwatch.node.workloads.sources.backendai import Kernel
from accelwatch.node.workloads.sources.docker import Container
from accelwatch.node.workloads.sources.environ import Job
from accelwatch.node.workloads.sources.job_files import JobFile
from accelwatch.node.workloads.sources.members import Key, Member
from accelwatch.node.workloads.sources.pod_names import PodNames
from accelwatch.node.workloads.sources.podresources import Allocation


class WorkloadFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Facts of all sources."""

    allocations: tuple[Allocation, ...] = ()
    pods: PodNames = PodNames()
    # Uids of pods that have a cgroup; empty when that cannot be seen.
    live_pods: frozenset[str] = frozenset()
    members: Mapping[Key, Member] = {}
    # Container id to what Docker says of it.
    containers: Mapping[str, Container] = {}
    # Kernels of Backend.AI's sessions that are running, by their scratch folders.
    kernels: tuple[Kernel, ...] = ()
    # Slurm job id to the job; its `indices` are this node's.
    jobs: Mapping[str, Job] = {}
    files: tuple[JobFile, ...] = ()
    # Further names of device nodes.
    nodes: Mapping[str, str] = {}


class SourceState(StrEnum):
    """How it stands with a source."""

    OK = "ok"
    # Nothing of its kind is on this node. Not an error.
    ABSENT = "absent"
    # It is here, but cannot be read, or not fully.
    FAILED = "failed"
    # Left out by configuration.
    OFF = "off"
    # Not read yet.
    STARTING = "starting"


class SourceStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One source as the user sees it in /capabilities and doctor."""

    name: str
    state: SourceState
    # What is read: a socket, a folder.
    subject: str = ""
    # How many allocations, pods, processes or jobs are known from it.
    entries: int = 0
    # Since the last good answer; None before the first.
    age_s: float | None = None
    # A word: absent, permission, timeout, protocol, refused, io, unmatched.
    reason: str = ""
    message: str = ""
    remedy: str = ""
