"""The answer of a guard on whether an operation may start now: yes, or why not.

Every guard is a pure function of its own state and gives a `Permit` or a `Denial`. All guards are
evaluated, also after the first that denies, so that a plan shows everything that stands in its way.
"""

from collections.abc import Iterable
from enum import StrEnum

import msgspec


class DenialKind(StrEnum):
    """What stands in the way."""

    # A person stopped everything; our own holds are still released.
    STOPPED = "stopped"
    # The rule itself only observes, or is off.
    MODE = "mode"
    # The site or a profile does not let rules go so far.
    CEILING = "ceiling"
    # The rule is new or changed, and acts on a share of the fleet that this node is not in.
    CANARY = "canary"
    # A person has to say yes.
    APPROVAL = "approval"
    # A person has said no.
    DENIED = "denied"
    # The evidence came a way by which anybody could have sent it.
    TRUST = "trust"
    # Everything that speaks for it is from before a person declared it mended, or undid what we did.
    OLD_EVIDENCE = "old_evidence"
    # The last reading of the node or the device is older than two of its intervals.
    STALE_READING = "stale_reading"
    # A silence or a maintenance bids not to act.
    SILENCE = "silence"
    # A person vetoed any action on the node.
    VETOED = "held"
    # It is part of what befalls many at once, which has one cause that is not this node.
    GROUP = "group"
    # It is not proven that the hub and the scheduler mean the same machine.
    IDENTITY = "identity"
    # Somebody else holds the node.
    FOREIGN = "foreign"
    # A person undid what we did, and that was not long ago.
    OVERRIDDEN = "overridden"
    # Too little is seen of the fleet, or its clock or ticks are not to be relied on.
    DATA = "data"
    # The engine has just started and still warms up.
    STARTING = "starting"
    BREAKER = "breaker"
    # As many nodes of the pool are quarantined by us as may be.
    BUDGET = "budget"
    # The same of a rack, a leaf switch or another thing that nodes share.
    DOMAIN_BUDGET = "domain_budget"
    # Too few nodes of the pool would be left, whoever quarantined the others.
    AVAILABLE = "available"
    # So many quarantines lately; more follow one after another.
    RATE = "rate"
    # Only devices of the node are out, and it would end what runs on the others.
    LEVEL = "level"
    # A remedy runs on the node or beside it already.
    REMEDY_RUNNING = "remedy_running"
    # As many remedies were tried for the incident as may be.
    ATTEMPTS = "attempts"
    # The same of the node, over days.
    TOO_MANY_REMEDIES = "too_many_remedies"
    RELEASE_RATE = "release_rate"
    # So many jobs were cancelled lately.
    CANCEL_RATE = "cancel_rate"
    NO_SPARE = "no_spare"
    # No idle node that is known to be healthy can be the peer in the test of the node.
    NO_PEER = "no_peer"
    # Nobody knows how much the test of such a node has to measure.
    NO_FLOOR = "no_floor"
    # The job was resumed too often, too lately, or would die of the same again.
    RETRY = "retry"

    @property
    def lifted_by_approval(self) -> bool:
        """Whether a person's approval of the plan is enough to go on all the same.

        A budget, a rate and everything that is about safety is not: an approved plan waits for it.
        """
        return self in _LIFTED_BY_APPROVAL

    @property
    def passes_by_itself(self) -> bool:
        """Whether waiting may be enough."""
        return self in _PASSING


_LIFTED_BY_APPROVAL = frozenset(
    {
        DenialKind.APPROVAL,
        DenialKind.BREAKER,
        DenialKind.CANARY,
        DenialKind.GROUP,
        DenialKind.TRUST,
    }
)
_PASSING = frozenset(
    {
        DenialKind.AVAILABLE,
        DenialKind.BREAKER,
        DenialKind.BUDGET,
        DenialKind.CANARY,
        DenialKind.CANCEL_RATE,
        DenialKind.DATA,
        DenialKind.DOMAIN_BUDGET,
        DenialKind.FOREIGN,
        DenialKind.GROUP,
        DenialKind.VETOED,
        DenialKind.IDENTITY,
        DenialKind.LEVEL,
        DenialKind.NO_SPARE,
        DenialKind.NO_PEER,
        DenialKind.OVERRIDDEN,
        DenialKind.RATE,
        DenialKind.RELEASE_RATE,
        DenialKind.REMEDY_RUNNING,
        DenialKind.RETRY,
        DenialKind.SILENCE,
        DenialKind.STALE_READING,
        DenialKind.STARTING,
        DenialKind.STOPPED,
        DenialKind.TOO_MANY_REMEDIES,
    }
)


class Permit(msgspec.Struct, frozen=True, tag="permit"):
    """It may be done now, as far as this guard is concerned."""


class Denial(msgspec.Struct, frozen=True, kw_only=True, tag="denial"):
    """It may not be done now."""

    why: DenialKind
    # For people: what stands in the way, with its figures, and what would lift it.
    text: str
    # Unix seconds at which a retry is worth it; None where nobody knows.
    until: float | None = None


Answer = Permit | Denial

PERMIT = Permit()


def denial_in(answers: Iterable[Answer]) -> Denial | None:
    """The first denial; later guards are not evaluated."""
    return next((answer for answer in answers if isinstance(answer, Denial)), None)


def denials(answers: Iterable[Answer]) -> tuple[Denial, ...]:
    """Every denial, in the order of evaluation."""
    return tuple(answer for answer in answers if isinstance(answer, Denial))
