"""Which remedy is next: rungs in their order, each as often as the policy lets it be tried."""

from collections.abc import Mapping
from types import MappingProxyType

from accelwatch.action.intent import IntentKind as Kind
from accelwatch.remediation.policy.state.model import Remedy
from accelwatch.remediation.policy.state.step_context import StepContext

INTENTS: Mapping[str, Kind] = MappingProxyType(
    {"reset": Kind.RESET_DEVICE, "reboot": Kind.REBOOT, "power_cycle": Kind.POWER_CYCLE}
)
SERVICE = "service"


def impossible(ctx: StepContext, kind: Kind) -> str:
    """Why none of the schedulers can do something to any node; empty where one can, or none has said."""
    reasons = [one.impossible.get(kind, "") for one in ctx.world.schedulers.values()]
    return "; ".join(dict.fromkeys(reasons)) if reasons and all(reasons) else ""


def next_rung(remedy: Remedy) -> str:
    """The name of the next rung; `service` when all were tried; empty where the policy has none."""
    if remedy.policy is None:
        return ""
    for rung in remedy.policy.ladder[remedy.rung :]:
        if rung.name == SERVICE:
            return SERVICE
        if rung.name in INTENTS and _tried(remedy, rung.name) < rung.most:
            return rung.name
    return SERVICE if remedy.policy.ladder else ""


def _tried(remedy: Remedy, rung: str) -> int:
    return sum(attempt.rung == rung for attempt in remedy.attempts)
