"""How loud an incident is: whether somebody is woken, has something to look at, or finds it."""

from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.alerting.rules.document import Severity

INFO, WATCH, ALERT = "info", "watch", "alert"
_LEVELS = {Severity.INFO: INFO, Severity.WARNING: WATCH, Severity.CRITICAL: ALERT}
WEIGHT = {INFO: 0, WATCH: 1, ALERT: 2}


def level_of(incident: Incident) -> str:
    """Whether somebody is woken, has something to look at, or only finds it where it is looked for."""
    return _LEVELS[incident.severity]
