"""What the journal keeps of the state: each record is a row of a table, or a field, as it is now.

Their tags and fields are the journal's: what was written by an older version is read by them.
"""

import msgspec

from accelwatch.action.intent import Intent
from accelwatch.remediation.policy.guards.limits.attempts import AttemptState
from accelwatch.remediation.policy.guards.limits.breaker import BreakerState
from accelwatch.remediation.policy.guards.limits.budget import BudgetState
from accelwatch.remediation.policy.guards.limits.canary import CanaryState
from accelwatch.remediation.policy.guards.retry.job_history import RetryState
from accelwatch.remediation.policy.state.model import Departed, Remedy
from accelwatch.remediation.policy.state.node_tests import NodeTests
from accelwatch.remediation.policy.state.orders import Boundary, Denied, Override, Stop, Veto
from accelwatch.remediation.policy.state.relapses import Relapses
from accelwatch.remediation.policy.state.score import ScoreState
from accelwatch.remediation.policy.state.spares.model import SpareState


class RemedyRecord(msgspec.Struct, frozen=True, kw_only=True, tag="remedy"):
    """The remedy of a node as it stands from now on."""

    node: str
    # None: it is over.
    remedy: Remedy | None


class OverrideRecord(msgspec.Struct, frozen=True, kw_only=True, tag="override"):
    """A person undid what we did to a node."""

    node: str
    override: Override | None


class BoundaryRecord(msgspec.Struct, frozen=True, kw_only=True, tag="recovered"):
    """A person declared a node mended."""

    node: str
    boundary: Boundary | None


class VetoRecord(msgspec.Struct, frozen=True, kw_only=True, tag="veto"):
    """A person's veto against any action on a node; None: revoked."""

    node: str
    veto: Veto | None


class DeniedRecord(msgspec.Struct, frozen=True, kw_only=True, tag="denied"):
    """A person's no to a plan."""

    node: str
    denied: Denied | None


class StopRecord(msgspec.Struct, frozen=True, kw_only=True, tag="stop"):
    """Everything is stopped; None: it goes on."""

    stop: Stop | None


class ChoreRecord(msgspec.Struct, frozen=True, kw_only=True, tag="chore"):
    """Something to be given back; None: it was."""

    key: str
    intent: Intent | None


class DepartedRecord(msgspec.Struct, frozen=True, kw_only=True, tag="departed"):
    """A job has left its nodes; None: that matters no more."""

    key: str
    departed: Departed | None


class LingeringRecord(msgspec.Struct, frozen=True, kw_only=True, tag="lingering"):
    """An intent that is not wanted any more; None: its end is known."""

    node: str
    intent: Intent | None


class ForgottenRecord(msgspec.Struct, frozen=True, kw_only=True, tag="forgotten"):
    """A mark of ours that is left alone; None: not any more."""

    node: str
    incident: str | None


class RelapsesRecord(msgspec.Struct, frozen=True, kw_only=True, tag="relapses"):
    """How often a node has failed again soon after it was given back; None: that matters no more."""

    node: str
    relapses: Relapses | None


class NodeTestsRecord(msgspec.Struct, frozen=True, kw_only=True, tag="tests"):
    """How the tests of a node stand; None: they matter no more."""

    node: str
    tests: NodeTests | None


class StartedRecord(msgspec.Struct, frozen=True, kw_only=True, tag="engine"):
    """An engine has started."""

    token: int
    at: float


class BudgetRecord(msgspec.Struct, frozen=True, kw_only=True, tag="budget"):
    """The used part of the budget."""

    budget: BudgetState


class BreakerRecord(msgspec.Struct, frozen=True, kw_only=True, tag="breaker"):
    """How the breaker stands."""

    breaker: BreakerState


class AttemptsRecord(msgspec.Struct, frozen=True, kw_only=True, tag="attempts"):
    """What was tried."""

    attempts: AttemptState


class CanaryRecord(msgspec.Struct, frozen=True, kw_only=True, tag="canary"):
    """Since when the rules are as they are."""

    canary: CanaryState


class ScoresRecord(msgspec.Struct, frozen=True, kw_only=True, tag="scores"):
    """How often what has failed."""

    scores: ScoreState


class SparesRecord(msgspec.Struct, frozen=True, kw_only=True, tag="spares"):
    """Where the spares have got to."""

    spares: SpareState


class RetriesRecord(msgspec.Struct, frozen=True, kw_only=True, tag="retries"):
    """How often which job was restarted."""

    retries: RetryState


StateRecord = (
    RemedyRecord
    | OverrideRecord
    | BoundaryRecord
    | VetoRecord
    | DeniedRecord
    | StopRecord
    | ChoreRecord
    | DepartedRecord
    | LingeringRecord
    | ForgottenRecord
    | RelapsesRecord
    | NodeTestsRecord
    | StartedRecord
    | BudgetRecord
    | BreakerRecord
    | AttemptsRecord
    | CanaryRecord
    | ScoresRecord
    | SparesRecord
    | RetriesRecord
)
