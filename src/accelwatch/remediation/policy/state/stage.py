"""The words of the state machine: how far a node's remedy is, and what can happen to it."""

from enum import StrEnum


class Stage(StrEnum):
    """How far the remedy of one node is."""

    HEALTHY = "healthy"
    """Nothing is wrong that we know of; there is no remedy."""
    SUSPECT = "suspect"
    """A rule fires, and nothing may be done about it yet."""
    SUPPRESSED = "suppressed"
    """A silence, a maintenance or a person's no keeps us from acting."""
    AWAITING_APPROVAL = "awaiting_approval"
    """A person is asked."""
    UNREACHABLE = "unreachable"
    """Neither the agent nor the scheduler's daemon answers; it is waited whether that stays so."""
    QUARANTINING = "quarantining"
    OWNED_BY_OTHER = "held_by_other"
    """Somebody else holds the node: nothing of it is touched."""
    QUARANTINED = "quarantined"
    """No new work comes to the node, and what is next has to be decided or allowed."""
    FENCING = "fencing"
    """What ran on a node that does not answer is made sure to run no more."""
    DRAINING = "draining"
    """Jobs are still on the node."""
    REMEDIATING = "remediating"
    VERIFYING = "verifying"
    RELEASING = "releasing"
    PROBATION = "probation"
    """It works again and is watched."""
    SERVICE = "service"
    """Only a repair helps; it stays out of the pool."""
    FAILED = "failed"
    """Something could not be done."""
    UNKNOWN = "unknown"
    """Nobody knows whether something was done: only what is observed and people lead on."""
    OVERRIDDEN = "overridden"
    """A person undid what we did."""


class Trigger(StrEnum):
    """What can happen to the remedy of a node."""

    FIRED = "fired"
    """A rule fires on evidence that may count."""
    TICK = "tick"
    """A moment to look how things stand: what is wrong, seen, muted, allowed."""
    DUE = "due"
    """The stage's clock has run out."""
    OVERDUE = "overdue"
    """The stage, or what is on its way in it, has lasted for longer than its deadline."""

    ACHIEVED = "achieved"
    FOREIGN = "foreign"
    """What was wanted is refused, because somebody else holds the node."""
    UNDONE = "undone"
    """What was wanted is refused, because a person undid what we did."""
    REFUSED = "refused"
    """It is refused for another reason."""
    GAVE_UP = "gave_up"
    """It was tried as often as it may be, and is observed not to be so."""
    UNCERTAIN = "uncertain"
    """It may have happened, or may happen yet."""
    CANCELLED = "cancelled"

    OBSERVED_OPEN = "seen_open"
    """The scheduler shows the node without anybody's hold."""
    OBSERVED_OURS = "seen_ours"
    OBSERVED_FOREIGN = "seen_foreign"
    OBSERVED_DOWN = "seen_down"
    OBSERVED_MISSING = "seen_missing"
    SWAPPED = "swapped"
    """Other hardware is in the node, or it has begun anew without our doing."""

    APPROVE = "approve"
    DENY = "deny"
    QUARANTINE = "quarantine"
    """A person takes the node out."""
    RELEASE = "release"
    """A person says that it is well; it is still looked at before it is let go."""
    FORCE_RELEASE = "force_release"
    """A person wants it back, whatever is seen."""
    RECOVERED = "recovered"
    """A person says that it is mended: what was seen before counts no more."""
    RETRY = "retry"
    """A person has looked at what failed or is unknown, and lets it go on."""
    FORGET = "forget"
    """A person wants us to have nothing to do with it any more."""


BY_PEOPLE = frozenset(
    {
        Trigger.APPROVE,
        Trigger.DENY,
        Trigger.QUARANTINE,
        Trigger.RELEASE,
        Trigger.FORCE_RELEASE,
        Trigger.RECOVERED,
        Trigger.RETRY,
        Trigger.FORGET,
    }
)
