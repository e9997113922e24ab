"""The state of the pure part of the engine: remedies, holds, commands of people, observations.

`RemedyState` is restored from the journal's records (`records.replay`); only `world` is not, for
observations have to be made again.
"""

from collections.abc import Mapping

import msgspec

from accelwatch.action.intent import Intent, IntentKind, JobKey, OwnerAnnotation
from accelwatch.alerting.rules.document import QuarantineLevel
from accelwatch.remediation.policy.guards.denial import Denial
from accelwatch.remediation.policy.guards.limits.attempts import AttemptState
from accelwatch.remediation.policy.guards.limits.breaker import BreakerState
from accelwatch.remediation.policy.guards.limits.budget import BudgetState
from accelwatch.remediation.policy.guards.limits.canary import CanaryState
from accelwatch.remediation.policy.guards.retry.job_history import RetryState
from accelwatch.remediation.policy.state.case import Case, Policy
from accelwatch.remediation.policy.state.node_tests import NodeTests, VerificationResult
from accelwatch.remediation.policy.state.orders import Boundary, Denied, Override, Stop, Veto
from accelwatch.remediation.policy.state.relapses import Relapses
from accelwatch.remediation.policy.state.score import ScoreState
from accelwatch.remediation.policy.state.spares.model import SpareState
from accelwatch.remediation.policy.state.stage import Stage
from accelwatch.remediation.policy.state.world import World


class NodeQuarantine(msgspec.Struct, frozen=True, kw_only=True):
    """Our mark on a node: one for all incidents that hold it, gone when none is left."""

    node: str
    mark: OwnerAnnotation
    # Name of the action whose scheduler bears the mark; empty where that was not recorded.
    action: str = ""
    level: QuarantineLevel = QuarantineLevel.NODE
    # What alone is out, by `DeviceKey.id`; only where the level is that of devices.
    devices: tuple[str, ...] = ()
    # As the scheduler showed it; with `set_at` and `reason` it is how we know our own mark again.
    set_by: str = ""
    # Unix seconds.
    set_at: float | None = None
    reason: str = ""
    observed_at: float | None = None
    # What stood there before.
    original: Mapping[str, str] = {}
    # Start of the scheduler's controller under which the mark was seen last; empty where not known.
    controller_boot: str = ""
    # Of the node that bears the mark, as the scheduler showed it; empty where it shows none.
    incarnation: str = ""


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """A started rung of the ladder; it counts from its decision."""

    rung: str
    # Unix seconds.
    at: float


class Verification(msgspec.Struct, frozen=True, kw_only=True):
    """How far a node has shown that it is well; for how long it looks so is seen in the world."""

    # Unix seconds.
    since: float
    # Of boot and hardware; another generation restarts the verification.
    generation: str
    # Active tests.
    passed: tuple[str, ...] = ()


class ApprovalStep(msgspec.Struct, frozen=True):
    """One step of the plan in a request for approval, as it was shown."""

    kind: IntentKind
    text: str


class JobProgress(msgspec.Struct, frozen=True, kw_only=True):
    """How far the jobs of a node have got, and the spare and the fence that they need."""

    # A job goes: signalled -> moved or cancelled (`handled`). One whose launcher fails is
    # `unswapped` and moved instead; one on a silent node is `stranded` until the fence; one that
    # has died is `lost` and restarted.
    signalled: tuple[JobKey, ...] = ()
    signalled_at: float | None = None
    # Jobs that were moved, or that cannot be.
    handled: tuple[JobKey, ...] = ()
    # Jobs whose launcher did not go on without the node: they are moved instead.
    unswapped: tuple[JobKey, ...] = ()
    # Jobs that had left the node before its quarantine, and whose end is known.
    looked_for: tuple[JobKey, ...] = ()
    # Jobs that have died there before they could be moved.
    lost: tuple[JobKey, ...] = ()
    # Unix seconds at which that was seen of the latest.
    lost_at: float | None = None
    # By which jobs were moved, with what is to be put back.
    moved: tuple[Intent, ...] = ()
    # Moves that have ended before their jobs ran elsewhere, with what is to be put back.
    unfinished: tuple[Intent, ...] = ()
    # Who stands in for it, by the scheduler's name.
    spare: str = ""
    # Whether nobody could be drawn the last time: its jobs go on without until somebody can.
    spareless: bool = False
    # Unix seconds at which a spare was drawn last that does not work yet.
    spare_asked: float | None = None
    # Whether it was proven that nothing runs on the node, since it stopped answering.
    fenced: bool = False
    # Jobs that wait for a fence, or were there when it began: they may be held in the queue by now.
    stranded: tuple[JobKey, ...] = ()
    # Whether a job could not leave the node because that did not answer.
    fence_first: bool = False
    # Other nodes that a moved job could not leave, and of which people were notified.
    hanging: tuple[str, ...] = ()


class Approval(msgspec.Struct, frozen=True, kw_only=True):
    """Requests for approval of a node, their answers, and what people want of it."""

    # A person quarantined the node: only a person releases it.
    manual: bool = False
    # Who that was, and why: `ana: swap the riser`.
    wanted_out: str = ""
    # Who said that the node is well, and so skips the passive time.
    vouched: str = ""
    # Who wanted it back whatever is seen.
    forced: str = ""
    # Who approved the plan.
    approved: str = ""
    # Digest of the plan that was approved.
    approved_plan: str = ""
    # Unix seconds of the newest evidence for which nobody answered.
    expired: float | None = None
    # Digest of the plan in the request for approval.
    asked: str = ""
    # Its steps; they are shown also while the scheduler does not answer.
    asked_steps: tuple[ApprovalStep, ...] = ()
    # Unix seconds at which the scheduler showed the node and its jobs so.
    asked_as_of: float | None = None


