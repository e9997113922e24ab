"""How long something must hold before it counts: one rule on one entity, over time. Pure.

A rule fires on True only and clears on False only. Unknown moves nothing: what has held so far is kept
as it is, and after a while of it, in one or many pieces, people are notified that the rule cannot see.
"""

from enum import StrEnum

import msgspec

from accelwatch.expr.vocabulary.kleene import UNKNOWN, Truth

# Rules are evaluated once a second: a gap that is shorter than two of these says nothing.
LEAST_SILENCE_S = 2.0


def silence_s(interval_s: float) -> float:
    """How old the last sample of a source may be that anything rests on: two of its intervals."""
    return max(LEAST_SILENCE_S, 2.0 * interval_s)


class Phase(StrEnum):
    """The phase of a rule on an entity; an inactive rule has no state."""

    # The condition holds, not yet for long enough or not yet confirmed.
    PENDING = "pending"
    FIRING = "firing"
    # It no longer holds, not yet for long enough.
    CLEARING = "clearing"


class Transition(StrEnum):
    """What a tick brought that others must know."""

    FIRED = "fired"
    CLEARED = "cleared"
    # Frozen for longer than `unknown_after`: not known.
    BLIND = "blind"
    # No longer frozen, after `blind`; `fired` and `cleared` say that too.
    SEEING = "seeing"


class Timing(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds that a condition must hold (`for`), stay away (`keep`), and may be unknown."""

    for_s: float = 0.0
    keep_s: float = 120.0
    unknown_after_s: float = 600.0


class Truths(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What the parts of a rule say now; a rule without `confirm` is confirmed, one without `clear`
    clears when its condition does not hold."""

    when: Truth
    confirm: Truth = True
    clear: Truth | None = None

    @property
    def over(self) -> Truth:
        """Whether it is over. A `clear` that holds beside its own condition would only flap."""
        if self.when is True:
            return False
        if self.clear is not None:
            return self.clear
        return UNKNOWN if self.when is UNKNOWN else True


class AlertState(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An active rule on an entity."""

    phase: Phase
    # When the condition began to hold, on the clock of `now`.
    since: float
    # How long it has held, or has been over, in this phase; Unknown does not count.
    phase_s: float = 0.0
    # For how long nothing was known, since it was last known for long enough.
    unknown_s: float = 0.0
    # How long it has been known again since then, without a break.
    recovered_s: float = 0.0
    # At how many ticks until now, one after another, nothing was known.
    missed: int = 0
    # The tick before.
    last: float = 0.0


def advance(
    state: AlertState | None, truths: Truths, now: float, timing: Timing
) -> tuple[AlertState | None, Transition | None]:
    """The state after a tick at `now` (seconds, growing), and what others must know of it.

    The later tick's truth holds for all the time between two ticks.
    """
    if state is None:
        if truths.when is not True:
            return None, None
        state = AlertState(phase=Phase.PENDING, since=now, last=now)
    # Never negative, whatever clock a caller replays.
    elapsed_s = max(0.0, now - state.last)
    decisive = truths.when if state.phase is Phase.PENDING else truths.over
    if decisive is UNKNOWN:
        return _frozen(state, elapsed_s, now, timing)
    # What was unknown for long did not surely hold since the tick before, so that time is not counted.
    # After a single gap it is, as after a known tick: else data at every other tick never add up.
    counted_s = elapsed_s if state.missed <= 1 else 0.0
    after, transition = _STEPS[state.phase](state, truths, counted_s, now, timing)
    if not state.unknown_s:
        return after, transition
    recovered_s = state.recovered_s + counted_s
    if after is not None and after.phase is state.phase and recovered_s < _enough_s(state, timing):
        # Where most ticks are missing nothing ever holds for long enough: unknown adds up.
        return msgspec.structs.replace(
            after, unknown_s=state.unknown_s, recovered_s=recovered_s
        ), None
    seeing = Transition.SEEING if state.unknown_s > timing.unknown_after_s else None
    return after, transition or seeing


def _enough_s(state: AlertState, timing: Timing) -> float:
    """How long it must be known without a break until nothing is in doubt any more."""
    if state.phase is Phase.FIRING:
        return 0.0
    wait_s = timing.for_s if state.phase is Phase.PENDING else timing.keep_s
    return min(wait_s, timing.unknown_after_s)


def _frozen(
    state: AlertState, elapsed_s: float, now: float, timing: Timing
) -> tuple[AlertState, Transition | None]:
    unknown_s = state.unknown_s + elapsed_s
    passed = state.unknown_s <= timing.unknown_after_s < unknown_s
    after = msgspec.structs.replace(
        state, unknown_s=unknown_s, recovered_s=0.0, missed=state.missed + 1, last=now
    )
    return after, Transition.BLIND if passed else None


def _pending(
    state: AlertState, truths: Truths, counted_s: float, now: float, timing: Timing
) -> tuple[AlertState | None, Transition | None]:
    if truths.when is not True:
        return None, None
    phase_s = state.phase_s + counted_s
    # `confirm` is evaluated at the end only: a rule may fire late because of it, never early.
    if phase_s >= timing.for_s and truths.confirm is True:
        return AlertState(phase=Phase.FIRING, since=state.since, last=now), Transition.FIRED
    return AlertState(phase=Phase.PENDING, since=state.since, phase_s=phase_s, last=now), None


def _firing(
    state: AlertState, truths: Truths, _counted_s: float, now: float, timing: Timing
) -> tuple[AlertState | None, Transition | None]:
    if truths.over is not True:
        return AlertState(phase=Phase.FIRING, since=state.since, last=now), None
    # Without `keep` there is no CLEARING: a state for zero seconds would still last a tick.
    if timing.keep_s <= 0:
        return None, Transition.CLEARED
    return AlertState(phase=Phase.CLEARING, since=state.since, last=now), None


def _clearing(
    state: AlertState, truths: Truths, counted_s: float, now: float, timing: Timing
) -> tuple[AlertState | None, Transition | None]:
    if truths.over is not True:
        return AlertState(phase=Phase.FIRING, since=state.since, last=now), None
    phase_s = state.phase_s + counted_s
    if phase_s >= timing.keep_s:
        return None, Transition.CLEARED
    return AlertState(phase=Phase.CLEARING, since=state.since, phase_s=phase_s, last=now), None


# PENDING -> FIRING -> CLEARING -> no state; CLEARING goes back to FIRING when the condition holds
# again. PENDING loses its state as soon as the condition does not hold.
_STEPS = {Phase.PENDING: _pending, Phase.FIRING: _firing, Phase.CLEARING: _clearing}
