"""Which job a pod belongs to: the owners that were read, each once, and never more than a bound.

Of an owner only what leads further up is kept; an object never gets another owner or another uid.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from accelwatch.action.intent import JobKey
from accelwatch_kubernetes.objects.metadata import Metadata, OwnerReference
from accelwatch_kubernetes.objects.pod import Pod
from accelwatch_kubernetes.workloads.kinds.kind import Kind
from accelwatch_kubernetes.workloads.kinds.slurm_pods import is_slurmd
from accelwatch_kubernetes.workloads.kinds.table import kind_named, kind_of
from accelwatch_kubernetes.workloads.lineage import RETRY, USER

# 100,000 pods have no more owners than pods, and mostly a hundredth of it; an owner is about 500 bytes.
MOST_OWNERS = 50_000
# A pod of a LeaderWorkerSet has four above it; a circle of owners is a mistake in the cluster.
MOST_STEPS = 8
# Seconds until an owner is read again that may not be read, or that the server did not answer for: a
# person gives a role, or mends a webhook. Of many, so many a second: 2 % of what the limiter allows.
_AGAIN_S, _FAILED_AGAIN_S, _AGAIN_A_SECOND = 60.0, 10.0, 10.0
# By which bare pods are a group: of Volcano an annotation, of Kueue a label.
VOLCANO_GROUP = "scheduling.k8s.io/group-name"
KUEUE_GROUP = "kueue.x-k8s.io/pod-group-name"


class Owner(msgspec.Struct, frozen=True, kw_only=True):
    """An object that was read, or of which only the reference is known."""

    kind: Kind
    namespace: str
    name: str
    # Unix seconds; 0 where it was not read.
    created: float = 0.0
    above: OwnerReference | None = None
    user: str = ""
    is_retried: bool = False


class Unread(NamedTuple):
    """When to read an owner again."""

    # Monotonic seconds.
    again_at: float
    # Whether the server failed, and did not refuse.
    failed: bool


class PodJob(msgspec.Struct, frozen=True):
    """The job of a pod."""

    key: JobKey
    user: str
    is_retried: bool = False
    # Whether an object says who its user is, and not only the namespace.
    is_annotated: bool = False


class NodeJobs(msgspec.Struct, frozen=True, kw_only=True):
    """The jobs on a node, as a NodeObservation has them."""

    jobs: tuple[JobKey, ...] = ()
    restartable: frozenset[JobKey] = frozenset()
    # By the job as users write it.
    owners: dict[str, str] = {}


class OwnerIndex:
    """Owners by uid; for one event loop."""

    def __init__(self, cluster: str, most: int = MOST_OWNERS) -> None:
        """`cluster` is the action's name."""
        self._cluster = cluster
        self._most = most
        self._owners: dict[str, Owner] = {}
        # By the uid of a pod's controller: the job of all pods that it makes, None where that is none.
        self._jobs: dict[str, PodJob | None] = {}
        # By uid, of those that are kept by their names because they could not be read.
        self._unread: dict[str, Unread] = {}

    def add(self, reference: OwnerReference, namespace: str, metadata: Metadata | None) -> None:
        """What was read of an owner; None where it is gone: kept by its name."""
        self._unread.pop(reference.uid, None)
        self._put(reference, namespace, metadata)

    def add_unread(
        self, reference: OwnerReference, namespace: str, now: float, *, failed: bool
    ) -> None:
        """One that may not be read, or whose read has `failed`: kept by its name for a while.

        `now` in monotonic seconds.
        """
        again_s = max(_FAILED_AGAIN_S if failed else _AGAIN_S, len(self._unread) / _AGAIN_A_SECOND)
        self._put(reference, namespace, None)
        self._unread[reference.uid] = Unread(now + again_s, failed)

    def _put(self, reference: OwnerReference, namespace: str, metadata: Metadata | None) -> None:
        kind = kind_of(reference.api_version, reference.kind)
        if metadata is None or not is_owner(reference, namespace, metadata):
            owner = Owner(kind=kind, namespace=namespace, name=reference.name)
        else:
            owner = Owner(
                kind=kind,
                namespace=namespace,
                name=reference.name,
                created=metadata.created,
                above=controller_of(metadata),
                user=metadata.annotations.get(USER, ""),
                is_retried=metadata.annotations.get(RETRY) == "true",
            )
        while len(self._owners) >= self._most:
            # The oldest: it is read again if any of its pods is left.
            oldest = next(iter(self._owners))
            del self._owners[oldest]
            self._unread.pop(oldest, None)
            self._jobs.clear()
        self._owners[reference.uid] = owner

    @property
    def again_at(self) -> float:
        """When the first of those that could not be read is due again, in monotonic seconds."""
        return min((entry.again_at for entry in self._unread.values()), default=math.inf)

    def missing(
        self, pods: Iterable[Pod], now: float = -math.inf, *, failed_too: bool = False
    ) -> dict[str, tuple[str, OwnerReference]]:
        """What has to be read for the jobs of some pods, by uid: its namespace, and its reference.

        With `now`, in monotonic seconds, also what could not be read and is due again; with `failed_too`
        all of which the server did not answer.
        """
        references: dict[str, tuple[str, OwnerReference]] = {}
        for pod in pods:
            reference = self._missing(pod, now, failed_too=failed_too)
            if reference is not None:
                references[reference.uid] = (pod.metadata.namespace, reference)
        return references

    def is_unread(self, pod: Pod) -> bool:
        """Whether its job is known only as far as its owners could be read."""
        return self._missing(pod, math.inf) is not None

    def _missing(
        self, pod: Pod, now: float = -math.inf, *, failed_too: bool = False
    ) -> OwnerReference | None:
        if not _has_job(pod):
            return None
        reference = first_reference(pod)
        if reference is None or reference.uid in self._jobs:
            return None
        for _ in range(MOST_STEPS):
            if reference is None or not kind_of(reference.api_version, reference.kind).has_row:
                return None
            owner = self._owners.get(reference.uid)
            unread = self._unread.get(reference.uid)
            if owner is None or (
                unread is not None and (unread.again_at <= now or (failed_too and unread.failed))
            ):
                return reference
            reference = owner.above
        return None

    def job_of_pod(self, pod: Pod) -> PodJob | None:
        """Its job; None for a pod that has none, and while an owner was not read yet."""
        if not _has_job(pod):
            return None
        reference = first_reference(pod)
        if reference is None:
            return self._job_of(_bare(pod), ())
        if reference.uid not in self._jobs:
            if self._missing(pod) is not None:
                return None
            if self.is_unread(pod):
                # Not kept: what is above it may be readable soon.
                return self._of_user(self._job_above(reference, pod.metadata.namespace), pod)
            if len(self._jobs) >= self._most:
                # Controllers of kinds without a row are here too; what is needed is found again.
                self._jobs.clear()
            self._jobs[reference.uid] = self._job_above(reference, pod.metadata.namespace)
        return self._of_user(self._jobs[reference.uid], pod)

    @staticmethod
    def _of_user(job: PodJob | None, pod: Pod) -> PodJob | None:
        own = pod.metadata.annotations.get(USER, "")
        if job is None or job.is_annotated or not own:
            return job
        return PodJob(job.key, own, job.is_retried)

    def _job_above(self, reference: OwnerReference, namespace: str) -> PodJob | None:
        """Of the pods that an object makes; None for those of a DaemonSet."""
        owners = list(self._above(reference, namespace))
        jobs = [owner for owner in owners if owner.kind.is_job]
        in_table = [owner for owner in jobs if owner.kind.has_row]
        return self._job_of((in_table or jobs)[-1], owners) if jobs else None

    def _job_of(self, job: Owner, owners: Sequence[Owner]) -> PodJob:
        users = [owner.user for owner in (*reversed(owners), job) if owner.user]
        return PodJob(
            JobKey(self._cluster, f"{job.namespace}/{job.kind.name}/{job.name}", job.created),
            users[0] if users else job.namespace,
            any(owner.is_retried for owner in (*owners, job)),
            is_annotated=bool(users),
        )

    def _above(self, first: OwnerReference, namespace: str) -> Iterator[Owner]:
        """From the nearest; those of kinds that have no row are kept by their names."""
        reference: OwnerReference | None = first
        for _ in range(MOST_STEPS):
            if reference is None:
                return
            owner = self._owners.get(reference.uid) or Owner(
                kind=kind_of(reference.api_version, reference.kind),
                namespace=namespace,
                name=reference.name,
            )
            yield owner
            reference = owner.above

    def jobs_by_node(self, pods: Iterable[Pod]) -> dict[str, NodeJobs]:
        """The jobs of all nodes on which some of these pods are."""
        by_node: dict[str, dict[JobKey, PodJob]] = {}
        for pod in pods:
            if pod.node and not pod.is_over and (job := self.job_of_pod(pod)) is not None:
                by_node.setdefault(pod.node, {})[job.key] = job
        return {node: _node_jobs(jobs) for node, jobs in by_node.items()}


