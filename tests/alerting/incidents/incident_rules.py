"""Rules and verdicts that the tests of incidents are made of."""

from pathlib import Path

from accelwatch.alerting.rules.document import Advice, Confidence, Mode, Scope, Severity, Trust
from accelwatch.alerting.rules.rule import Grouping, Origin, Rule
from accelwatch.alerting.rules.timing import Timing, Transition
from accelwatch.alerting.rules.verdict import (
    Entity,
    Evidence,
    VerdictChange,
)
from accelwatch.expr.rule import compile_rule

START = 1_800_000_000.0


def rule(
    id_: str = "gpu.lost",
    *,
    family: str = "",
    severity: Severity = Severity.WARNING,
    cooldown_s: float = 600.0,
    group: Grouping | None = None,
    advice: Advice = Advice.REBOOT,
) -> Rule:
    return Rule(
        id=id_,
        title=f"Title of {id_}",
        scope=Scope.DEVICE,
        family=family or id_,
        select=None,
        when=compile_rule("device_up == 0"),
        confirm=None,
        clear=None,
        timing=Timing(),
        cooldown_s=cooldown_s,
        severity=severity,
        confidence=Confidence.HIGH,
        mode=Mode.OBSERVE,
        trust=Trust.AUTHENTICATED,
        advice=advice,
        what_to_do="reboot the node",
        show=(),
        action=None,
        group=group,
        canary=None,
        local=False,
        runbook="",
        source="test",
        origin=Origin(file=Path("test.yaml"), line=1),
        digest=f"digest of {id_}",
    )


def device(node: str = "n1", number: int = 0) -> Entity:
    return Entity(scope=Scope.DEVICE, node=node, device=f"nvidia:{node}-{number}")


def change(
    transition: Transition,
    at_s: float,
    *,
    rule_id: str = "gpu.lost",
    entity: Entity | None = None,
    evidence: tuple[Evidence, ...] = (),
) -> VerdictChange:
    return VerdictChange(
        rule=rule_id,
        entity=entity or device(),
        transition=transition,
        time=START + at_s,
        since=START + at_s - 10,
        evidence=evidence,
    )
