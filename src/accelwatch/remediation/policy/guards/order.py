"""Who comes first of those that wait for a budget. Pure."""

from collections.abc import Iterable

import msgspec

# Who has waited so long counts as one rank worse, so that nobody waits for ever.
AGING_S = 3600.0
# By how many ranks each failed attempt puts him back, so that a hopeless one does not block others.
BACK_OFF = 1.0


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """One that would like to be acted upon."""

    incident: str
    # How bad it is: greater is worse. A severity's weight, a score, or both.
    rank: float
    # Unix seconds from which on it waits.
    since: float
    attempts: int = 0


def urgency(waiting: Waiting, now: float) -> float:
    """How urgent it is; greater comes first."""
    age = max(now - waiting.since, 0.0) / AGING_S
    # A sum, not a tuple: severity must not starve what waits, and waiting must not overtake at
    # once.
    return waiting.rank + age - BACK_OFF * waiting.attempts


def in_order(waiting: Iterable[Waiting], now: float) -> list[Waiting]:
    """The most urgent first; of equal ones the one that waits longest, then by id."""
    return sorted(waiting, key=lambda entry: (-urgency(entry, now), entry.since, entry.incident))
