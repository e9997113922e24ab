"""What a job does over time. Pure; counters are exact integrals of the phases' mean load.

A job's own time stands still in a stall, so its steps and checkpoints wait for the end of the stall, as
those of a real one do.
"""

import math
from enum import StrEnum

import msgspec

WARM_UP_LOAD = 0.3
CHECKPOINT_LOAD = 0.08
# Half the difference between the compute and the communication part of a step.
_WAVE = 0.12


class Phase(StrEnum):
    """What a job is doing."""

    WAITING = "waiting"
    # It reads its data and its last checkpoint: devices are idle, memory fills.
    LOADING = "loading"
    WARM_UP = "warm_up"
    STEPS = "steps"
    CHECKPOINT = "checkpoint"
    STALL = "stall"
    FINISHED = "ended"


class StallKind(StrEnum):
    """Why a job makes no progress."""

    # It waits for data: devices are idle.
    INPUT = "input"
    # It waits for a peer: devices spin, busy at little power.
    COLLECTIVE = "collective"


class Stall(msgspec.Struct, frozen=True):
    """A time without progress, in seconds from the job's start."""

    at_s: float
    lasts_s: float
    kind: StallKind


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A job of the scenario with its times in seconds."""

    name: str
    id: str
    nodes: tuple[str, ...]
    user: str
    account: str = ""
    queue: str = ""
    scheduler: str = "slurm"
    # Of a job in Kubernetes, a pod on each node; empty for a batch job.
    namespace: str = ""
    command: str = "python3"
    at_s: float = 0.0
    lasts_s: float | None = None
    loading_s: float = 0.0
    warm_up_s: float = 60.0
    step_s: float = 8.0
    load: float = 0.92
    memory: float = 0.82
    checkpoint_every_s: float = 600.0
    checkpoint_lasts_s: float = 20.0
    stalls: tuple[Stall, ...] = ()


class Load(msgspec.Struct, frozen=True):
    """The load of a job on its devices now: shares of 1, and their integrals in seconds."""

    # Busy ratio as a driver would report it.
    busy: float = 0.0
    # Share of the arithmetic that is used.
    work: float = 0.0
    # `work` without the wave of the steps; what heats the device.
    mean: float = 0.0
    memory: float = 0.0
    busy_s: float = 0.0
    work_s: float = 0.0


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """Where a job is."""

    phase: Phase
    step: int = 0
    # Number of the last complete checkpoint; 0 before the first.
    checkpoint: int = 0


IDLE = Load()


def _own_time(job: Job, since_s: float) -> tuple[float, Stall | None, float, float]:
    """Job time without stalls, the stall of now, and stalled seconds by input and collective."""
    now: Stall | None = None
    waited = {StallKind.INPUT: 0.0, StallKind.COLLECTIVE: 0.0}
    for stall in job.stalls:
        waited[stall.kind] += min(max(since_s - stall.at_s, 0.0), stall.lasts_s)
        if stall.at_s <= since_s < stall.at_s + stall.lasts_s:
            now = stall
    idle_s, spun_s = waited[StallKind.INPUT], waited[StallKind.COLLECTIVE]
    return since_s - idle_s - spun_s, now, idle_s, spun_s


def _checkpointed(job: Job, running_s: float) -> tuple[float, int, bool]:
    """Seconds spent in checkpoints, complete checkpoints, and whether one is being written.

    The first begins after one whole interval; each interval starts with steps and ends with writing.
    """
    if not job.checkpoint_every_s:
        return 0.0, 0, False
    cycle = job.checkpoint_every_s + job.checkpoint_lasts_s
    completed = math.floor(running_s / cycle)
    remaining_s = running_s - completed * cycle
    writing = remaining_s >= job.checkpoint_every_s
    spent = completed * job.checkpoint_lasts_s + max(0.0, remaining_s - job.checkpoint_every_s)
    return spent, completed, writing


def _elapsed_s(job: Job, time_s: float) -> float:
    since = time_s - job.at_s
    return since if job.lasts_s is None else min(since, job.lasts_s)


def load(job: Job, time_s: float) -> Load:
    """The load `time_s` seconds into the scenario; `busy_s` and `work_s` never fall."""
    since = _elapsed_s(job, time_s)
    if since < 0:
        return IDLE
    own, stall, _, spun = _own_time(job, since)
    warm = min(max(0.0, own - job.loading_s), job.warm_up_s)
    running = max(0.0, own - job.loading_s - job.warm_up_s)
    writing_s, _, writing = _checkpointed(job, running)
    work_s = WARM_UP_LOAD * warm + CHECKPOINT_LOAD * writing_s + job.load * (running - writing_s)
    busy_s = work_s + spun
    if job.lasts_s is not None and time_s >= job.at_s + job.lasts_s:
        return Load(busy_s=busy_s, work_s=work_s)
    if stall is not None:
        spins = stall.kind is StallKind.COLLECTIVE
        return Load(1.0 if spins else 0.0, 0.0, 0.0, job.memory, busy_s, work_s)
    if own < job.loading_s:
        return Load(0.0, 0.0, 0.0, 0.2 * job.memory, busy_s, work_s)
    if own < job.loading_s + job.warm_up_s:
        grown = job.memory * (0.2 + 0.8 * warm / job.warm_up_s)
        return Load(WARM_UP_LOAD, WARM_UP_LOAD, WARM_UP_LOAD, grown, busy_s, work_s)
    if writing:
        low = CHECKPOINT_LOAD
        return Load(low, low, low, job.memory, busy_s, work_s)
    wave = _WAVE * math.sin(2 * math.pi * running / job.step_s)
    return Load(
        min(1.0, job.load + wave / 4),
        min(1.0, max(0.0, job.load + wave)),
        job.load,
        job.memory,
        busy_s,
        work_s,
    )


def overlap(first: Job, second: Job) -> bool:
    """Whether there is a moment at which both hold their nodes."""
    end_times = (
        math.inf if job.lasts_s is None else job.at_s + job.lasts_s for job in (first, second)
    )
    return max(first.at_s, second.at_s) < min(end_times)


def together(loads: list[Load]) -> Load:
    """The load of jobs that a node has in turn: that of the one that runs, and what all have done."""
    if len(loads) == 1:
        return loads[0]
    now = next((load for load in loads if load.memory), IDLE)
    return msgspec.structs.replace(
        now,
        busy_s=sum(load.busy_s for load in loads),
        work_s=sum(load.work_s for load in loads),
    )


def progress(job: Job, time_s: float) -> Progress:
    """Phase, step number and number of the last checkpoint."""
    since = _elapsed_s(job, time_s)
    if since < 0:
        return Progress(phase=Phase.WAITING)
    own, stall, _, _ = _own_time(job, since)
    running = max(0.0, own - job.loading_s - job.warm_up_s)
    writing_s, complete, writing = _checkpointed(job, running)
    step = int((running - writing_s) / job.step_s)
    if job.lasts_s is not None and time_s >= job.at_s + job.lasts_s:
        phase = Phase.FINISHED
    elif stall is not None:
        phase = Phase.STALL
    elif own < job.loading_s:
        phase = Phase.LOADING
    elif own < job.loading_s + job.warm_up_s:
        phase = Phase.WARM_UP
    else:
        phase = Phase.CHECKPOINT if writing else Phase.STEPS
    return Progress(phase=phase, step=step, checkpoint=complete)
