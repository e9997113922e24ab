"""Who holds a device at one moment, and which part of its numbers is whose.

The only holder of a device has all of it. Where several do, each has what its own processes use; what
the driver does not report by process is divided for energy, and unknown for load and memory.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.schema.reading import Process
from accelwatch.schema.snapshot import Owner

# A device, or a share of one, with less load than this does nothing.
IDLE_RATIO = 0.05
_GRAPHICS = "graphics"


class Kind(StrEnum):
    """What a row of a usage report is about."""

    # A batch job, a pod or a container.
    JOB = "job"
    # Processes of a user outside of any job.
    USER = "user"
    # The holder is unknown: processes, or their users, cannot be seen.
    UNKNOWN = "unknown"
    # All those for whom there was no room.
    OTHERS = "others"
    # Neither allocated nor with a process.
    FREE = "free"
    TOTAL = "total"


class Holder(msgspec.Struct, frozen=True, gc=False):
    """Who holds a device; empty texts are not known or do not apply."""

    kind: Kind
    user: str = ""
    # A job's id, `namespace/pod`, or a container's name.
    job: str = ""


UNKNOWN = Holder(Kind.UNKNOWN)
OTHERS = Holder(Kind.OTHERS)
FREE = Holder(Kind.FREE)

# A number in base units, or the reason why there is none.
Quantity = float | Absence


class Share(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One holder's part of a device."""

    holder: Holder
    # A ratio of the whole device.
    load: Quantity
    memory_bytes: Quantity
    # The part of the device's energy, from 0 to 1; all parts together are 1.
    energy: float
    # Whether the energy is divided evenly, because nobody reports whose it is.
    divided: bool = False
    alone: bool = True
    # Unix seconds at which its oldest process on the device began.
    started_at: float | None = None


def shares_of(
    owners: Sequence[Owner],
    processes: Sequence[Process] | None,
    *,
    load: Quantity,
    memory_bytes: Quantity,
    is_complete: bool = True,
) -> tuple[Share, ...]:
    """The parts of a device, at least one. `is_complete`: whether `processes` lists all there are."""
    by_holder = _processes_by_holder(owners, processes)
    if len(by_holder) == 1:
        ((holder, own),) = by_holder.items()
        started_at = _started_at(own)
        return (
            Share(
                holder=holder,
                load=load,
                memory_bytes=memory_bytes,
                energy=1.0,
                started_at=started_at,
            ),
        )
    listed = processes is not None and is_complete
    loads = {occupant: _own_load(own, listed, load) for occupant, own in by_holder.items()}
    measured = [value for value in loads.values() if not isinstance(value, Absence)]
    total = sum(measured)
    by_load = len(measured) == len(by_holder) and total > 0
    return tuple(
        Share(
            holder=holder,
            load=loads[holder],
            memory_bytes=_sum_of(own, "gpu_memory_bytes", listed),
            energy=_fraction(loads[holder], total) if by_load else 1.0 / len(by_holder),
            divided=not by_load,
            alone=False,
            started_at=_started_at(own),
        )
        for holder, own in by_holder.items()
    )


def _fraction(load: Quantity, total: float) -> float:
    return 0.0 if isinstance(load, Absence) else load / total


def by_user(shares: Sequence[Share], load: Quantity, memory_bytes: Quantity) -> tuple[Share, ...]:
    """The same with the shares of one user as one; a user alone on the device has all of it."""
    if len(shares) == 1 and shares[0].holder.kind is not Kind.JOB:
        return tuple(shares)
    merged: dict[Holder, Share] = {}
    for share in shares:
        holder = share.holder
        if holder.kind is Kind.JOB:
            holder = Holder(Kind.USER, holder.user) if holder.user else UNKNOWN
        other = merged.get(holder)
        if other is None:
            merged[holder] = msgspec.structs.replace(share, holder=holder)
        else:
            merged[holder] = _joined(other, share)
    if len(merged) == 1 < len(shares):
        ((holder, share),) = merged.items()
        full = Share(holder=holder, load=load, memory_bytes=memory_bytes, energy=1.0)
        return (msgspec.structs.replace(full, started_at=share.started_at),)
    return tuple(merged.values())


