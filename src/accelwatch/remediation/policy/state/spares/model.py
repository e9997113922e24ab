"""Spare nodes and where each has got to, as a step keeps them."""

from collections.abc import Iterable, Mapping
from enum import StrEnum

import msgspec


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


_BUSY = (
    SpareStatus.RESERVED,
    SpareStatus.IN_USE,
    SpareStatus.RETURNING,
    SpareStatus.TESTING,
)


class Spare(msgspec.Struct, frozen=True, kw_only=True):
    """One spare."""

    standing: SpareStatus = SpareStatus.READY
    # For which it is reserved or in use.
    incident: str = ""
    # The node that it replaces.
    stands_for: str = ""
    # Unix seconds of the latest test that it passed; None where there was none.
    tested: float | None = None
    # Unix seconds at which its latest test started, whatever the result.
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
