"""When a job may be restarted without a person: not too often or too soon, never the same again. Pure.

A job that dies of its own fault dies anywhere, so a resume that differs from the last one in nothing, or
after two deaths at one step with no fault of a device, is left to people.
"""

import zlib

from accelwatch.remediation.policy.guards.denial import PERMIT, Answer, Denial, DenialKind
from accelwatch.remediation.policy.guards.limits.pace import free_at, within
from accelwatch.remediation.policy.guards.retry.job_history import (
    Death,
    JobHistory,
    RetryState,
    Try,
    differs,
    has_cleared,
)
from accelwatch.remediation.settings import Resume

# By how much of a delay a resume may be sooner or later, so that jobs that died together do not begin
# together.
SPREAD = 0.2


def may_resume(state: RetryState, job: str, tried: Try, now: float, limits: Resume) -> Answer:
    """Whether a job may restart now, with these nodes and that checkpoint."""
    history = state.jobs.get(job, JobHistory())
    own_fault = _own_fault(history, limits)
    if own_fault:
        return _denial(
            f"{own_fault}; code, data or checkpoint are suspect, and a person has to look"
        )
    if history.deaths and history.deaths[-1].declined:
        return _denial(f"{history.deaths[-1].declined}; a person has to look")
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
        if again and not has_cleared(tried, death.tried):
            return "a fault of a device ended it, and it would run on the same nodes again"
    if history.latest is not None and not differs(tried, history.latest):
        return "it would be started with the same nodes and the same checkpoint as the last time"
    for earlier_death in history.deaths:
        if earlier_death.tried.checkpoint and not (
            earlier_death.device_fault or differs(tried, earlier_death.tried)
        ):
            return "it has died before with the same nodes and the same checkpoint"
    return ""


def _ready_at(job: str, history: JobHistory, limits: Resume) -> float:
    if not history.deaths:
        return 0.0
    delays, died_at = limits.delays_s, history.deaths[-1].at
    waits = delays[min(history.in_a_row, len(delays) - 1)]
    # Of the job and its death alone: another evaluation, or another engine, gets the same.
    share = zlib.crc32(f"{job} {died_at:.3f}".encode()) / 2**32
    return died_at + waits * (1.0 + SPREAD * (2.0 * share - 1.0))


def _denial(text: str, until: float | None = None) -> Denial:
    return Denial(why=DenialKind.RETRY, text=text, until=until)
