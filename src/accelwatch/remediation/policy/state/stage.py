"""The words of the state machine: how far a node's remedy is, and what can happen to it."""

from enum import StrEnum


class Stage(StrEnum):
    """How far the remedy of one node is."""

    # Nothing is wrong that we know of; there is no remedy.
    HEALTHY = "healthy"
    # A rule fires, and nothing may be done about it yet.
    SUSPECT = "suspect"
    # A silence, a maintenance or a person's no keeps us from acting.
    SUPPRESSED = "suppressed"
    # Its plan waits for a person's approval.
    AWAITING_APPROVAL = "awaiting_approval"
    # Neither the agent nor the scheduler's daemon answers; it is waited whether that stays so.
    UNREACHABLE = "unreachable"
    QUARANTINING = "quarantining"
    # Somebody else holds the node: nothing of it is touched.
    OWNED_BY_OTHER = "held_by_other"
    # No new work comes to the node, and what is next has to be decided or allowed.
    QUARANTINED = "quarantined"
    # What ran on a node that does not answer is made sure to run no more.
    FENCING = "fencing"
    # Jobs are still on the node.
    DRAINING = "draining"
    REMEDIATING = "remediating"
    VERIFYING = "verifying"
    RELEASING = "releasing"
    # It works again and is watched.
    PROBATION = "probation"
    # Only a repair helps; it stays out of the pool.
    SERVICE = "service"
    # Something could not be done.
    FAILED = "failed"
    # Nobody knows whether something was done: only what is observed and people lead on.
    UNKNOWN = "unknown"
    # A person undid what we did.
    OVERRIDDEN = "overridden"


class Trigger(StrEnum):
    """What can happen to the remedy of a node."""

    # A rule fires on evidence that may count.
    FIRED = "fired"
    # A moment to look how things stand: what is wrong, seen, muted, allowed.
    TICK = "tick"
    # The stage's clock has run out.
    DUE = "due"
    # The stage, or what is on its way in it, has lasted for longer than its deadline.
    OVERDUE = "overdue"

    ACHIEVED = "achieved"
    # What was wanted is refused, because somebody else holds the node.
    FOREIGN = "foreign"
    # What was wanted is refused, because a person undid what we did.
    UNDONE = "undone"
    # It is refused for another reason.
    REFUSED = "refused"
    # It was tried as often as it may be, and is observed not to be so.
    GAVE_UP = "gave_up"
    # It may have happened, or may happen yet.
    UNCERTAIN = "uncertain"
    CANCELLED = "cancelled"

    # The scheduler shows the node without anybody's hold.
    OBSERVED_OPEN = "seen_open"
    OBSERVED_OURS = "seen_ours"
    OBSERVED_FOREIGN = "seen_foreign"
    OBSERVED_DOWN = "seen_down"
    OBSERVED_MISSING = "seen_missing"
    # It has other hardware, or has rebooted without our doing.
    SWAPPED = "swapped"

    APPROVE = "approve"
    DENY = "deny"
    # A person quarantines the node.
    QUARANTINE = "quarantine"
    # A person says that it is healthy; it is still verified before its release.
    RELEASE = "release"
    # A person wants it back, whatever is seen.
    FORCE_RELEASE = "force_release"
    # A person says that it is mended: what was seen before counts no more.
    RECOVERED = "recovered"
    # A person has checked what failed or is unknown, and lets it go on.
    RETRY = "retry"
    # A person wants us to have nothing to do with it any more.
    FORGET = "forget"


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
