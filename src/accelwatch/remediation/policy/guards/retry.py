"""When a job may be begun again without a person: not too often or too soon, never the same again. Pure.

A job that dies of its own fault dies anywhere, so a resume that differs from the last one in nothing, or
after two deaths at one step with no fault of a device, is left to people.
"""

import zlib
from collections.abc import Mapping

import msgspec

from accelwatch.action.intent import Intent
from accelwatch.action.observed import JobObservation
from accelwatch.remediation.policy.guards.denial import PERMIT, Answer, Denial, DenialKind
from accelwatch.remediation.policy.guards.limits.pace import free_at, within
from accelwatch.remediation.settings import Resume

# By how much of a delay a resume may be sooner or later, so that jobs that died together do not begin
# together.
SPREAD = 0.2
# Deaths of a job that are kept, the newest.
MOST_DEATHS = 8
# Moments of submission of a job that are kept, the newest.
MOST_SUBMISSIONS = 16


class Try(msgspec.Struct, frozen=True, kw_only=True):
    """With what a job is begun: what makes one resume another than the last."""

    # In any order.
    nodes: tuple[str, ...]
    # Name or step of the checkpoint that it begins from; empty where that is not known.
    checkpoint: str = ""
    # What has passed since, such as the id of a storm's incident.
    cleared: str = ""


class Blame(msgspec.Struct, frozen=True):
    """What spoke against a node when a job died on it."""

    # Empty: the node did not answer.
    rule: str
    # The scheduler's name of the node.
    target: str
    # The hub's name.
    node: str = ""
    serial: str = ""


class Death(msgspec.Struct, frozen=True, kw_only=True):
    """A run that ended before it should."""

    # Unix seconds.
    at: float
    # Training step that it had reached, where that is known.
    step: int | None = None
    # Its newest checkpoint then, where one is known.
    newest: str = ""
    # Whether a fault of a device or node speaks for itself.
    device_fault: bool = False
    # What spoke against its nodes.
    blamed: tuple[Blame, ...] = ()
    # With what it ran.
    tried: Try


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """A job that was begun again, as long as it is watched."""

    # The hub's name of the node that it was moved off.
    node: str
    # By which it was begun again.
    moved: Intent
    # Unix seconds at which it was seen to run again, or at which it died.
    since: float
    # As it was seen last.
    seen: JobObservation
    # Whether it has died and waits to be begun again.
    dead: bool = False
    # The incident of many nodes for whose end it waits.
    group: str = ""


class JobHistory(msgspec.Struct, frozen=True, kw_only=True):
    """What has happened to one job so far."""

    # Unix seconds of each moment at which it was seen to be submitted: Slurm sets that anew with each
    # requeue. A job of the same id with another one is another job. Empty where none was seen.
    submitted: tuple[float, ...] = ()

    # Unix seconds of the resumes without a person, as long as they count.
    resumed: tuple[float, ...] = ()
    # Resumes since it last ran well for long.
    in_a_row: int = 0
    # The latest resume; None before the first.
    latest: Try | None = None
    deaths: tuple[Death, ...] = ()
    # What had passed when it was begun again on the same nodes: that is done once.
    passed: tuple[Blame, ...] = ()
    # None: nobody looks after it.
    run: Run | None = None


class RetryState(msgspec.Struct, frozen=True, kw_only=True):
    """The histories of all jobs that something happened to, by cluster and id."""

    jobs: Mapping[str, JobHistory] = {}


def is_of(history: JobHistory, submitted: float) -> bool:
    """Whether a history is of the job that was submitted then (0: nobody knows), not of one before it.

    While a job is watched, its id is not given again: its scheduler has begun it anew.
    """
    recorded = history.submitted
    return not (recorded and submitted) or submitted in recorded or history.run is not None


def only_of(state: RetryState, job: str, submitted: float) -> RetryState:
    """The histories, without that of an earlier job whose id was given again."""
    history = state.jobs.get(job)
    return state if history is None or is_of(history, submitted) else forgotten(state, job)


def submitted_at(state: RetryState, job: str, submitted: float) -> RetryState:
    """A job that has a history was seen to be submitted then."""
    history = state.jobs.get(job)
    if history is None or not submitted or submitted in history.submitted:
        return state
    every = (*history.submitted, submitted)[-MOST_SUBMISSIONS:]
    return _with(state, job, msgspec.structs.replace(history, submitted=every))


def died(state: RetryState, job: str, death: Death, ran_s: float, limits: Resume) -> RetryState:
    """A run has ended before it should, after `ran_s` seconds of work."""
    history = state.jobs.get(job, JobHistory())
    in_a_row = 0 if ran_s >= limits.productive_s else history.in_a_row
    deaths = (*history.deaths, death)[-MOST_DEATHS:]
    changed = msgspec.structs.replace(history, deaths=deaths, in_a_row=in_a_row)
    return _with(state, job, changed)


def may_resume(state: RetryState, job: str, tried: Try, now: float, limits: Resume) -> Answer:
    """Whether a job may be begun again now, with these nodes and that checkpoint."""
    history = state.jobs.get(job, JobHistory())
    own_fault = _own_fault(history, limits)
    if own_fault:
        return _denial(
            f"{own_fault}; code, data or checkpoint are suspect, and a person has to look"
        )
    if limits.most == 0:
        return _denial("jobs are not resumed without a person here (remedy.resume.most is 0)")
    free = free_at(history.resumed, now, limits.most, limits.within_s)
    if free > now:
        count = len(within(history.resumed, now, limits.within_s))
        return _denial(f"it was resumed {count} times within {limits.within_s / 3600:g} h", free)
    same = _same_again(history, tried)
    if same:
        return _denial(same)
    ready = _ready_at(job, history, limits)
    if ready > now:
        return _denial("the last end was just now; the next resume waits a little longer", ready)
    return PERMIT


