"""What an event of a job makes of its history: a death, a resume, a run that went well. Pure."""

import msgspec

from accelwatch.remediation.policy.guards.limits.pace import within
from accelwatch.remediation.policy.guards.retry.job_history import (
    Blame,
    Death,
    JobHistory,
    RetryState,
    Run,
    Try,
    is_of,
)
from accelwatch.remediation.settings import Resume

# Deaths of a job that are kept, the newest.
MOST_DEATHS = 8
# Moments of submission of a job that are kept, the newest.
MOST_SUBMISSIONS = 16


def without_reused_id(state: RetryState, job: str, submitted: float) -> RetryState:
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
    """The latest resume of a job did not start after all: it counts no more."""
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


def fault_attributed(state: RetryState, job: str, what: tuple[Blame, ...]) -> RetryState:
    """Evidence has come that a device or node is what the job died of."""
    history = state.jobs[job]
    last = msgspec.structs.replace(history.deaths[-1], device_fault=True, blamed=what)
    return _with(state, job, msgspec.structs.replace(history, deaths=(*history.deaths[:-1], last)))


def fault_cleared(state: RetryState, job: str, what: tuple[Blame, ...]) -> RetryState:
    """A job is restarted on the same nodes, because what spoke against them has passed."""
    history = state.jobs[job]
    every = tuple(dict.fromkeys((*history.passed, *what)))[-MOST_DEATHS:]
    return _with(state, job, msgspec.structs.replace(history, passed=every))


def watched(state: RetryState, job: str, run: Run | None) -> RetryState:
    """A job is looked after, or not any more."""
    history = state.jobs.get(job, JobHistory())
    return _with(state, job, msgspec.structs.replace(history, run=run))


def started_with(state: RetryState, job: str, tried: Try) -> RetryState:
    """With what a job uses since its restart, as observed."""
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


def _with(state: RetryState, job: str, history: JobHistory) -> RetryState:
    return RetryState(jobs={**state.jobs, job: history})
