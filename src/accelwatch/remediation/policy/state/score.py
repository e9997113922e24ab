"""How often a device, a slot and a node have failed lately: a sum that halves in seven days. Pure.

The score follows the serial, so a board that is swapped keeps its record; the slot keeps its own,
so a bad slot shows as one board after another that fails in it.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType

import msgspec

HALF_LIFE_S = 7 * 86_400.0
LONG_VERIFY = 2.0
SERVICE = 3.0
# A score below that is forgotten.
_NOTHING = 0.01


class Failing(StrEnum):
    """In which way something failed."""

    # A job died of a passing fault, and was restarted on the same nodes.
    APP = "app"
    RESET = "reset"
    REBOOT = "reboot"
    # Again, after it was released.
    RELAPSE = "relapse"


WEIGHTS: Mapping[Failing, float] = MappingProxyType(
    {
        Failing.APP: 0.2,
        Failing.RESET: 1.0,
        Failing.REBOOT: 1.5,
        Failing.RELAPSE: 3.0,
    }
)


class Verdict(StrEnum):
    """What a score calls for."""

    USUAL = "usual"
    # Longer verification before it is released.
    LONG_VERIFY = "long_verify"
    # Only a repair helps.
    SERVICE = "service"


class Level(msgspec.Struct, frozen=True):
    """A score as it was at a moment; it halves from there on."""

    value: float
    # Unix seconds.
    at: float


class ScoreState(msgspec.Struct, frozen=True, kw_only=True):
    """The scores, by what they are of."""

    levels: Mapping[str, Level] = {}


def added(state: ScoreState, keys: Iterable[str], failing: Failing, now: float) -> ScoreState:
    """One more failure. A moment before the latest one counts as that one."""
    levels = dict(state.levels)
    for key in keys:
        at = max(now, levels[key].at) if key in levels else now
        levels[key] = Level(score(state, key, at) + WEIGHTS[failing], at)
    return ScoreState(levels=levels)


def score(state: ScoreState, key: str, now: float) -> float:
    """The score of one of the keys by now; 0 for one that never failed."""
    level = state.levels.get(key)
    if level is None:
        return 0.0
    return float(level.value * 2.0 ** (-max(now - level.at, 0.0) / HALF_LIFE_S))


def worst(state: ScoreState, keys: Iterable[str], now: float) -> float:
    """The highest score of several keys."""
    return max((score(state, key, now) for key in keys), default=0.0)


def verdict(state: ScoreState, keys: Iterable[str], now: float) -> Verdict:
    """What the highest of the scores calls for."""
    highest = worst(state, keys, now)
    # Sums of weights such as 0.2 + 0.2 must not miss a bound by their last digit.
    if highest >= SERVICE - 1e-9:
        return Verdict.SERVICE
    return Verdict.LONG_VERIFY if highest >= LONG_VERIFY - 1e-9 else Verdict.USUAL


def tidied(state: ScoreState, now: float) -> ScoreState:
    """Without scores that are as good as nothing, so that the state does not grow for ever."""
    kept = {key: level for key, level in state.levels.items() if score(state, key, now) >= _NOTHING}
    return ScoreState(levels=kept)
