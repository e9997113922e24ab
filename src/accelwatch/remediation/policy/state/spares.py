"""The nodes that stand in for others: which are there, which one is drawn, where each has got to. Pure.

A spare is reserved before anything is changed at the scheduler. It is drawn only when it is alike, has
passed its test not long ago and can be used now; nearest first, then the one that has failed least.
"""

import math
from collections.abc import Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType

import msgspec

from accelwatch.remediation.policy.guards.denial import Denial, DenialKind
from accelwatch.remediation.settings import SpareSettings

RETRY_S = 3600.0


class SpareStatus(StrEnum):
    """Where a spare has got to."""

    READY = "ready"
    # It is drawn for an incident, and nothing is changed yet.
    RESERVED = "reserved"
    IN_USE = "in_use"
    RETURNING = "returning"
    # It is idle, and its test runs.
    TESTING = "testing"
    # It did not pass its test, or has a fault of its own while it is reserved or in use.
    FAILED = "failed"


class Spare(msgspec.Struct, frozen=True, kw_only=True):
    """One spare."""

    standing: SpareStatus = SpareStatus.READY
    # For which it is reserved or in use.
    incident: str = ""
    # The node that it replaces.
    stands_for: str = ""
    # Unix seconds of the latest test that it passed; None where there was none.
    tested: float | None = None
    # Unix seconds at which its latest test was begun, whatever came of it.
    tried: float | None = None
    # Why it failed.
    text: str = ""
    # Whether it failed by a fault of its own: it is ready again when its own remedy is over.
    broken: bool = False
    # Whether it failed while it was not among the spares of its scheduler.
    away: bool = False
    # What its draw replaced at its scheduler, by which it is returned to where it was.
    original: Mapping[str, str] = {}


class SpareState(msgspec.Struct, frozen=True, kw_only=True):
    """All spares, by the scheduler's name."""

    spares: Mapping[str, Spare] = {}


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
    # Whether it is there, well, and nobody else holds it.
    usable: bool = True
    # Why it is not usable; it continues the name of the spare.
    why: str = "cannot be used now"


class Drawn(msgspec.Struct, frozen=True, kw_only=True, tag="drawn"):
    """The spare that stands in."""

    name: str


def listed(state: SpareState, names: Iterable[str]) -> SpareState:
    """Have these as spares, and no others that are ready; what is in use stays until it comes back."""
    desired = dict.fromkeys(names)
    kept = {
        name: spare
        for name, spare in state.spares.items()
        if name in desired or spare.standing in _BUSY
    }
    added = {name: Spare() for name in desired if name not in kept}
    return SpareState(spares={**kept, **added}) if added or kept != state.spares else state


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
        return state, _none(refused)
    best = min(fitting)[1]
    reserved = msgspec.structs.replace(
        state.spares[best],
        standing=SpareStatus.RESERVED,
        incident=request.incident,
        stands_for=request.node,
    )
    return _with(state, best, reserved), Drawn(name=best)


def activated(
    state: SpareState, name: str, original: Mapping[str, str] = MappingProxyType({})
) -> SpareState:
    """A reserved spare works now; `original` is what its draw replaced.

    Raises ValueError for one that is not reserved.
    """
    return _drawn(state, name, SpareStatus.RESERVED, SpareStatus.IN_USE, original)


def released(state: SpareState, name: str) -> SpareState:
    """A reserved spare is not needed after all. Raises ValueError for one that is not reserved."""
    spare = _expect(state, name, (SpareStatus.RESERVED,))
    return _with(state, name, Spare(tested=spare.tested))


def returning(state: SpareState, name: str) -> SpareState:
    """A spare comes back, for the node that it stood for works again. Raises ValueError."""
    return _moved(state, name, (SpareStatus.IN_USE,), SpareStatus.RETURNING)


def returned(state: SpareState, name: str) -> SpareState:
    """A spare is back. It worked in between, so its test counts as before. Raises ValueError."""
    spare = _expect(state, name, (SpareStatus.RETURNING,))
    return _with(state, name, Spare(tested=spare.tested))


def passed(state: SpareState, name: str, now: float) -> SpareState:
    """A spare has passed its test; one that had failed is ready again. Raises ValueError."""
    spare = _expect(state, name, tuple(SpareStatus))
    ready = SpareStatus.READY if spare.standing in _TESTED else spare.standing
    tested = msgspec.structs.replace(spare, tested=now, standing=ready, text="", broken=False)
    return _with(state, name, tested)


