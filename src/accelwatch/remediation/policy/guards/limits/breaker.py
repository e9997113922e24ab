"""The breaker: when more goes wrong than one broken node explains, nothing new is started. Pure.

It stops new quarantines and remedies only. Running operations finish, own nodes are verified and
released, people are notified. After a while one node is tried; a person can close it at any time.
"""

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from accelwatch.remediation.policy.guards.denial import PERMIT, Answer, Denial, DenialKind
from accelwatch.remediation.policy.guards.limits.pace import HOUR_S, within
from accelwatch.remediation.settings import Breaker


class BreakerStatus(StrEnum):
    """Whether anything new may start."""

    CLOSED = "closed"
    OPEN = "open"
    # One incident is tried.
    HALF_OPEN = "half_open"


class BreakerState(msgspec.Struct, frozen=True, kw_only=True):
    """The breaker, and what it counts."""

    standing: BreakerStatus = BreakerStatus.CLOSED
    # Unix seconds at which it opened, closed or half opened.
    since: float | None = None
    # What opened it, for people.
    why: str = ""
    # Unix seconds at which there was first no budget for an incident, by incident.
    breaches: Mapping[str, float] = {}
    failures: tuple[float, ...] = ()
    overrides: tuple[float, ...] = ()
    # Ids of the storms that are going on and have opened it; each does so once.
    storms: tuple[str, ...] = ()
    # The incident that is tried while it is half open.
    trial: str = ""


def breached(
    state: BreakerState, incident: str, opened: float, now: float, limits: Breaker
) -> BreakerState:
    """There was no budget for an incident that began at `opened` (Unix seconds).

    Only the first time is news, and one that waited already when the breaker closed or half opened
    is none.
    """
    # CLOSED -> OPEN by too many breaches, failures, overrides or a storm; OPEN -> HALF_OPEN by
    # time; HALF_OPEN -> CLOSED if its trial goes well, else OPEN again. A person may close it at
    # any time.
    is_open = state.standing is BreakerStatus.OPEN
    waited = not is_open and state.since is not None and opened <= state.since
    if incident in state.breaches or waited:
        return state
    counted = msgspec.structs.replace(state, breaches={**state.breaches, incident: now})
    recent = within(tuple(counted.breaches.values()), now, HOUR_S)
    if len(recent) < limits.breaches:
        return _again_open(counted, now, f"there was no budget for {incident} either")
    return _opened(counted, now, f"no budget was left for {len(recent)} incidents")


def failed(state: BreakerState, now: float, limits: Breaker) -> BreakerState:
    """An action has failed, or the scheduler has refused it."""
    times = (*within(state.failures, now, limits.failures_within_s), now)
    counted = msgspec.structs.replace(state, failures=times)
    if len(times) < limits.failures:
        return _again_open(counted, now, "the action that was tried failed")
    text = f"{len(times)} actions failed or were refused within {limits.failures_within_s:g} s"
    return _opened(counted, now, text)


def overridden(state: BreakerState, now: float, limits: Breaker) -> BreakerState:
    """A person has undone what was done."""
    times = (*within(state.overrides, now, limits.overrides_within_s), now)
    counted = msgspec.structs.replace(state, overrides=times)
    if len(times) < limits.overrides:
        return _again_open(counted, now, "a person undid the trial")
    text = f"people undid {len(times)} actions within {limits.overrides_within_s:g} s"
    return _opened(counted, now, text)


def stormed(state: BreakerState, storms: tuple[str, ...], now: float) -> BreakerState:
    """Ids of all storms that are going on; a new one opens the breaker, and none counts twice."""
    new = [id_ for id_ in storms if id_ not in state.storms]
    counted = msgspec.structs.replace(state, storms=storms)
    return _opened(counted, now, f"many nodes at once: {new[0]}") if new else counted


def advanced(state: BreakerState, now: float, limits: Breaker) -> BreakerState:
    """Half open it when its time has come and no storm goes on."""
    # A storm has no end that could be known beforehand: no trial while it lasts.
    if state.standing is not BreakerStatus.OPEN or state.storms:
        return state
    if now < _half_open_at(state, limits):
        return state
    return msgspec.structs.replace(state, standing=BreakerStatus.HALF_OPEN, since=now, trial="")


def may_start(state: BreakerState, incident: str, limits: Breaker) -> Answer:
    """Whether a new quarantine or remedy may start for an incident."""
    if state.standing is BreakerStatus.OPEN:
        text = f"the breaker is open: {state.why}. `accelwatch remedy breaker reset` closes it"
        # No time can be promised while a storm lasts.
        until = None if state.storms else _half_open_at(state, limits)
        return Denial(why=DenialKind.BREAKER, text=text, until=until)
    if state.standing is BreakerStatus.HALF_OPEN and state.trial not in ("", incident):
        text = f"the breaker is half open and {state.trial} is tried first ({state.why})"
        return Denial(why=DenialKind.BREAKER, text=text)
    return PERMIT


def start_trial(state: BreakerState, incident: str) -> BreakerState:
    """A new operation started for an incident; with a half open breaker it is the trial."""
    if state.standing is not BreakerStatus.HALF_OPEN or state.trial:
        return state
    return msgspec.structs.replace(state, trial=incident)


def trial_over(state: BreakerState, incident: str, *, well: bool, now: float) -> BreakerState:
    """What was tried is over: the breaker closes, or opens again. Another incident changes nothing."""
    if state.standing is not BreakerStatus.HALF_OPEN or state.trial != incident:
        return state
    if well:
        return _closed(state, now, "the trial succeeded")
    return _again_open(state, now, f"the trial failed: {incident}")


def reset(state: BreakerState, now: float, actor: str) -> BreakerState:
    """A person closes it. Storms that go on do not open it again."""
    return _closed(state, now, f"closed by {actor}")


def forgotten(state: BreakerState, incident: str) -> BreakerState:
    """An incident is over."""
    if incident not in state.breaches:
        return state
    breaches = {id_: at for id_, at in state.breaches.items() if id_ != incident}
    return msgspec.structs.replace(state, breaches=breaches)


def _half_open_at(state: BreakerState, limits: Breaker) -> float:
    return (state.since or 0.0) + limits.half_open_after_s


def _opened(state: BreakerState, now: float, why: str) -> BreakerState:
    return msgspec.structs.replace(state, standing=BreakerStatus.OPEN, since=now, why=why, trial="")


def _again_open(state: BreakerState, now: float, why: str) -> BreakerState:
    """Half open, one thing that goes wrong is enough."""
    return _opened(state, now, why) if state.standing is BreakerStatus.HALF_OPEN else state


def _closed(state: BreakerState, now: float, why: str) -> BreakerState:
    # All counts start over. Storms stay, because one that has opened the breaker must not open it
    # again.
    return BreakerState(since=now, why=why, storms=state.storms)
