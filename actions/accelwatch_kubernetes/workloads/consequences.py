"""What becomes of a job when some of its pods leave: shown in the plan before it is done. Pure."""

from collections.abc import Sequence
from itertools import takewhile

import msgspec

from accelwatch_kubernetes.objects.pod import Pod
from accelwatch_kubernetes.objects.workload import Workload
from accelwatch_kubernetes.workloads.changes import suspend_patch
from accelwatch_kubernetes.workloads.kinds.kind import Kind
from accelwatch_kubernetes.workloads.kinds.outcome import (
    NO_CONTROLLER,
    Cause,
    Departure,
    Fate,
    Outcome,
)
from accelwatch_kubernetes.workloads.kinds.slurm_pods import evaluate_slurmd, is_slurmd
from accelwatch_kubernetes.workloads.kinds.table import kind_of_workload
from accelwatch_kubernetes.workloads.lineage import Lineage


class Consequences(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes of a job."""

    fate: Fate
    # `Job train/llama: eviction of 1 of its 63 pods: ...`, without a full stop.
    text: str
    # Why it must not be done without a person's approval; empty where it may be.
    refusal: str = ""
    # How many of its pods start again.
    restarted: int = 0
    # Whether to suspend it and start it again is right, and evicting its pods is not.
    prefers_restart: bool = False


def consequences(lineage: Lineage, departure: Departure, pods: Sequence[Pod]) -> Consequences:
    """Of pods that leave, for their job; `pods` are all of the job, those that leave included."""
    outcome = outcome_of(lineage, departure)
    total = _total(lineage, pods, departure)
    restarted = {Fate.REPLACED: departure.count, Fate.RESTARTED: total}.get(outcome.fate, 0)
    text = (
        f"{_title(lineage)}: {departure.cause.value} of {departure.count} of its {total} pods: "
        f"{outcome.text}"
    )
    restarts = suspend_patch(lineage) is not None and not _restart_limit(lineage)
    if pinned := _pinned(lineage, outcome):
        text = f"{text}; {pinned}"
    prefers = restarts and (outcome.is_fatal or bool(pinned)) and not _has_slurmd(departure)
    if prefers:
        text = f"{text}; instead {_restart_text(lineage, total)}"
    return Consequences(
        fate=outcome.fate,
        text=text,
        refusal=text if outcome.is_fatal else "",
        restarted=restarted,
        prefers_restart=prefers,
    )


def consequences_of_restart(lineage: Lineage, pods: Sequence[Pod]) -> str:
    """Of suspending a job and starting it again; empty for a kind that cannot be."""
    if suspend_patch(lineage) is None:
        return ""
    total = _total(lineage, pods, Departure(cause=Cause.DELETION, pods=()))
    text = f"{_title(lineage)}: {_restart_text(lineage, total)}"
    limit = _restart_limit(lineage)
    return f"{text}; once started again {limit}" if limit else text


def outcome_of(lineage: Lineage, departure: Departure) -> Outcome:
    """From the pods' nearest owner up: what each object makes of what becomes of the one below."""
    if _is_finished(lineage):
        return Outcome(fate=Fate.UNCHANGED, text="it has ended already")
    outcome = Outcome(fate=Fate.LOST, text=NO_CONTROLLER)
    for workload in lineage.chain:
        kind = kind_of_workload(workload)
        if kind.can_fail and not workload.was_read:
            return _unread(workload, kind)
        outcome = kind.evaluate(workload, departure, outcome)
    if _has_slurmd(departure) and lineage.job is not None:
        return evaluate_slurmd(lineage.job, departure, outcome)
    return outcome


def _unread(workload: Workload, kind: Kind) -> Outcome:
    """Its limits are not known: those of the default would be invented."""
    text = (
        f"{kind.name} {workload.metadata.name} could not be read (RBAC: get {kind.resource}), so "
        "whether that fails it for good is unknown"
    )
    return Outcome(fate=Fate.ENDANGERED, text=text)


def _restart_limit(lineage: Lineage) -> str:
    """Why all its pods must not start again; empty where they may."""
    limits = (kind_of_workload(workload).restart_limit(workload) for workload in lineage.chain)
    return next(filter(None, limits), "")


def _has_slurmd(departure: Departure) -> bool:
    return any(map(is_slurmd, departure.pods))


def _is_finished(lineage: Lineage) -> bool:
    """Whether the job has: by its own condition, whatever objects below it do (trainer#3737)."""
    job, kind = lineage.job, lineage.kind
    return job is not None and kind is not None and kind.is_finished(job)


def _pinned(lineage: Lineage, outcome: Outcome) -> str:
    """Where Kueue would keep a replacement on the node that its pod left; empty where it would not."""
    if not lineage.has_topology or outcome.fate is Fate.UNCHANGED:
        return ""
    return (
        "Kueue has assigned its pods to nodes (topology-aware scheduling): before Kueue 0.19 the "
        "replacement stays assigned to this node and never starts"
    )


def _restart_text(lineage: Lineage, total: int) -> str:
    if lineage.queue:
        return (
            f"Kueue can requeue all {total} pods (queue {lineage.queue}): spec.active of "
            "the Workload"
        )
    return f"it can be suspended and started again, all {total} pods, which counts as no failure"


def _total(lineage: Lineage, pods: Sequence[Pod], departure: Departure) -> int:
    """Pods of the job: by its own fields, else those that are there."""
    counts = (kind_of_workload(workload).pods(workload) for workload in reversed(lineage.chain))
    desired = max((count for count in counts if count is not None), default=0)
    present = sum(not pod.is_over for pod in pods)
    return max(desired, present, departure.count)


def _title(lineage: Lineage) -> str:
    """`TrainJob train/llama`, and `(CronJob nightly)` where something makes it."""
    job, kind = lineage.job, lineage.kind
    if job is None or kind is None:
        return "pods without an owner"
    above = list(takewhile(lambda workload: workload is not job, reversed(lineage.chain)))
    makers = ", ".join(f"{workload.kind} {workload.metadata.name}" for workload in reversed(above))
    title = f"{kind.name} {job.metadata.namespace}/{job.metadata.name}"
    return f"{title} ({makers})" if makers else title
