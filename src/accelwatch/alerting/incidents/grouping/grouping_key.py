"""What incidents of a group have in common, as a text: `rack=r7`, `labels.pool=train` or `fleet`."""

from typing import TYPE_CHECKING

from accelwatch.alerting.incidents.model.incident import Incident

if TYPE_CHECKING:
    from accelwatch.alerting.rules.rule import Grouping, Rule

# What members have in common that need have nothing in common but their family.
FLEET = "fleet"
LABEL = "labels."
RACK = "rack="
NODE = "node="


def common_of(incident: Incident, grouping: "Grouping") -> str | None:
    """What an incident has in common with others; None where it is not known."""
    if grouping.by == FLEET:
        return FLEET
    value = _value(incident, grouping.by)
    return f"{grouping.by}={value}" if value else None


def may_join_group(incident: Incident, rule: "Rule") -> bool:
    """Whether a rule groups its incidents, and this one has what they are grouped by."""
    return rule.group is not None and common_of(incident, rule.group) is not None


def rack_of(incident: Incident) -> str:
    """The rack that an incident is in; empty where it is not known."""
    return incident.entity.rack or incident.facts.labels.get("rack", "")


def _value(incident: Incident, by: str) -> str:
    own = {
        "node": incident.entity.node,
        "job": incident.entity.job or next(iter(incident.facts.jobs), ""),
        # Where nobody says in which rack nodes stand, they stand in one.
        "rack": rack_of(incident) or "unknown",
        "model": incident.facts.model,
        "driver_version": incident.facts.driver_version,
    }
    return own[by] if by in own else incident.facts.labels.get(by.removeprefix(LABEL), "")
