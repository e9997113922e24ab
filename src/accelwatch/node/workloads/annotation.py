"""Annotations of devices and their processes, recomputed only when their sources change.

Processes of a node stay the same for minutes, while their memory and use change at every reading.
"""

from collections.abc import Sequence
from operator import attrgetter
from typing import NamedTuple

import msgspec

from accelwatch.node.workloads.allocation import Owned, job_of, member_of, owners
from accelwatch.node.workloads.facts import WorkloadFacts
from accelwatch.node.workloads.settings import BACKENDAI, CGROUP, SLURM
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Process

# All of a process that owners and placements follow from.
_REPORTED = attrgetter(
    "device_id", "pid", "pid_namespace", "start_time", "user", "container", "pod", "job"
)


class Placement(NamedTuple):
    """Where a process runs: the words that are shown."""

    container: str | None
    # `namespace/name` where the name is known, else the uid.
    pod: str | None
    job: str | None


class Annotation(NamedTuple):
    """The annotations of the devices and processes of one snapshot."""

    # By device id; a device without any has no entry.
    owners: Owned
    # By process, in the order given; None where the process reports it itself.
    placements: Sequence[Placement | None]


class DeviceFacts(NamedTuple):
    """What is known of devices without their processes."""

    facts: WorkloadFacts
    fixed: Owned


class Annotations:
    """The annotation of the last moment, for as long as it holds."""

    def __init__(self, sources: frozenset[str]) -> None:
        """`sources` are those that are read."""
        self._sources = sources
        self._of: tuple[DeviceFacts | None, Sequence[object]] = (None, ())
        # What was given last.
        self.last = Annotation({}, ())

    def of(
        self, devices: Sequence[Device], processes: Sequence[Process], device_facts: DeviceFacts
    ) -> Annotation:
        """That of now. `device_facts` is the same object for as long as devices and facts are the
        same.
        """
        reported = list(map(_REPORTED, processes))
        if self._of[0] is not device_facts or self._of[1] != reported:
            owned = owners(
                devices, processes, device_facts.fixed, device_facts.facts, self._sources
            )
            placements = [
                placement_of(process, device_facts.facts, self._sources) for process in processes
            ]
            self._of, self.last = (device_facts, reported), Annotation(owned, placements)
        return self.last


def placement_of(
    process: Process, facts: WorkloadFacts, sources: frozenset[str]
) -> Placement | None:
    """Where a process runs; None where the process reports it itself."""
    member = member_of(process, facts)
    reported = container, pod, job = process.container, process.pod, process.job
    if CGROUP in sources:
        container, pod = member.container, member.pod_uid
        if pod is not None and pod in facts.pods.by_uid:
            pod = "/".join(facts.pods.by_uid[pod])
    if sources & {SLURM, BACKENDAI}:
        owner = job_of(member, facts, sources)
        job = (owner.job_id if owner else None) or job
    placement = Placement(container, pod, job)
    return None if placement == reported else placement


def moved(
    processes: Sequence[Process], placements: Sequence[Placement | None]
) -> tuple[Process, ...]:
    """The processes with their placements."""
    return tuple(
        process
        if placement is None
        else msgspec.structs.replace(
            process, container=placement.container, pod=placement.pod, job=placement.job
        )
        for process, placement in zip(processes, placements, strict=True)
    )
