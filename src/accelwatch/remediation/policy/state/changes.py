"""What changes the mind of the state machine besides what is observed: incidents, people, the start."""

from enum import StrEnum

import msgspec

from accelwatch.remediation.policy.guards.data_guard import FleetCoverage
from accelwatch.remediation.policy.state.case import Case
from accelwatch.remediation.policy.state.pursued import Poll, Pursued
from accelwatch.remediation.policy.state.world import JournalStatus, NodeStatus


class Started(msgspec.Struct, frozen=True, kw_only=True, tag="started"):
    """An engine has started, with the journal's state; it observes before it acts."""

    token: int
    # Unix seconds.
    at: float


class CaseChanged(msgspec.Struct, frozen=True, kw_only=True, tag="case"):
    """An incident that concerns a node, as it stands now."""

    # The hub's name.
    node: str
    case: Case


class Verb(StrEnum):
    """A person's command."""

    APPROVE = "approve"
    DENY = "deny"
    # Nothing is done to the node until `until`, or until it is removed.
    HOLD = "hold"
    UNHOLD = "unhold"
    QUARANTINE = "quarantine"
    RELEASE = "release"
    FORCE_RELEASE = "force_release"
    RECOVERED = "recovered"
    RETRY = "retry"
    FORGET = "forget"
    STOP = "stop"
    START = "start"
    RESET_BREAKER = "reset_breaker"

    @property
    def of_all(self) -> bool:
        """Whether it is about everything, and names no node."""
        return self in (Verb.STOP, Verb.START, Verb.RESET_BREAKER)


class Command(msgspec.Struct, frozen=True, kw_only=True, tag="command"):
    """A person's command and its arguments."""

    verb: Verb
    by: str
    # Unix seconds.
    at: float
    node: str = ""
    reason: str = ""
    # Of HOLD and DENY; of RECOVERED the moment up to which evidence counts no more.
    until: float | None = None
    # Of APPROVE: the plan that the person saw.
    digest: str = ""


class RulesChanged(msgspec.Struct, frozen=True, kw_only=True, tag="rules"):
    """The rules that are in force from now on: what each says, by id."""

    digests: dict[str, str]


Change = Started | CaseChanged | RulesChanged | Command
# All that is observed.
WorldObservation = NodeStatus | FleetCoverage | JournalStatus | Pursued | Poll
