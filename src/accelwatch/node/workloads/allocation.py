"""Whose a device is: joins the facts of all sources with the devices and their processes. Pure."""

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from accelwatch.node.workloads import sessions
from accelwatch.node.workloads.device_ids import DeviceIndex
from accelwatch.node.workloads.facts import WorkloadFacts
from accelwatch.node.workloads.settings import BACKENDAI, CGROUP, SLURM, source_of
from accelwatch.node.workloads.sources.docker import NOBODY
from accelwatch.node.workloads.sources.environ import Job
from accelwatch.node.workloads.sources.members import Member, is_pod_uid
from accelwatch.node.workloads.sources.slurm import joined
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Process
from accelwatch.schema.snapshot import Owner

# Per device; time-slicing allows more, an exposition should not.
MAX_OWNERS = 32

_NO_MEMBER = Member()
Owned = dict[str, tuple[Owner, ...]]


def member_of(process: Process, facts: WorkloadFacts) -> Member:
    """What is known of a process: its backend's data first, then ours."""
    ours = _NO_MEMBER
    if process.pid_namespace == "same" and process.start_time is not None:
        ours = facts.members.get((process.pid, process.start_time), _NO_MEMBER)
    return Member(
        container=process.container or ours.container,
        pod_uid=process.pod or ours.pod_uid,
        slurm_job=process.job or ours.slurm_job,
        job=ours.job,
    )


def static_owners(index: DeviceIndex, facts: WorkloadFacts, order: Mapping[str, str]) -> Owned:
    """Owners that the kubelet, Slurm's lists and job files name, without any process.

    A pod of the kubelet's answer without a cgroup has ended, where cgroups of pods can be seen at all.
    """
    by_device: dict[str, list[Owner]] = {}
    for allocation in facts.allocations:
        uid = facts.pods.uids.get((allocation.namespace, allocation.pod), "")
        if uid and facts.live_pods and uid not in facts.live_pods:
            continue
        owner = Owner(
            kind="kubernetes",
            namespace=allocation.namespace,
            pod=allocation.pod,
            pod_uid=uid,
            container=allocation.container,
            resource=allocation.resource,
        )
        for device_id in index.resolve_names(allocation.resource, allocation.names):
            by_device.setdefault(device_id, []).append(owner)
    for device_id, job in (
        *_listed_jobs(index, facts, order),
        *sessions.listed(index, facts.kernels, order),
    ):
        by_device.setdefault(device_id, []).append(job_owner(job))
    return {device_id: merged(owners) for device_id, owners in by_device.items()}


def _listed_jobs(
    index: DeviceIndex, facts: WorkloadFacts, order: Mapping[str, str]
) -> Iterator[tuple[str, Job]]:
    for job in facts.jobs.values():
        for number in job.indices:
            mapped = order.get(number)
            ids = index.named(mapped) if mapped else index.counted(int(number))
            yield from ((device_id, job) for device_id in ids)
    for file in facts.files:
        parent = index.device_at_index(file.index)
        if parent is None:
            continue
        ids = (parent,)
        if file.gpu_instance is not None:
            ids = index.partitions_of(parent, f"gi{file.gpu_instance}")
        for job in file.jobs:
            full = joined(job, facts.jobs[job.job_id]) if job.job_id in facts.jobs else job
            yield from ((device_id, full) for device_id in ids)


def owners(
    devices: Iterable[Device],
    processes: Iterable[Process],
    fixed: Owned,
    facts: WorkloadFacts,
    sources: frozenset[str],
) -> Owned:
    """Owners by device id: those that stand, and those that only the processes show."""
    parents = {device.id: device.parent_id for device in devices}
    allocated = {
        device_id
        for device_id, owning in fixed.items()
        if any(owner.kind == "kubernetes" for owner in owning)
    }
    divided = {parents[partition] for partition in allocated if parents.get(partition)}
    by_device: dict[str, list[Owner]] = {key: list(value) for key, value in fixed.items()}
    for process in processes:
        here = process.device_id
        member = member_of(process, facts)
        if CGROUP in sources and not {here, parents.get(here)} & allocated and here not in divided:
            by_device.setdefault(here, []).extend(_container_owner(member, facts))
        by_device.setdefault(here, []).extend(_job_owner(process, member, facts, sources))
    partitioned = {
        parents[partition]
        for partition, users in by_device.items()
        if users and parents.get(partition)
    }
    return {
        device_id: merged(users)
        for device_id, users in by_device.items()
        if users and (device_id not in partitioned or device_id in fixed)
    }


