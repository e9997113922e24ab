"""How many remedies may run at once, and how often one is tried; how fast nodes are given back. Pure.

An attempt counts from the moment it is decided: one that was interrupted was one all the same.
"""

from collections.abc import Mapping

import msgspec

from accelwatch.remediation.policy.guards.denial import PERMIT, Answer, Denial, DenialKind
from accelwatch.remediation.policy.guards.failure_domains import FailureDomain
from accelwatch.remediation.policy.guards.limits.pace import (
    HOUR_S,
    MINUTE_S,
    WEEK_S,
    free_at,
    within,
)
from accelwatch.remediation.settings import Budget


class Running(msgspec.Struct, frozen=True, kw_only=True):
    """A remedy that has started and not ended."""

    incident: str
    # What must not have another remedy meanwhile: the node's domains, or its pools if it has none.
    beside: tuple[str, ...]


class AttemptState(msgspec.Struct, frozen=True, kw_only=True):
    """What was tried."""

    # By node.
    running: Mapping[str, Running] = {}
    # How often, by incident.
    tried: Mapping[str, int] = {}
    # Unix seconds of the remedies of each node in the last seven days.
    of_node: Mapping[str, tuple[float, ...]] = {}
    # Unix seconds at which nodes were given back in the last minute.
    released: tuple[float, ...] = ()
    # Unix seconds at which jobs were cancelled in the last hour.
    cancelled: tuple[float, ...] = ()


def may_start(
    state: AttemptState, location: FailureDomain, incident: str, now: float, budget: Budget
) -> Answer:
    """Whether a remedy may start on a node now."""
    running = state.running.get(location.node)
    # Two remedies on one node would undo each other, whatever incidents they are for.
    if running is not None:
        text = f"a remedy for {running.incident} runs on {location.node}"
        return Denial(why=DenialKind.REMEDY_RUNNING, text=text)
    # Nodes of one domain may have one cause: a reboot of each at the same time would hide it.
    for domain in _beside(location):
        others = [node for node, remedy in state.running.items() if domain in remedy.beside]
        if len(others) >= budget.remedies_at_once:
            text = f"a remedy runs on {', '.join(others)}, which is in {domain} too"
            return Denial(why=DenialKind.REMEDY_RUNNING, text=text)
    # By incident and by node: a node that fails every week has a new incident each time.
    tried = state.tried.get(incident, 0)
    if tried >= budget.attempts:
        text = f"{tried} remedies were tried for {incident}, and {budget.attempts} may be"
        return Denial(why=DenialKind.ATTEMPTS, text=f"{text}; a person has to check it")
    times = state.of_node.get(location.node, ())
    free = free_at(times, now, budget.remedies_per_week, WEEK_S)
    if free > now:
        text = f"{len(within(times, now, WEEK_S))} remedies were tried on {location.node} in seven days"
        return Denial(why=DenialKind.TOO_MANY_REMEDIES, text=text, until=free)
    return PERMIT


def start(
    state: AttemptState, location: FailureDomain, incident: str, now: float, budget: Budget
) -> tuple[AttemptState, Answer]:
    """Begin a remedy, if it may be; else the same state, and why not."""
    answer = may_start(state, location, incident, now, budget)
    if isinstance(answer, Denial):
        return state, answer
    times = (*within(state.of_node.get(location.node, ()), now, WEEK_S), now)
    started = msgspec.structs.replace(
        state,
        running={
            **state.running,
            location.node: Running(incident=incident, beside=_beside(location)),
        },
        tried={**state.tried, incident: state.tried.get(incident, 0) + 1},
        of_node={**state.of_node, location.node: times},
    )
    return started, PERMIT


def finish(state: AttemptState, node: str) -> AttemptState:
    """The remedy of a node has ended, however it did."""
    if node not in state.running:
        return state
    running = {name: remedy for name, remedy in state.running.items() if name != node}
    return msgspec.structs.replace(state, running=running)


def forgotten(state: AttemptState, incident: str) -> AttemptState:
    """An incident is over: its attempts count no more. Those of the node do."""
    tried = {id_: count for id_, count in state.tried.items() if id_ != incident}
    return msgspec.structs.replace(state, tried=tried)


def tidied(state: AttemptState, now: float) -> AttemptState:
    """Without what counts no more, so that the state does not grow for ever."""
    recent = {node: within(times, now, WEEK_S) for node, times in state.of_node.items()}
    kept = {node: times for node, times in recent.items() if times}
    return msgspec.structs.replace(state, of_node=kept)


def release(state: AttemptState, now: float, budget: Budget) -> tuple[AttemptState, Answer]:
    """Give one node back, if not too many were just now; else the same state, and when."""
    free = free_at(state.released, now, budget.releases_per_minute, MINUTE_S)
    if free > now:
        text = (
            f"{budget.releases_per_minute} nodes were given back within a minute; this one follows"
        )
        return state, Denial(why=DenialKind.RELEASE_RATE, text=text, until=free)
    times = (*within(state.released, now, MINUTE_S), now)
    return msgspec.structs.replace(state, released=times), PERMIT


def cancel(state: AttemptState, now: float, budget: Budget) -> tuple[AttemptState, Answer]:
    """Cancel one job, if not too many were just now; else the same state, and when."""
    free = free_at(state.cancelled, now, budget.cancels_per_hour, HOUR_S)
    if free > now:
        text = f"{budget.cancels_per_hour} jobs were cancelled within an hour; this one follows"
        return state, Denial(why=DenialKind.CANCEL_RATE, text=text, until=free)
    times = (*within(state.cancelled, now, HOUR_S), now)
    return msgspec.structs.replace(state, cancelled=times), PERMIT


def _beside(location: FailureDomain) -> tuple[str, ...]:
    return location.domains or tuple(f"pool={pool}" for pool in location.all_pools)
