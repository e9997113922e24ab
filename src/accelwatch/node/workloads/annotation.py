"""What is said of devices and their processes, worked out again only when what it follows from changes.

Processes of a node stay the same for minutes, while their memory and use change at every reading.
"""

from collections.abc import Sequence
from operator import attrgetter
from typing import NamedTuple

import msgspec

from accelwatch.node.workloads.allocation import Owned, member_of, owners
from accelwatch.node.workloads.known import Known
from accelwatch.node.workloads.settings import CGROUP, SLURM
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Process

_SAID = attrgetter(
    "device_id", "pid", "pid_namespace", "start_time", "user", "container", "pod", "job"
)
"""All of a process that owners and places follow from."""


class Place(NamedTuple):
    """Where a process runs: the words that are shown."""

    container: str | None
    pod: str | None
    """`namespace/name` where the name is known, else the uid."""
    job: str | None


class Annotation(NamedTuple):
    """What is said of the devices and processes of one moment."""

    owners: Owned
    """By device id; a device without any has no entry."""
    places: Sequence[Place | None]
    """By process, in the order given; None where it says so itself."""


class Standing(NamedTuple):
    """What is known of devices without their processes."""

    known: Known
    fixed: Owned


class Annotations:
    """The annotation of the last moment, for as long as it holds."""

    def __init__(self, sources: frozenset[str]) -> None:
        """`sources` are those that are asked."""
        self._sources = sources
        self._of: tuple[Standing | None, Sequence[object]] = (None, ())
        self.last = Annotation({}, ())
        """What was given last."""

    def of(
        self, devices: Sequence[Device], processes: Sequence[Process], standing: Standing
    ) -> Annotation:
        """That of now. `standing` is the same object for as long as devices and facts are the same."""
        said = list(map(_SAID, processes))
        if self._of[0] is not standing or self._of[1] != said:
            found = owners(devices, processes, standing.fixed, standing.known, self._sources)
            places = [placed(one, standing.known, self._sources) for one in processes]
            self._of, self.last = (standing, said), Annotation(found, places)
        return self.last


def placed(process: Process, known: Known, sources: frozenset[str]) -> Place | None:
    """Where a process runs; None where it says so itself."""
    member = member_of(process, known)
    said = container, pod, job = process.container, process.pod, process.job
    if CGROUP in sources:
        container, pod = member.container, member.pod_uid
        if pod is not None and pod in known.pods.by_uid:
            pod = "/".join(known.pods.by_uid[pod])
    if SLURM in sources:
        job = member.slurm_job or (member.job.job_id if member.job else None) or job
    place = Place(container, pod, job)
    return None if place == said else place


def moved(processes: Sequence[Process], places: Sequence[Place | None]) -> tuple[Process, ...]:
    """The processes at their places."""
    return tuple(
        process
        if place is None
        else msgspec.structs.replace(
            process, container=place.container, pod=place.pod, job=place.job
        )
        for process, place in zip(processes, places, strict=True)
    )
