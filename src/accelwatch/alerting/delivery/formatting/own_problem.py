"""What is wrong with this process itself, as an incident that is kept nowhere: every sink is notified of
it at once, whatever routes, silences and quiet hours say. Pure.
"""

import msgspec

from accelwatch.alerting.incidents.model.incident import Facts, Incident, IncidentState
from accelwatch.alerting.rules.document import Advice, Confidence, Scope, Severity
from accelwatch.alerting.rules.verdict import Entity, Evidence

# The first part of the name in the rule field.
RULE = "accelwatch.own"
_ID = "own-"


class OwnProblem(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is wrong with this process."""

    # A word for its kind, such as `journal`: of each kind there is one notification.
    key: str
    # What it means for whoever relies on this process.
    title: str
    # What happened.
    text: str
    what_to_do: str
    severity: Severity = Severity.CRITICAL


def incident_of(problem: OwnProblem, since: float) -> Incident:
    """The incident of a problem that stands since then, Unix seconds."""
    rule = f"{RULE}.{problem.key}"
    return Incident(
        id=f"{_ID}{problem.key}",
        family=rule,
        rule=rule,
        rules=(rule,),
        rule_digest="",
        title=problem.title,
        entity=Entity(scope=Scope.NODE, group="accelwatch itself"),
        facts=Facts(),
        severity=problem.severity,
        confidence=Confidence.HIGH,
        advice=Advice.NONE,
        since=since,
        opened=since,
        updated=since,
        evidence=(Evidence(signal=problem.key, text=problem.text),),
        what_to_do=problem.what_to_do,
    )


def resolved(incident: Incident, now: float) -> Incident:
    """The same incident, over since now."""
    return msgspec.structs.replace(incident, state=IncidentState.CLOSED, closed=now, updated=now)


def is_own(incident: Incident) -> bool:
    """Whether it is about this process, so that no page shows it and nothing holds it back."""
    return is_own_id(incident.id)


def is_own_id(id_: str) -> bool:
    """The same by the incident's id."""
    return id_.startswith(_ID)
