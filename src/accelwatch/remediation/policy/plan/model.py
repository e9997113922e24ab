"""What would be done for a node, as people and the API see it: the structs alone."""

import msgspec

from accelwatch.action.intent import IntentKind
from accelwatch.remediation.policy.guards.denial import Denial
from accelwatch.remediation.policy.state.node_tests import VerificationResult
from accelwatch.remediation.policy.state.stage import Stage


class Price(msgspec.Struct, frozen=True, kw_only=True):
    """Expected, in GPU-hours; reckoned from usual times, not measured."""

    # That the jobs on the node would lose until a person has acted.
    saved: float
    # That it costs: the node while it is out, and its jobs while they begin again.
    lost: float


class Worth(msgspec.Struct, frozen=True, kw_only=True):
    """How much computes there."""

    # Of the node.
    devices: int = 0
    # Of all nodes of the jobs that run on it.
    job_devices: int = 0
    # Of the oldest checkpoint of these jobs, as far as it is known.
    checkpoint_age_s: float = 0.0


class PlanStep(msgspec.Struct, frozen=True, kw_only=True):
    """One intent of a plan."""

    kind: IntentKind
    # For people: `reboot n12`.
    text: str
    # Everything that would keep it from starting if its turn were now.
    in_the_way: tuple[Denial, ...] = ()


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What would be done for a node."""

    node: str
    stage: Stage
    incident: str = ""
    rule: str = ""
    mode: str = ""
    # How sure the rule is: `high` or `low`.
    confidence: str = ""
    # How sure it must be to act without a person's approval.
    act_on: str = ""
    # To which an approval is bound; empty where there is nothing to approve.
    digest: str = ""
    steps: tuple[PlanStep, ...] = ()
    price: Price | None = None
    # For people: why there is nothing to be done, or what could not be, where that is so.
    text: str = ""
    # Unix seconds at which its scheduler showed the node and its jobs so; None where it never did.
    as_of: float | None = None
    # What its tests have come to, the latest last: evidence for or against its return.
    results: tuple[VerificationResult, ...] = ()
    # For people: how often its hardware has failed lately; empty where it has not. Decides nothing.
    record: str = ""
    # For people: the scheduler's answer to a drain, queried just now by a dry run. Decides nothing.
    preview: tuple[str, ...] = ()