def resumed(state: RetryState, job: str, tried: Try, now: float, limits: Resume) -> RetryState:
    """The job is restarted: it counts from the decision on."""
    history = state.jobs.get(job, JobHistory())
    changed = msgspec.structs.replace(
        history,
        resumed=(*within(history.resumed, now, limits.within_s), now),
        in_a_row=history.in_a_row + 1,
        latest=tried,
    )
    return _with(state, job, changed)


def not_resumed(state: RetryState, job: str) -> RetryState:
    """The latest resume of a job was not begun after all: it counts no more."""
    history = state.jobs.get(job)
    if history is None or not history.resumed:
        return state
    changed = msgspec.structs.replace(
        history,
        resumed=history.resumed[:-1],
        in_a_row=max(history.in_a_row - 1, 0),
        latest=None,
    )
    empty = not (changed.resumed or changed.deaths or changed.run)
    return forgotten(state, job) if empty else _with(state, job, changed)


def blamed(state: RetryState, job: str, what: tuple[Blame, ...]) -> RetryState:
    """Evidence has come that a device or node is what the job died of."""
    history = state.jobs[job]
    last = msgspec.structs.replace(history.deaths[-1], device_fault=True, blamed=what)
    return _with(state, job, msgspec.structs.replace(history, deaths=(*history.deaths[:-1], last)))


def passed(state: RetryState, job: str, what: tuple[Blame, ...]) -> RetryState:
    """A job is restarted on the same nodes, because what spoke against them has passed."""
    history = state.jobs[job]
    every = tuple(dict.fromkeys((*history.passed, *what)))[-MOST_DEATHS:]
    return _with(state, job, msgspec.structs.replace(history, passed=every))


def watched(state: RetryState, job: str, run: Run | None) -> RetryState:
    """A job is looked after, or not any more."""
    history = state.jobs.get(job, JobHistory())
    return _with(state, job, msgspec.structs.replace(history, run=run))


def started_with(state: RetryState, job: str, tried: Try) -> RetryState:
    """With what a job runs since it was begun again, as it is seen."""
    history = state.jobs.get(job, JobHistory())
    return _with(state, job, msgspec.structs.replace(history, latest=tried))


def ran_well(state: RetryState, job: str) -> RetryState:
    """A job has run for long enough, or has ended as it should: what was before is over."""
    history = state.jobs.get(job, JobHistory())
    return _with(state, job, msgspec.structs.replace(history, in_a_row=0, run=None))


def tidied(state: RetryState, now: float, limits: Resume) -> RetryState:
    """Without the jobs of which nothing counts any more."""
    kept = {
        job: history
        for job, history in state.jobs.items()
        if history.run is not None
        or within(history.resumed, now, limits.within_s)
        or within([death.at for death in history.deaths], now, limits.within_s)
    }
    return state if len(kept) == len(state.jobs) else RetryState(jobs=kept)


def forgotten(state: RetryState, job: str) -> RetryState:
    """A job that is over for good."""
    return RetryState(jobs={key: history for key, history in state.jobs.items() if key != job})


def _own_fault(history: JobHistory, limits: Resume) -> str:
    latest = history.deaths[-limits.same_step :]
    positions = {_position(death) for death in latest}
    if len(latest) < limits.same_step or len(positions) > 1 or "" in positions:
        return ""
    if any(death.device_fault for death in latest):
        return ""
    return f"it ended {len(latest)} times at {positions.pop()} without a fault of a device"


def _position(death: Death) -> str:
    """How far it had come: by its step, else by its newest checkpoint; empty where nobody knows."""
    if death.step is not None:
        return f"step {death.step}"
    return f"checkpoint {death.newest}" if death.newest else ""


def _same_again(history: JobHistory, tried: Try) -> str:
    death = history.deaths[-1] if history.deaths else None
    if death is not None and death.device_fault:
        again = set(tried.nodes) == set(death.tried.nodes)
        if again and not _cleared(tried, death.tried):
            return "a fault of a device ended it, and it would run on the same nodes again"
    if history.latest is not None and not differs(tried, history.latest):
        return "it would be started with the same nodes and the same checkpoint as the last time"
    for earlier_death in history.deaths:
        if earlier_death.tried.checkpoint and not (
            earlier_death.device_fault or differs(tried, earlier_death.tried)
        ):
            return "it has died before with the same nodes and the same checkpoint"
    return ""


def differs(tried: Try, other: Try) -> bool:
    """Whether one is begun with something else than the other."""
    if set(tried.nodes) != set(other.nodes):
        return True
    comparable = bool(tried.checkpoint and other.checkpoint)
    return _cleared(tried, other) or (comparable and tried.checkpoint != other.checkpoint)


def _cleared(tried: Try, other: Try) -> bool:
    return bool(tried.cleared) and tried.cleared != other.cleared


def _ready_at(job: str, history: JobHistory, limits: Resume) -> float:
    if not history.deaths:
        return 0.0
    delays, died_at = limits.delays_s, history.deaths[-1].at
    waits = delays[min(history.in_a_row, len(delays) - 1)]
    # Of the job and its death alone: asked again, or by another engine, it is the same.
    share = zlib.crc32(f"{job} {died_at:.3f}".encode()) / 2**32
    return died_at + waits * (1.0 + SPREAD * (2.0 * share - 1.0))


def _denial(text: str, until: float | None = None) -> Denial:
    return Denial(why=DenialKind.RETRY, text=text, until=until)


def _with(state: RetryState, job: str, history: JobHistory) -> RetryState:
    return RetryState(jobs={**state.jobs, job: history})
