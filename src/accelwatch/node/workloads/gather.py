"""Reads all sources, each with its own failures; runs on the background thread."""

from pathlib import Path
from typing import TypeVar

import msgspec

from accelwatch.backend.kit.grpc.failure import SourceError
from accelwatch.base.clock import Clock
from accelwatch.node.workloads.facts import SourceState, SourceStatus, WorkloadFacts
from accelwatch.node.workloads.settings import (
    BACKENDAI,
    CGROUP,
    PODRESOURCES,
    SLURM,
    WorkloadSettings,
)
from accelwatch.node.workloads.source import PolledSource, off
from accelwatch.node.workloads.sources import (
    backendai,
    container_cgroups,
    docker,
    job_cgroups,
    job_files,
    pod_cgroups,
    pod_names,
    podresources,
)
from accelwatch.node.workloads.sources.backendai import Kernel
from accelwatch.node.workloads.sources.docker import Container
from accelwatch.node.workloads.sources.job_files import JobFile
from accelwatch.node.workloads.sources.members import Key, Members
from accelwatch.node.workloads.sources.pod_names import PodNames
from accelwatch.node.workloads.sources.podresources import Allocation
from accelwatch.node.workloads.sources.slurm import SlurmJobs
from accelwatch.system.kernel import sysfs

T = TypeVar("T")


