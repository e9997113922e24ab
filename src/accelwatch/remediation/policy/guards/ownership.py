"""Who holds a drained node, judged by what was observed right after our own drain. Pure.

A scheduler keeps one reason, one name and one moment, and whoever writes last wins. So what we saw
after our own drain is kept, and only while all of it is still so is the node ours to give back.
"""

from enum import StrEnum

import msgspec

from accelwatch.action.intent import OwnerAnnotation
from accelwatch.action.observed import HoldState, NodeObservation
from accelwatch.remediation.policy.guards.foreign_reasons import SCHEDULER_USERS, holder_of

# What Slurm appends to a reason when it reboots a node, and newer ones when they give a node up: the
# moment is new then, and mostly the name.
OWN_ADDITIONS = (
    " : reboot issued",
    " : reboot complete",
    " : reboot requested",
    " : Not responding",
    " : Node unexpectedly rebooted",
)
SAME_SECOND_S = 1.0


class Ownership(StrEnum):
    """Whose a node is."""

    # Nobody's; it accepts work.
    OPEN = "open"
    OURS = "ours"
    # Somebody else's, who had it before us or instead of us.
    FOREIGN = "foreign"
    # It was ours, and somebody has replaced our hold.
    TAKEN_OVER = "taken_over"
    # It was ours, and a person has given it back to work.
    OVERRIDDEN = "overridden"
    # It has our mark, but the journal has no record of it.
    ADOPTED = "adopted"
    # The scheduler itself has given it up.
    DOWN = "down"
    # A reservation for maintenance has it.
    MAINTENANCE = "maintenance"
    MISSING = "missing"


class Imprint(msgspec.Struct, frozen=True, kw_only=True):
    """Our own hold as it was seen right after it was set."""

    annotation: OwnerAnnotation
    reason: str
    set_by: str
    # Unix seconds, of the scheduler's clock.
    set_at: float | None


def ownership(
    observation: NodeObservation,
    imprint: Imprint | None,
    scheduler_users: frozenset[str] = SCHEDULER_USERS,
) -> Ownership:
    """Whose the node is; `imprint` is what is written down of our own hold, if we have one."""
    if observation.hold_state is HoldState.MISSING:
        return Ownership.MISSING
    if imprint is None:
        return _without_imprint(observation)
    # We set our mark and did not remove it: a person has resumed the node, or the scheduler has
    # lost its state, which the table checks.
    if observation.hold_state is HoldState.OPEN:
        return Ownership.OVERRIDDEN
    if observation.hold_state is not HoldState.FOREIGN and _unchanged(
        observation, imprint, scheduler_users
    ):
        return Ownership.OURS
    return Ownership.TAKEN_OVER


def _without_imprint(observation: NodeObservation) -> Ownership:
    if observation.hold_state is HoldState.OURS:
        return Ownership.ADOPTED
    if observation.hold_state is HoldState.DOWN:
        return Ownership.DOWN
    if observation.hold_state is HoldState.FOREIGN:
        return Ownership.FOREIGN
    return Ownership.MAINTENANCE if observation.maintenance else Ownership.OPEN


def _unchanged(
    observation: NodeObservation, imprint: Imprint, scheduler_users: frozenset[str]
) -> bool:
    if observation.annotation is not None and observation.annotation != imprint.annotation:
        return False
    addition = _addition(observation.reason, imprint.reason)
    if addition is None:
        return False
    if addition:
        return observation.set_by in scheduler_users or observation.set_by == imprint.set_by
    return _same_writer(observation, imprint)


def _same_writer(observation: NodeObservation, imprint: Imprint) -> bool:
    if observation.set_by != imprint.set_by:
        return False
    if observation.set_at is None or imprint.set_at is None:
        return observation.set_at is imprint.set_at
    # Schedulers keep whole seconds.
    return abs(observation.set_at - imprint.set_at) < SAME_SECOND_S


def _addition(reason: str, ours: str) -> str | None:
    """What a scheduler has added to our reason; None when it is not ours any more."""
    if not reason.startswith(ours):
        return None
    remainder = added = reason[len(ours) :]
    while remainder:
        recognised = next(
            (addition for addition in OWN_ADDITIONS if remainder.startswith(addition)), None
        )
        if recognised is None:
            return None
        remainder = remainder[len(recognised) :]
    return added


def ownership_text(observation: NodeObservation, whose: Ownership) -> str:
    """For people: who has a node that is not ours to touch."""
    by = f" by {observation.set_by}" if observation.set_by else ""
    reason = f": {observation.reason}" if observation.reason else ""
    match whose:
        case Ownership.MISSING:
            return f"the scheduler knows no node {observation.name}"
        case Ownership.DOWN:
            return f"the scheduler has given {observation.name} up{by}{reason}"
        case Ownership.MAINTENANCE:
            return f"{observation.name} is reserved for maintenance"
        case Ownership.ADOPTED:
            return (
                f"{observation.name} has our mark, but the journal has no record of it{by}{reason}"
            )
        case Ownership.TAKEN_OVER:
            return f"{observation.name} was taken over from accelwatch{by}{reason}"
        case _:
            holder = holder_of(observation.reason, observation.set_by)
            return f"{observation.name} is held by {holder.text}{by}{reason}"
