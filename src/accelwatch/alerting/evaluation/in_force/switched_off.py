"""The incident that says which rules cost too much and are not judged any more."""

import socket
from collections.abc import Mapping
from pathlib import Path

from accelwatch.alerting.rules.document import Advice, Confidence, Mode, Scope, Severity, Trust
from accelwatch.alerting.rules.rule import Origin, Rule
from accelwatch.alerting.rules.timing import Timing, Transition
from accelwatch.alerting.rules.verdict import Entity, Evidence, VerdictChange
from accelwatch.expr.rule import compile_rule
from accelwatch.schema.provenance import Provenance

# Never true by itself: who judges rules says when.
SWITCHED_OFF = Rule(
    id="service.rule_switched_off",
    title="A rule costs too much and is no longer evaluated",
    scope=Scope.NODE,
    family="service.rule_switched_off",
    select=None,
    when=compile_rule("1 == 0"),
    confirm=None,
    clear=None,
    timing=Timing(),
    cooldown_s=0.0,
    severity=Severity.WARNING,
    confidence=Confidence.HIGH,
    mode=Mode.OBSERVE,
    trust=Trust.ANY,
    advice=Advice.NONE,
    what_to_do="shorten its windows, or allow more with rules.budget; then reload",
    show=(),
    action=None,
    group=None,
    canary=None,
    local=False,
    runbook="",
    source="processor time of this process",
    origin=Origin(file=Path(__file__), line=1),
    digest="",
)


class SwitchedOffRules:
    """Reports which rules are switched off, when that changes."""

    def __init__(self) -> None:
        self._entity = Entity(scope=Scope.NODE, node=socket.gethostname())
        self._reported: Mapping[str, str] | None = None

    def changes(self, switched_off: Mapping[str, str], wall: float) -> list[VerdictChange]:
        """The verdict changes at a time, in Unix seconds; an incident of before may be over."""
        before, self._reported = self._reported, dict(switched_off)
        if self._reported == before:
            return []
        return [
            VerdictChange(
                rule=SWITCHED_OFF.id,
                entity=self._entity,
                transition=Transition.FIRED if switched_off else Transition.CLEARED,
                time=wall,
                since=wall,
                provenance=Provenance.AUTHENTICATED,
                evidence=tuple(
                    Evidence(signal=rule, text=f"rule {rule} is switched off: {why}")
                    for rule, why in switched_off.items()
                ),
            )
        ]
