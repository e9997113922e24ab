"""What calls a person though no incident is of it: an idle spare that fails its test, a job that died of
itself. People are notified as of an incident, once, and it is kept nowhere. Pure.
"""

import hashlib

from accelwatch.alerting.incidents.model.incident import Facts, Incident
from accelwatch.alerting.rules.document import Advice, Confidence, Scope, Severity
from accelwatch.alerting.rules.verdict import Entity

_ID = "call-"
# In the rule field: routes and silences match it.
RULE = "accelwatch.remediation"
_WHAT_TO_DO = "look at it: accelwatch remedy list, accelwatch remedy spares, and the log of the hub"


def entity_of(node: str) -> Entity:
    """Whom a call is about: a node, or nobody in particular."""
    return Entity(scope=Scope.NODE, node=node, group="" if node else "the cluster")


def call_of(text: str, entity: Entity, facts: Facts, now: float) -> Incident:
    """The call, in the shape of an incident; the same words of the same node have the same id."""
    digest = hashlib.sha256(f"{entity.node}\n{text}".encode()).hexdigest()[:12]
    return Incident(
        id=f"{_ID}{digest}",
        family=RULE,
        rule=RULE,
        rules=(RULE,),
        rule_digest="",
        title=text,
        entity=entity,
        facts=facts,
        severity=Severity.WARNING,
        confidence=Confidence.HIGH,
        advice=Advice.NONE,
        since=now,
        opened=now,
        updated=now,
        nodes=(entity.node,) if entity.node else (),
        what_to_do=_WHAT_TO_DO,
    )


def is_call(incident: Incident) -> bool:
    """Whether it is a call, which no page shows as an incident."""
    return incident.id.startswith(_ID)
