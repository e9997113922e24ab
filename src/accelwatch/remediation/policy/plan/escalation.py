"""Which remedy is next: rungs in their order, each as often as the policy lets it be tried."""

from collections.abc import Mapping
from types import MappingProxyType

from accelwatch.action.intent import IntentKind as Kind
from accelwatch.remediation.policy.context.views import NodeView
from accelwatch.remediation.policy.state.model import Remedy

INTENTS: Mapping[str, Kind] = MappingProxyType(
    {"reset": Kind.RESET_DEVICE, "reboot": Kind.REBOOT, "power_cycle": Kind.POWER_CYCLE}
)
SERVICE = "service"


def impossible(ctx: NodeView, kind: Kind) -> str:
    """Why none of the schedulers can do something to any node; empty where one can, or none has said."""
    reasons = [scheduler.impossible.get(kind, "") for scheduler in ctx.world.schedulers.values()]
    return "; ".join(dict.fromkeys(reasons)) if reasons and all(reasons) else ""


def next_escalation_step(remedy: Remedy) -> str:
    """The name of the next rung; `service` when all were tried; empty where the policy has none."""
    if remedy.policy is None:
        return ""
    for step in remedy.policy.ladder[remedy.repair.rung :]:
        if step.name == SERVICE:
            return SERVICE
        if step.name in INTENTS and _tried(remedy, step.name) < step.most:
            return step.name
    return SERVICE if remedy.policy.ladder else ""


def _tried(remedy: Remedy, step_name: str) -> int:
    return sum(attempt.rung == step_name for attempt in remedy.repair.attempts)
