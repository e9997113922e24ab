"""Which spare is drawn for a node, and which are due for a test. Pure.

A spare is reserved before anything is changed at the scheduler. It is drawn only when it is alike, has
passed its test not long ago and can be used now; nearest first, then the one that has failed least.
"""

import math
from collections.abc import Mapping

import msgspec

from accelwatch.remediation.policy.guards.denial import Denial, DenialKind
from accelwatch.remediation.policy.state.spares.model import Spare, SpareState, SpareStatus
from accelwatch.remediation.policy.state.spares.spare_transitions import with_spare
from accelwatch.remediation.settings import SpareSettings

RETRY_S = 3600.0
_IDLE = frozenset({SpareStatus.READY, SpareStatus.FAILED})


class SpareRequest(msgspec.Struct, frozen=True, kw_only=True):
    """For whom a spare is drawn."""

    incident: str
    node: str
    labels: Mapping[str, str] = {}


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a spare besides its standing."""

    labels: Mapping[str, str] = {}
    # How often it has failed lately.
    score: float = 0.0
    # Whether it is there, healthy, and nobody else holds it.
    usable: bool = True
    # Why it is not usable; it continues the name of the spare.
    why: str = "cannot be used now"


class Drawn(msgspec.Struct, frozen=True, kw_only=True, tag="drawn"):
    """The spare that stands in."""

    name: str


def draw(
    state: SpareState,
    request: SpareRequest,
    candidates: Mapping[str, Candidate],
    *,
    now: float,
    settings: SpareSettings,
) -> tuple[SpareState, Drawn | Denial]:
    """Reserve the best spare; else the same state, and what is wrong with each of them.

    For a node that has one drawn for the same incident already it is that one.
    """
    for name, spare in state.spares.items():
        same = (spare.incident, spare.stands_for) == (request.incident, request.node)
        if same and spare.standing in (SpareStatus.RESERVED, SpareStatus.IN_USE):
            return state, Drawn(name=name)
    refused: dict[str, str] = {}
    fitting: list[tuple[tuple[float, ...], str]] = []
    for name in state.spares:
        candidate = candidates.get(name, Candidate(usable=False))
        reason = str(state.spares[name].standing).replace("_", " ")
        if state.spares[name].standing is SpareStatus.READY:
            reason = _unlike(name, candidate, request, settings)
            reason = reason or _untested(state.spares[name], now, settings)
        if reason:
            refused[name] = reason
        else:
            far = tuple(float(_differ(label, candidate, request)) for label in settings.near)
            fitting.append(((*far, candidate.score), name))
    if not fitting:
        return state, _no_spare(refused)
    best = min(fitting)[1]
    reserved = msgspec.structs.replace(
        state.spares[best],
        standing=SpareStatus.RESERVED,
        incident=request.incident,
        stands_for=request.node,
    )
    return with_spare(state, best, reserved), Drawn(name=best)


def due_for_test(state: SpareState, now: float, settings: SpareSettings) -> tuple[str, ...]:
    """Idle spares whose test is half as old as it may be, the oldest first: none comes too late.

    One that has failed is tested again as well: it may have been repaired. A test without a result is
    started again after an hour at the earliest.
    """
    if not (settings.test and settings.test_max_age_s):
        return ()
    every = settings.test_max_age_s / 2
    due = {}
    for name, spare in state.spares.items():
        if spare.standing not in _IDLE or spare.away:
            continue
        age = math.inf if spare.tested is None else now - spare.tested
        since = math.inf if spare.tried is None else now - spare.tried
        again = every if spare.standing is SpareStatus.FAILED else min(every, RETRY_S)
        if age >= every and since >= again:
            due[name] = age
    return tuple(sorted(due, key=lambda name: (-due[name], name)))


def _unlike(name: str, candidate: Candidate, request: SpareRequest, settings: SpareSettings) -> str:
    if name == request.node:
        return "is the node itself"
    if not candidate.usable:
        return candidate.why
    others = (label for label in settings.alike if _differ(label, candidate, request))
    return next((f"has another {label}" for label in others), "")


def _untested(spare: Spare, now: float, settings: SpareSettings) -> str:
    if not settings.test_max_age_s:
        return ""
    if spare.tested is None:
        return "was never tested"
    return "was tested too long ago" if now - spare.tested > settings.test_max_age_s else ""


def _differ(label: str, candidate: Candidate, request: SpareRequest) -> bool:
    return candidate.labels.get(label, "") != request.labels.get(label, "")


def _no_spare(refused: Mapping[str, str]) -> Denial:
    if not refused:
        return Denial(why=DenialKind.NO_SPARE, text="there are no spares (remedy.spares.nodes)")
    reasons = "; ".join(f"{name} {reason}" for name, reason in list(refused.items())[:8])
    more = f"; and {len(refused) - 8} more" if len(refused) > 8 else ""
    return Denial(why=DenialKind.NO_SPARE, text=f"no spare fits: {reasons}{more}")
