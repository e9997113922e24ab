"""How urgent an incident is: it wakes somebody, asks for attention, or is only listed."""

from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.alerting.rules.document import Severity

INFO, WATCH, ALERT = "info", "watch", "alert"
_LEVELS = {Severity.INFO: INFO, Severity.WARNING: WATCH, Severity.CRITICAL: ALERT}
WEIGHT = {INFO: 0, WATCH: 1, ALERT: 2}


def level_of(incident: Incident) -> str:
    """Whether it wakes somebody, asks for attention, or is only listed."""
    return _LEVELS[incident.severity]
