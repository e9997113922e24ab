"""Whose a node is that somebody has taken out, judged by what was seen right after we did. Pure.

A scheduler keeps one reason, one name and one moment, and whoever writes last wins. So what we saw
after our own drain is kept, and only while all of it is still so is the node ours to give back.
"""

from enum import StrEnum

import msgspec

from accelwatch.action.intent import Mark
from accelwatch.action.observed import NodeSeen, Standing
from accelwatch.remediation.policy.guards.foreign_reasons import SCHEDULER_USERS, holder_of

OWN_ADDITIONS = (
    " : reboot issued",
    " : reboot complete",
    " : reboot requested",
    " : Not responding",
    " : Node unexpectedly rebooted",
)
"""What Slurm appends to a reason when it reboots a node, and newer ones when they give a node up: the
moment is new then, and mostly the name."""
SAME_SECOND_S = 1.0


class Ownership(StrEnum):
    """Whose a node is."""

    OPEN = "open"
    """Nobody's; it takes work."""
    OURS = "ours"
    FOREIGN = "foreign"
    """Somebody else's, who had it before us or instead of us."""
    TAKEN_OVER = "taken_over"
    """It was ours, and somebody has put himself in our place."""
    OVERRIDDEN = "overridden"
    """It was ours, and a person has given it back to work."""
    ADOPTED = "adopted"
    """It bears our mark, but nothing is written down of it."""
    DOWN = "down"
    """The scheduler itself has given it up."""
    MAINTENANCE = "maintenance"
    """A reservation for maintenance has it."""
    MISSING = "missing"


class Imprint(msgspec.Struct, frozen=True, kw_only=True):
    """Our own hold as it was seen right after it was set."""

    mark: Mark
    reason: str
    set_by: str
    set_at: float | None
    """Unix seconds, of the scheduler's clock."""


def ownership(
    seen: NodeSeen,
    imprint: Imprint | None,
    scheduler_users: frozenset[str] = SCHEDULER_USERS,
) -> Ownership:
    """Whose the node is; `imprint` is what is written down of our own hold, if we have one."""
    if seen.standing is Standing.MISSING:
        return Ownership.MISSING
    if imprint is None:
        return _without_hold(seen)
    if seen.standing is Standing.OPEN:
        return Ownership.OVERRIDDEN
    if seen.standing is not Standing.FOREIGN and _unchanged(seen, imprint, scheduler_users):
        return Ownership.OURS
    return Ownership.TAKEN_OVER


def _without_hold(seen: NodeSeen) -> Ownership:
    if seen.standing is Standing.OURS:
        return Ownership.ADOPTED
    if seen.standing is Standing.DOWN:
        return Ownership.DOWN
    if seen.standing is Standing.FOREIGN:
        return Ownership.FOREIGN
    return Ownership.MAINTENANCE if seen.maintenance else Ownership.OPEN


def _unchanged(seen: NodeSeen, imprint: Imprint, scheduler_users: frozenset[str]) -> bool:
    if seen.mark is not None and seen.mark != imprint.mark:
        return False
    addition = _addition(seen.reason, imprint.reason)
    if addition is None:
        return False
    if addition:
        return seen.set_by in scheduler_users or seen.set_by == imprint.set_by
    return _same_writer(seen, imprint)


def _same_writer(seen: NodeSeen, imprint: Imprint) -> bool:
    if seen.set_by != imprint.set_by:
        return False
    if seen.set_at is None or imprint.set_at is None:
        return seen.set_at is imprint.set_at
    return abs(seen.set_at - imprint.set_at) < SAME_SECOND_S


def _addition(reason: str, ours: str) -> str | None:
    """What a scheduler has added to our reason; None when it is not ours any more."""
    if not reason.startswith(ours):
        return None
    rest = added = reason[len(ours) :]
    while rest:
        known = next((one for one in OWN_ADDITIONS if rest.startswith(one)), None)
        if known is None:
            return None
        rest = rest[len(known) :]
    return added


def told(seen: NodeSeen, whose: Ownership) -> str:
    """For people: who has a node that is not ours to touch."""
    by = f" by {seen.set_by}" if seen.set_by else ""
    reason = f": {seen.reason}" if seen.reason else ""
    match whose:
        case Ownership.MISSING:
            return f"the scheduler knows no node {seen.name}"
        case Ownership.DOWN:
            return f"the scheduler has given {seen.name} up{by}{reason}"
        case Ownership.MAINTENANCE:
            return f"{seen.name} is reserved for maintenance"
        case Ownership.ADOPTED:
            return f"{seen.name} bears our mark, but nothing is written down of it{by}{reason}"
        case Ownership.TAKEN_OVER:
            return f"{seen.name} was taken over from accelwatch{by}{reason}"
        case _:
            holder = holder_of(seen.reason, seen.set_by)
            return f"{seen.name} is held by {holder.words}{by}{reason}"