class Repair(msgspec.Struct, frozen=True, kw_only=True):
    """What was tried to mend a node, how that went, and how far it has shown that it is well."""

    attempts: tuple[Attempt, ...] = ()
    # Index in the policy's ladder.
    rung: int = 0
    # Of the devices that belonged to the node when it was suspected first, by slot.
    serials: Mapping[str, str] = {}
    # Rungs that were refused, that have failed, or that cannot be done here, each with the reason.
    left_out: tuple[str, ...] = ()
    ticketed: bool = False
    # Which test it has failed; it is not well before something was done about it.
    unfit: str = ""
    verification: Verification | None = None
    # What its tests have come to, the latest last: evidence for or against its return.
    results: tuple[VerificationResult, ...] = ()
    # How often in a row it was quarantined again soon after its release, this time included.
    relapses: int = 0


class Clocks(msgspec.Struct, frozen=True, kw_only=True):
    """When a remedy began, since when it is in its stage, and what it waits for."""

    # Unix seconds at which it came to its stage.
    since: float
    # Unix seconds at which the stage's clock runs out.
    due: float | None = None
    begun: float
    # Of what a person was notified that it still waits, in this stage.
    overdue: str = ""


class Remedy(msgspec.Struct, frozen=True, kw_only=True):
    """The flow of one node, from the first suspicion until it works again."""

    node: str
    stage: Stage
    clocks: Clocks
    approval: Approval = Approval()
    jobs: JobProgress = JobProgress()
    repair: Repair = Repair()
    # The scheduler's name of the machine, once it was proven to be the same.
    target: str = ""
    # What is wrong with the node; a closed one is gone.
    cases: tuple[Case, ...] = ()
    # Of the case that leads; None when a person alone began it.
    policy: Policy | None = None
    # The policy of the quarantine; only while a stricter one counts instead.
    first_policy: Policy | None = None
    # The incident of that stricter policy.
    led_by: str = ""
    # The incident that leads, by which our mark is known; also after it was closed.
    incident: str = ""
    hold: NodeQuarantine | None = None
    # Whether the scheduler has lost its state, and our mark with it: the node accepts work again though
    # nobody wanted that. It counts as quarantined until its mark is set again or a person decides.
    mark_lost: bool = False
    # The one intent in flight; in stage `unknown` the one whose outcome nobody knows.
    pursuing: Intent | None = None
    cancelling: bool = False
    # In which stage something failed, or the doubt began.
    came_from: Stage | None = None
    failures: int = 0
    # What could not be done, or whose outcome is unknown; in stage `failed` or `unknown`.
    trouble: str = ""
    # What stands in the way now.
    denial: Denial | None = None

    @property
    def scheduler_name(self) -> str:
        """The scheduler's name of the machine; the hub's until it was proven to be the same."""
        return self.target or self.node

    @property
    def pursued_kind(self) -> IntentKind | None:
        """The kind of intent in flight."""
        return None if self.pursuing is None else self.pursuing.kind

    @property
    def counts(self) -> bool:
        """Whether it is a quarantine of ours, or may become one: it counts against the budgets."""
        return (
            self.hold is not None
            or self.mark_lost
            or self.stage is Stage.QUARANTINING
            or self.pursued_kind is IntentKind.QUARANTINE
        )


class Departed(msgspec.Struct, frozen=True, kw_only=True):
    """A job that ran on nodes and is not shown there any more."""

    job: JobKey
    # Unix seconds at which it was first seen to be gone, from the latest of them.
    at: float
    # By the scheduler's names.
    nodes: tuple[str, ...]
    # Whether its user wants it restarted when it has died of itself, and nobody has looked yet.
    begin_again: bool = False


class RemedyState(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the pure part knows."""

    # Of the lease; it goes with every mark.
    token: int = 0
    # Unix seconds at which this engine began; None before.
    started: float | None = None
    # By node.
    remedies: Mapping[str, Remedy] = {}
    overrides: Mapping[str, Override] = {}
    boundaries: Mapping[str, Boundary] = {}
    vetoes: Mapping[str, Veto] = {}
    # By node.
    denied: Mapping[str, Denied] = {}
    stop: Stop | None = None
    # What is to be given back when it can be: by job or spare.
    chores: Mapping[str, Intent] = {}
    # By job: who has left a node lately, and may have died of it.
    departed: Mapping[str, Departed] = {}
    # By node: an intent that is not wanted any more and whose end is not known.
    lingering: Mapping[str, Intent] = {}
    # By node: the incident of a mark of ours that a person wanted left alone.
    forgotten: Mapping[str, str] = {}
    # By node.
    relapses: Mapping[str, Relapses] = {}
    # By the hub's name of the node.
    tests: Mapping[str, NodeTests] = {}
    budget: BudgetState = BudgetState()
    breaker: BreakerState = BreakerState()
    attempts: AttemptState = AttemptState()
    canary: CanaryState = CanaryState()
    scores: ScoreState = ScoreState()
    spares: SpareState = SpareState()
    retries: RetryState = RetryState()
    world: World = World()
