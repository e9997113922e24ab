"""How one spare gets from one status to the next: reserved, in use, returning, tested, failed. Pure.

Each function gives the state after it, and raises ValueError for a spare that does not exist or whose
status does not allow it.
"""

from collections.abc import Mapping

import msgspec

from accelwatch.remediation.policy.state.spares.model import Spare, SpareState, SpareStatus

_TESTED = frozenset({SpareStatus.TESTING, SpareStatus.FAILED})


def activated(state: SpareState, name: str, original: Mapping[str, str]) -> SpareState:
    """A reserved spare works now; `original` is what its draw replaced.

    Raises ValueError for one that is not reserved.
    """
    return _changed(
        state, name, SpareStatus.RESERVED, standing=SpareStatus.IN_USE, original=dict(original)
    )


def released(state: SpareState, name: str) -> SpareState:
    """A reserved spare is not needed after all. Raises ValueError for one that is not reserved."""
    spare = _expect(state, name, (SpareStatus.RESERVED,))
    return with_spare(state, name, Spare(tested=spare.tested))


def returning(state: SpareState, name: str) -> SpareState:
    """A spare comes back, for the node that it stood for works again. Raises ValueError."""
    return _changed(state, name, SpareStatus.IN_USE, standing=SpareStatus.RETURNING)


def returned(state: SpareState, name: str) -> SpareState:
    """A spare is back. It worked in between, so its test counts as before. Raises ValueError."""
    spare = _expect(state, name, (SpareStatus.RETURNING,))
    return with_spare(state, name, Spare(tested=spare.tested))


def passed(state: SpareState, name: str, now: float) -> SpareState:
    """A spare has passed its test; one that had failed is ready again. Raises ValueError."""
    spare = _expect(state, name, tuple(SpareStatus))
    ready = SpareStatus.READY if spare.standing in _TESTED else spare.standing
    tested = msgspec.structs.replace(spare, tested=now, standing=ready, text="", broken=False)
    return with_spare(state, name, tested)


def failed(state: SpareState, name: str, text: str) -> SpareState:
    """A spare is broken itself, or did not pass its test. Raises ValueError for an unknown one."""
    spare = _expect(state, name, tuple(SpareStatus))
    broken = Spare(standing=SpareStatus.FAILED, tested=spare.tested, tried=spare.tried, text=text)
    return with_spare(state, name, broken)


def broken(state: SpareState, name: str, text: str) -> SpareState:
    """A spare that is reserved or in use has a fault of its own. Raises ValueError for another one."""
    spare = _expect(state, name, (SpareStatus.RESERVED, SpareStatus.IN_USE))
    away = spare.standing is SpareStatus.IN_USE
    state = failed(state, name, text)
    spare = msgspec.structs.replace(
        state.spares[name], broken=True, away=away, original=spare.original
    )
    return with_spare(state, name, spare)


def recalled(state: SpareState, name: str, original: Mapping[str, str]) -> SpareState:
    """A spare that was let go was drawn all the same, and comes back. Raises ValueError."""
    return _changed(
        state, name, SpareStatus.READY, standing=SpareStatus.RETURNING, original=dict(original)
    )


def drawn_late(state: SpareState, name: str, original: Mapping[str, str]) -> SpareState:
    """A broken spare was drawn all the same. Raises ValueError for one that is not broken."""
    return _changed(state, name, SpareStatus.FAILED, away=True, original=dict(original))


def repaired(state: SpareState, name: str) -> SpareState:
    """A broken spare works again: it is ready, or returns first. Raises ValueError."""
    spare = _expect(state, name, (SpareStatus.FAILED,))
    status = SpareStatus.RETURNING if spare.away else SpareStatus.READY
    original = spare.original if spare.away else {}
    return with_spare(state, name, Spare(standing=status, tested=spare.tested, original=original))


def testing(state: SpareState, name: str, now: float) -> SpareState:
    """The test of an idle spare starts. Raises ValueError for a spare that is not idle."""
    spare = _expect(state, name, (SpareStatus.READY, SpareStatus.FAILED))
    started = msgspec.structs.replace(spare, standing=SpareStatus.TESTING, tried=now)
    return with_spare(state, name, started)


def untested(state: SpareState, name: str) -> SpareState:
    """Its test came to nothing: it is as it was before. Raises ValueError."""
    spare = _expect(state, name, (SpareStatus.TESTING,))
    before = SpareStatus.FAILED if spare.text else SpareStatus.READY
    return with_spare(state, name, msgspec.structs.replace(spare, standing=before))


def _expect(state: SpareState, name: str, statuses: tuple[SpareStatus, ...]) -> Spare:
    spare = state.spares.get(name)
    if spare is None:
        raise ValueError(f"{name} is not a spare")
    if spare.standing not in statuses:
        raise ValueError(f"the spare {name} is {spare.standing}")
    return spare


def _changed(state: SpareState, name: str, status: SpareStatus, **changes: object) -> SpareState:
    spare = _expect(state, name, (status,))
    return with_spare(state, name, msgspec.structs.replace(spare, **changes))


def with_spare(state: SpareState, name: str, spare: Spare) -> SpareState:
    """The spares, with one as it is now."""
    return SpareState(spares={**state.spares, name: spare})
