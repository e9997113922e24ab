"""Alerts that fire again after a restart, because their incidents were open before it."""

from collections.abc import Iterable

from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.alerting.rules.alert_states import AlertStates


def restore_firing(
    incidents: Iterable[Incident], alert_states: AlertStates, wall: float, now: float
) -> None:
    """Let rules fire of which incidents are open and nothing is known: only they say when it is over.

    They fired before this process began, or said something else until now. `wall` in Unix seconds,
    `now` in monotonic seconds.
    """
    for incident in incidents:
        if incident.is_open and not incident.entity.group:
            since = now - max(wall - incident.since, 0.0)
            for rule in incident.rules:
                if incident.entity not in alert_states.of(rule):
                    alert_states.restore(rule, incident.entity, since)