def failed(state: SpareState, name: str, text: str) -> SpareState:
    """A spare is broken itself, or did not pass its test. Raises ValueError for an unknown one."""
    spare = _expect(state, name, tuple(SpareStatus))
    broken = Spare(standing=SpareStatus.FAILED, tested=spare.tested, tried=spare.tried, text=text)
    return _with(state, name, broken)


def broken(state: SpareState, name: str, text: str) -> SpareState:
    """A spare that is reserved or in use has a fault of its own. Raises ValueError for another one."""
    spare = _expect(state, name, (SpareStatus.RESERVED, SpareStatus.IN_USE))
    away = spare.standing is SpareStatus.IN_USE
    state = failed(state, name, text)
    spare = msgspec.structs.replace(
        state.spares[name], broken=True, away=away, original=spare.original
    )
    return _with(state, name, spare)


def adrift(
    state: SpareState, name: str, original: Mapping[str, str] = MappingProxyType({})
) -> SpareState:
    """A spare that was let go was drawn all the same, and comes back. Raises ValueError."""
    return _drawn(state, name, SpareStatus.READY, SpareStatus.RETURNING, original)


def drawn_late(
    state: SpareState, name: str, original: Mapping[str, str] = MappingProxyType({})
) -> SpareState:
    """A broken spare was drawn all the same. Raises ValueError for one that is not broken."""
    state = _drawn(state, name, SpareStatus.FAILED, SpareStatus.FAILED, original)
    return _with(state, name, msgspec.structs.replace(state.spares[name], away=True))


def repaired(state: SpareState, name: str) -> SpareState:
    """A broken spare works again: it is ready, or returns first. Raises ValueError."""
    spare = _expect(state, name, (SpareStatus.FAILED,))
    status = SpareStatus.RETURNING if spare.away else SpareStatus.READY
    original = spare.original if spare.away else {}
    return _with(state, name, Spare(standing=status, tested=spare.tested, original=original))


def testing(state: SpareState, name: str, now: float) -> SpareState:
    """The test of an idle spare is begun. Raises ValueError for one that is not idle."""
    spare = _expect(state, name, (SpareStatus.READY, SpareStatus.FAILED))
    started = msgspec.structs.replace(spare, standing=SpareStatus.TESTING, tried=now)
    return _with(state, name, started)


def untested(state: SpareState, name: str) -> SpareState:
    """Its test came to nothing: it is as it was before. Raises ValueError."""
    spare = _expect(state, name, (SpareStatus.TESTING,))
    before = SpareStatus.FAILED if spare.text else SpareStatus.READY
    return _with(state, name, msgspec.structs.replace(spare, standing=before))


def due_for_test(state: SpareState, now: float, settings: SpareSettings) -> tuple[str, ...]:
    """Idle spares whose test is half as old as it may be, the oldest first: none comes too late.

    One that has failed is tested again as well: it may have been mended. A test that came to nothing is
    begun anew after an hour at the earliest.
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


_BUSY = (
    SpareStatus.RESERVED,
    SpareStatus.IN_USE,
    SpareStatus.RETURNING,
    SpareStatus.TESTING,
)
_IDLE = frozenset({SpareStatus.READY, SpareStatus.FAILED})
_TESTED = frozenset({SpareStatus.TESTING, SpareStatus.FAILED})


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


def _none(refused: Mapping[str, str]) -> Denial:
    if not refused:
        return Denial(why=DenialKind.NO_SPARE, text="there are no spares (remedy.spares.nodes)")
    reasons = "; ".join(f"{name} {reason}" for name, reason in list(refused.items())[:8])
    more = f"; and {len(refused) - 8} more" if len(refused) > 8 else ""
    return Denial(why=DenialKind.NO_SPARE, text=f"no spare fits: {reasons}{more}")


def _expect(state: SpareState, name: str, statuses: tuple[SpareStatus, ...]) -> Spare:
    spare = state.spares.get(name)
    if spare is None:
        raise ValueError(f"{name} is not a spare")
    if spare.standing not in statuses:
        raise ValueError(f"the spare {name} is {spare.standing}")
    return spare


def _moved(
    state: SpareState, name: str, statuses: tuple[SpareStatus, ...], to: SpareStatus
) -> SpareState:
    spare = _expect(state, name, statuses)
    return _with(state, name, msgspec.structs.replace(spare, standing=to))


def _drawn(
    state: SpareState,
    name: str,
    status: SpareStatus,
    to: SpareStatus,
    original: Mapping[str, str],
) -> SpareState:
    spare = _expect(state, name, (status,))
    return _with(state, name, msgspec.structs.replace(spare, standing=to, original=dict(original)))


def _with(state: SpareState, name: str, spare: Spare) -> SpareState:
    return SpareState(spares={**state.spares, name: spare})