def _node_jobs(jobs: dict[JobKey, PodJob]) -> NodeJobs:
    return NodeJobs(
        jobs=tuple(sorted(jobs)),
        restartable=frozenset(key for key, job in jobs.items() if job.is_retried),
        owners={str(key): job.user for key, job in jobs.items()},
    )


def _has_job(pod: Pod) -> bool:
    """A static pod and a node of a Slurm cluster are no jobs of this cluster."""
    return not pod.is_mirror and not is_slurmd(pod)


def controller_of(metadata: Metadata) -> OwnerReference | None:
    """Of the owners of an object the one that makes it."""
    return next((owner for owner in metadata.owner_references if owner.controller), None)


def first_reference(pod: Pod) -> OwnerReference | None:
    """Its controller, else the group that it says it is of, whose uid is its name."""
    if pod.controller is not None:
        return pod.controller
    metadata = pod.metadata
    groups = (
        ("PodGroup", metadata.annotations.get(VOLCANO_GROUP, "")),
        ("Workload", metadata.labels.get(KUEUE_GROUP, "")),
    )
    for name, group in groups:
        kind = kind_named(name)
        if group and kind is not None:
            version = f"{kind.group}/{kind.versions[0]}"
            uid = _group_uid(metadata.namespace, name, group)
            return OwnerReference(api_version=version, kind=kind.kind, name=group, uid=uid)
    return None


def _group_uid(namespace: str, kind: str, name: str) -> str:
    return f"{namespace}/{kind}/{name}"


def is_owner(reference: OwnerReference, namespace: str, metadata: Metadata) -> bool:
    """Whether what was read is what was meant, and no namesake; a group is known by its name alone."""
    named = _group_uid(namespace, reference.kind, reference.name)
    return reference.uid in (metadata.uid, named)


def _bare(pod: Pod) -> Owner:
    metadata = pod.metadata
    return Owner(
        kind=kind_of("v1", "Pod"),
        namespace=metadata.namespace,
        name=metadata.name,
        created=metadata.created,
        user=metadata.annotations.get(USER, ""),
        is_retried=metadata.annotations.get(RETRY) == "true",
    )
