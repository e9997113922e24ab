"""Whether enough is known of the fleet to begin anything new. Pure.

It freezes what is new only. What froze it is remembered until all has been well for a while, so that a
fleet that comes and goes is not acted upon in between.
"""

import math

import msgspec

from accelwatch.remediation.policy.guards.denial import PERMIT, Answer, Denial, DenialKind
from accelwatch.remediation.settings import DataGuard

# Share of the agents that must have reported before the warm-up ends.
LEAST_REPORTING = 0.8


class FleetCoverage(msgspec.Struct, frozen=True, kw_only=True):
    """What is known at a tick."""

    # Unix seconds.
    time: float
    # Seconds that no clock setting moves.
    monotonic: float
    # How much later than it was due the tick began.
    late_s: float
    # Those expected, without nodes that are out of use anyway.
    agents: int
    # Those of them that are silent now.
    silent: int


class DataGuardState(msgspec.Struct, frozen=True, kw_only=True):
    """Observations since the engine started; a restart begins a new warm-up."""

    # Monotonic seconds of the first tick.
    started: float | None = None
    # Whether the warm-up is over.
    is_warmed_up: bool = False
    time: float = 0.0
    # Of the latest tick.
    monotonic: float = 0.0
    # One after another.
    late_ticks: int = 0
    # What freezes new actions; empty when nothing does.
    why: str = ""
    # Monotonic seconds at which that was last so.
    troubled: float = 0.0


def record_tick(
    state: DataGuardState, coverage: FleetCoverage, limits: DataGuard
) -> DataGuardState:
    """The state after one more tick."""
    late_ticks = state.late_ticks + 1 if coverage.late_s > limits.late_s else 0
    why = _trouble(state, coverage, late_ticks, limits)
    troubled = coverage.monotonic if why else state.troubled
    # Data that comes and goes would otherwise thaw and freeze at each tick.
    if not why and state.why and coverage.monotonic - state.troubled < limits.calm_s:
        why = state.why
    started = coverage.monotonic if state.started is None else state.started
    return DataGuardState(
        started=started,
        is_warmed_up=state.is_warmed_up or _is_warmed_up(started, coverage, limits),
        time=coverage.time,
        monotonic=coverage.monotonic,
        late_ticks=late_ticks,
        why=why,
        troubled=troubled,
    )


def may_start(state: DataGuardState) -> Answer:
    """Whether anything new may start."""
    if not state.is_warmed_up:
        text = "the engine has just started and observes until most agents have answered"
        return Denial(why=DenialKind.STARTING, text=text)
    if state.why:
        return Denial(why=DenialKind.DATA, text=f"nothing new is started: {state.why}")
    return PERMIT


def most_silent(agents: int, limits: DataGuard) -> int:
    """How many of so many agents may be silent; one of several always."""
    return _few(limits.silent, agents)


def _trouble(
    state: DataGuardState, coverage: FleetCoverage, late_ticks: int, limits: DataGuard
) -> str:
    if coverage.silent > most_silent(coverage.agents, limits):
        return f"{coverage.silent} of {coverage.agents} agents are silent"
    if state.started is not None:
        # Wall clock against monotonic clock: after a jump the ages of all samples are wrong.
        apart = (coverage.time - state.time) - (coverage.monotonic - state.monotonic)
        if abs(apart) > limits.clock_jump_s:
            return f"the hub's clock has jumped by {apart:+.1f} s"
    if late_ticks >= limits.late_ticks:
        return f"{late_ticks} ticks, one after another, were more than {limits.late_s:g} s late"
    return ""


def _is_warmed_up(started: float, coverage: FleetCoverage, limits: DataGuard) -> bool:
    enough = coverage.silent <= _few(1 - LEAST_REPORTING, coverage.agents)
    return enough and coverage.monotonic - started >= limits.startup_grace_s


def _few(share: float, agents: int) -> int:
    # One silent agent is what remediation is for; all of them silent is always a fault of the hub.
    return min(max(1, math.floor(share * agents + 1e-9)), max(agents - 1, 0))
