"""What a hub is about to do about an incident, as the first message about it says."""

from collections.abc import Iterable

from accelwatch.alerting.sink import Planned
from accelwatch.remediation.policy.guards.denial import DenialKind
from accelwatch.remediation.policy.plan.model import Plan
from accelwatch.remediation.policy.state.model import Remedy
from accelwatch.remediation.policy.state.stage import Stage

# Stages that lead on by themselves, without a person.
WORKING = frozenset(
    {
        Stage.QUARANTINING,
        Stage.QUARANTINED,
        Stage.FENCING,
        Stage.DRAINING,
        Stage.REMEDIATING,
        Stage.VERIFYING,
        Stage.RELEASING,
    }
)
_WAITS = frozenset({Stage.SUSPECT, Stage.SUPPRESSED, Stage.UNREACHABLE})
# Nothing is done where a rule or the site only observes.
_NOT_BY_ITSELF = frozenset({DenialKind.MODE, DenialKind.CEILING})
# What is in the way while an engine has not looked around: often gone a moment later.
_NOT_YET = frozenset(
    {DenialKind.STARTING, DenialKind.DATA, DenialKind.IDENTITY, DenialKind.STALE_READING}
)
_LEAST_SAVED = 0.1


def works(remedies: Iterable[Remedy]) -> bool:
    """Whether something is done about one of the nodes that comes to an end by itself."""
    return any(remedy.stage in WORKING and not remedy.approval.manual for remedy in remedies)


def is_decided(remedy: Remedy) -> bool:
    """Whether an intent has started, an approval is requested, or something lasting is in the way."""
    if remedy.stage is not Stage.SUSPECT:
        return True
    return remedy.denial is not None and remedy.denial.why not in _NOT_YET


def planned(plan: Plan, remedy: Remedy, now: float) -> Planned | None:
    """What will be done about a node, and when; None where nothing will, or it needs approval first."""
    if not plan.steps or remedy.stage not in (WORKING | _WAITS):
        return None
    denials = plan.steps[0].in_the_way if remedy.stage in _WAITS else ()
    others = [denial for denial in denials if denial.why is not DenialKind.APPROVAL]
    if any(denial.why in _NOT_BY_ITSELF for denial in denials) or (denials and not others):
        return None  # where only an approval is missing, the request for it says so itself
    waits = remedy.clocks.due if remedy.stage is Stage.UNREACHABLE else None
    at = max((denial.until for denial in denials if denial.until is not None), default=waits)
    saved = 0.0 if plan.price is None else plan.price.saved
    return Planned(
        node=remedy.node,
        steps=tuple(step.text for step in plan.steps),
        at=at if at is not None and at > now else None,
        held_back="" if not others else others[0].text,
        saved_gpu_hours=saved if saved >= _LEAST_SAVED else None,
    )