def _joined(share: Share, other: Share) -> Share:
    starts = [start for start in (share.started_at, other.started_at) if start is not None]
    return msgspec.structs.replace(
        share,
        load=_added(share.load, other.load),
        memory_bytes=_added(share.memory_bytes, other.memory_bytes),
        energy=share.energy + other.energy,
        divided=share.divided or other.divided,
        started_at=min(starts, default=None),
    )


def _added(quantity: Quantity, other: Quantity) -> Quantity:
    if isinstance(quantity, Absence):
        return quantity
    return other if isinstance(other, Absence) else quantity + other


def _processes_by_holder(
    owners: Sequence[Owner], processes: Sequence[Process] | None
) -> dict[Holder, list[Process]]:
    """Everybody who holds the device, with their processes on it."""
    jobs = _jobs(owners, processes or ())
    by_holder: dict[Holder, list[Process]] = {
        Holder(Kind.JOB, user, job): [] for job, user in jobs.items()
    }
    for owner in owners:
        if not _job_of_owner(owner) and owner.user:
            by_holder.setdefault(Holder(Kind.USER, owner.user), [])
    graphics = []
    for process in processes or ():
        if process.type == _GRAPHICS and not _job_of_process(process):
            graphics.append(process)
        else:
            by_holder.setdefault(_holder_of(process, jobs, by_holder), []).append(process)
    if not by_holder:
        for process in graphics:
            by_holder.setdefault(_holder_of(process, jobs, by_holder), []).append(process)
    if not by_holder:
        by_holder[UNKNOWN if processes is None else FREE] = []
    return by_holder


def _jobs(owners: Iterable[Owner], processes: Iterable[Process]) -> dict[str, str]:
    """Job to its user, empty where nobody says."""
    jobs: dict[str, str] = {}
    for owner in owners:
        if job := _job_of_owner(owner):
            jobs[job] = jobs.get(job) or owner.user
    for process in processes:
        if job := _job_of_process(process):
            jobs[job] = jobs.get(job) or process.user or ""
    return jobs


def _holder_of(process: Process, jobs: Mapping[str, str], holders: Iterable[Holder]) -> Holder:
    if job := _job_of_process(process):
        return Holder(Kind.JOB, jobs[job], job)
    own = [
        holder for holder in holders if process.user is None or holder.user in ("", process.user)
    ]
    of_jobs = [holder for holder in own if holder.kind is Kind.JOB]
    if len(of_jobs) == 1:
        return of_jobs[0]
    return Holder(Kind.USER, process.user) if process.user else UNKNOWN


def _job_of_owner(owner: Owner) -> str:
    pod = f"{owner.namespace}/{owner.pod}" if owner.namespace else owner.pod
    return owner.job_id or (pod if owner.pod else owner.container)


def _job_of_process(process: Process) -> str:
    return process.job or process.pod or process.container or ""


def _own_load(own: Sequence[Process], listed: bool, device: Quantity) -> Quantity:
    """The load of a holder's processes; an idle device is idle for all of them."""
    load = _sum_of(own, "utilization_ratio", listed)
    if isinstance(load, Absence) and not isinstance(device, Absence) and device < IDLE_RATIO:
        return 0.0
    return load


def _sum_of(own: Sequence[Process], field: str, listed: bool) -> Quantity:
    if not listed:
        return Absence.NOT_COLLECTED
    total = 0.0
    for process in own:
        value: float | None = getattr(process, field)
        if value is None:
            return process.absent.get(field, Absence.UNSUPPORTED)
        total += value
    return total


def _started_at(own: Iterable[Process]) -> float | None:
    return min(
        (process.start_time for process in own if process.start_time is not None), default=None
    )