def _container_owner(member: Member, facts: WorkloadFacts) -> Iterator[Owner]:
    if member.pod_uid:
        (namespace, pod), uid = _pod(member.pod_uid, facts)
        container = facts.pods.containers.get(member.container or "", "")
        yield Owner(
            kind="kubernetes",
            namespace=namespace,
            pod=pod,
            pod_uid=uid,
            container=container or facts.pods.only_container.get(uid, ""),
        )
    elif member.container:
        detail = facts.containers.get(member.container, NOBODY)
        name = detail.name or member.container[:12]
        yield Owner(kind="container", container=name)


def _pod(text: str, facts: WorkloadFacts) -> tuple[tuple[str, str], str]:
    """((namespace, pod), uid) of a process's pod, which is a uid or, once annotated, a name."""
    if is_pod_uid(text):
        return facts.pods.by_uid.get(text, ("", "")), text
    namespace, _, pod = text.rpartition("/")
    return (namespace, pod), facts.pods.uids.get((namespace, pod), "")


def job_of(member: Member, facts: WorkloadFacts, sources: frozenset[str]) -> Job | None:
    """By Slurm's cgroup; else by the labels of the container; else by the environment.

    What a process says of another job than these is not believed.
    """
    declared = member.job
    if declared is not None and source_of(declared.scheduler) not in sources:
        declared = None
    if member.slurm_job and SLURM in sources:
        job = facts.jobs.get(member.slurm_job) or Job(scheduler="slurm", job_id=member.slurm_job)
        if declared is not None and (declared.scheduler, declared.job_id) == (
            "slurm",
            member.slurm_job,
        ):
            job = joined(job, declared)
        return job
    if BACKENDAI in sources:
        container = facts.containers.get(member.container or "", NOBODY)
        return sessions.of_process(container.session, declared, facts.kernels)
    return declared


def _job_owner(
    process: Process, member: Member, facts: WorkloadFacts, sources: frozenset[str]
) -> Iterator[Owner]:
    job = job_of(member, facts, sources)
    if job is None:
        return
    owner = job_owner(job)
    if not owner.user and job.scheduler != BACKENDAI:  # in a container everybody is `work`
        owner = msgspec.structs.replace(owner, user=process.user or "")
    yield owner


def job_owner(job: Job) -> Owner:
    """A job as an owner."""
    return Owner(
        kind="job",
        scheduler=job.scheduler,
        job_id=job.job_id,
        user=job.user,
        account=job.account,
        queue=job.queue,
        job_name=job.name,
    )


def merged(owners: Iterable[Owner]) -> tuple[Owner, ...]:
    """Owners without repetition; tellings of one job become one."""
    by_key: dict[tuple[str, ...], Owner] = {}
    for owner in owners:
        key = _identity(owner)
        existing = by_key.get(key)
        by_key[key] = owner if existing is None else _completed(existing, owner)
        if len(by_key) == MAX_OWNERS:
            break
    return tuple(by_key.values())


def _identity(owner: Owner) -> tuple[str, ...]:
    if owner.kind == "job":
        return (owner.kind, owner.scheduler, owner.job_id)
    scope = (owner.namespace, owner.pod, owner.pod_uid, owner.container)
    return (owner.kind, *scope, owner.resource)


def _completed(existing: Owner, more: Owner) -> Owner:
    return msgspec.structs.replace(
        existing,
        user=existing.user or more.user,
        account=existing.account or more.account,
        queue=existing.queue or more.queue,
        job_name=existing.job_name or more.job_name,
    )