class Gatherer:
    """Owns what is remembered between rounds; for one thread, but for `statuses`."""

    def __init__(self, settings: WorkloadSettings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        nothing: tuple[Allocation, ...] = ()
        no_files: tuple[JobFile, ...] = ()
        self._kubelet = self._source(PODRESOURCES, settings.kubelet_socket, nothing)
        self._pods = self._source("pod_logs", settings.pod_logs, PodNames())
        self._folders = [
            (folder, self._source("job_dir", folder, no_files)) for folder in settings.job_dirs
        ]
        no_kernels: tuple[Kernel, ...] = ()
        scratch = settings.scratch_root or Path(backendai.AGENT_CONFIG)
        self._scratch = self._source(BACKENDAI, scratch, no_kernels)
        environments = bool(settings.sources & {SLURM, BACKENDAI})
        self._members = Members(settings.root, environments=environments)
        self._containers: dict[str, Container] = {}
        self._slurm = SlurmJobs(settings.root)
        self._slurm_here: bool | None = None
        self.facts = WorkloadFacts()

    def _source(self, name: str, path: Path, empty: T) -> PolledSource[T]:
        return PolledSource(
            name,
            str(path),
            empty,
            self._clock,
            interval_s=self._settings.interval_s,
            keep_s=self._settings.keep_s,
        )

    def round(self, requested: set[Key]) -> None:
        """Read every source once; `requested` are the processes on devices."""
        settings, facts = self._settings, self.facts
        if PODRESOURCES in settings.sources:
            self._kubelet.poll(self._fetch)
            facts = msgspec.structs.replace(
                facts,
                allocations=self._kubelet.value,
                live_pods=pod_cgroups.read(settings.root),
                nodes=partition_nodes(settings.root),
            )
        if settings.sources & {PODRESOURCES, CGROUP}:
            self._pods.poll(self._pod_names)
            facts = msgspec.structs.replace(facts, pods=self._pods.value)
        if SLURM in settings.sources:
            cgroups = job_cgroups.read(settings.root)
            self._slurm_here = cgroups.slurm
            jobs = self._slurm.of(cgroups)
            live = frozenset(jobs) if cgroups.slurm else None
            facts = msgspec.structs.replace(facts, jobs=jobs, files=self._job_files(live))
        if BACKENDAI in settings.sources:
            self._scratch.poll(self._kernels)
            running = container_cgroups.read(settings.root)
            kernels = without_stopped(self._scratch.value, running)
            facts = msgspec.structs.replace(facts, kernels=kernels)
        self.facts = facts
        self.resolve_processes(requested)

    def resolve_processes(self, requested: set[Key]) -> None:
        """Only find out about processes that are not known yet."""
        self._members.retain(requested)
        members = {
            key: member for key in requested if (member := self._members.of(key)) is not None
        }
        plain = {
            container.container
            for container in members.values()
            if container.container and not container.pod_uid
        }
        details = {
            container: self._containers.get(container)
            or docker.container(self._settings.root, container)
            for container in plain
        }
        self._containers = {
            container: detail for container, detail in details.items() if detail != docker.NOBODY
        }
        self.facts = msgspec.structs.replace(
            self.facts, members=members, containers=self._containers
        )

    def _fetch(self) -> tuple[Allocation, ...]:
        return podresources.fetch(
            self._settings.kubelet_socket,
            timeout_s=self._settings.kubelet_timeout_s,
            clock=self._clock,
        )

    def _kernels(self) -> tuple[Kernel, ...]:
        root = backendai.scratch_root(self._settings.root, self._settings.scratch_root)
        return backendai.read(root)

    def _pod_names(self) -> PodNames:
        return pod_names.read(self._settings.pod_logs, self._settings.root / "var/log/containers")

    def _job_files(self, live: frozenset[str] | None) -> tuple[JobFile, ...]:
        """Files of all folders, without jobs that Slurm's cgroups show to be over."""
        files: list[JobFile] = []
        for folder, source in self._folders:
            source.poll(lambda folder=folder: _understood(folder))  # type: ignore[misc]
            files += [without_finished(file, live) for file in source.value]
        return tuple(file for file in files if file.jobs)

    def statuses(self) -> tuple[SourceStatus, ...]:
        """How it stands with each source."""
        facts, sources = self.facts, self._settings.sources
        statuses = [
            self._kubelet.status(len(facts.allocations))
            if PODRESOURCES in sources
            else off(PODRESOURCES)
        ]
        if sources & {PODRESOURCES, CGROUP}:
            statuses.append(self._pods.status(len(facts.pods.by_uid)))
        statuses.append(self._processes() if CGROUP in sources else off(CGROUP))
        statuses.append(
            self._scratch.status(len(facts.kernels)) if BACKENDAI in sources else off(BACKENDAI)
        )
        statuses.append(self._slurm_status() if SLURM in sources else off(SLURM))
        statuses += [source.status(len(source.value)) for _, source in self._folders]
        return tuple(statuses)

    def _processes(self) -> SourceStatus:
        return SourceStatus(
            name=CGROUP,
            subject=str(self._settings.root / "proc"),
            state=SourceState.OK,
            entries=len(self.facts.members),
        )

    def _slurm_status(self) -> SourceStatus:
        state, message, remedy, reason = SourceState.OK, "", "", ""
        if self._slurm_here is None:
            state = SourceState.STARTING
        elif not self._slurm_here:
            state, reason, message = SourceState.ABSENT, "absent", "no cgroups of slurmstepd"
        elif self._slurm.unreadable:
            state, reason = SourceState.FAILED, "permission"
            message = f"the environment of {self._slurm.unreadable} jobs cannot be read"
            remedy = "grant CAP_SYS_PTRACE, or let the prolog write job files and set job_dirs"
        return SourceStatus(
            name=SLURM,
            subject=str(self._settings.root / "sys/fs/cgroup"),
            state=state,
            entries=len(self.facts.jobs),
            reason=reason,
            message=message,
            remedy=remedy,
        )


def _understood(folder: Path) -> tuple[JobFile, ...]:
    files, unread = job_files.read(folder)
    if unread and not files:
        raise SourceError(
            f"{folder}: {unread} files are neither job ids nor a JSON object, or not readable",
            reason="protocol",
        )
    return files


def without_finished(file: JobFile, live: frozenset[str] | None) -> JobFile:
    """The file without jobs that are over; `live` None: nobody knows, ids that are no number stay."""
    if live is None:
        return file
    jobs = tuple(job for job in file.jobs if job.job_id in live or not job.job_id.isdigit())
    return msgspec.structs.replace(file, jobs=jobs)


def without_stopped(
    kernels: tuple[Kernel, ...], running: frozenset[str] | None
) -> tuple[Kernel, ...]:
    """The kernels without those whose container is over, as a folder outlives a crash of the node or of
    Backend.AI's agent; `running` None: nobody knows."""
    return tuple(
        kernel
        for kernel in kernels
        if running is None or not kernel.container or kernel.container in running
    )


def partition_nodes(root: Path) -> dict[str, str]:
    """AMD partitions as the device plug-in names them, to their render nodes.

    amdgpu makes a platform device `amdgpu_xcp_<n>` for each further partition of the node's GPUs.
    """
    nodes: dict[str, str] = {}
    for folder in sysfs.list_dir(root / "sys/devices/platform"):
        if folder.name.startswith("amdgpu_xcp_"):
            for node in sysfs.list_dir(folder / "drm"):
                if node.name.startswith("renderD"):
                    nodes[folder.name] = f"/dev/dri/{node.name}"
    return nodes
