"""What an Alertmanager sends to a webhook (version 4), as evidence: firing begins it, resolved ends it.

Alerts that we have sent to it ourselves do not count: they would prove themselves for ever.
"""

from typing import Literal

import msgspec

from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch.base.errors import UsageError
from accelwatch.fleet.documents.evidence import NewEvidence, NewEvidences, Severity

SOURCE = "alertmanager"
# Labels that the alerts of our own sink have.
_OURS = frozenset({"incident", "rule"})
# Words that sites use for `severity`; all others are a warning.
_SEVERITIES: dict[str, Severity] = {
    **dict.fromkeys(("critical", "page", "emergency", "error", "fatal"), "critical"),
    **dict.fromkeys(("info", "none", "debug"), "info"),
}


class AlertmanagerAlert(msgspec.Struct, frozen=True, kw_only=True):
    """One alert; fields that are not here are left alone."""

    status: Literal["firing", "resolved"]
    labels: dict[str, str]
    annotations: dict[str, str] = {}
    startsAt: str = ""  # noqa: N815 - Alertmanager's own words
    endsAt: str = ""  # noqa: N815
    fingerprint: str = ""


class AlertmanagerMessage(msgspec.Struct, frozen=True, kw_only=True):
    """What is posted."""

    version: str
    alerts: tuple[AlertmanagerAlert, ...]


def alerts_of(body: bytes) -> NewEvidences:
    """The alerts of a message. Raises UsageError for what is none."""
    try:
        message = msgspec.json.decode(body, type=AlertmanagerMessage)
    except DECODE_ERRORS as error:
        raise UsageError(f"the body is not a message of an Alertmanager: {error}") from error
    others = (alert for alert in message.alerts if not alert.labels.keys() >= _OURS)
    return NewEvidences(source=SOURCE, evidence=tuple(map(_evidence, others)))


def _evidence(alert: AlertmanagerAlert) -> NewEvidence:
    annotations, firing = alert.annotations, alert.status == "firing"
    texts = (annotations.get(name, "") for name in ("summary", "message", "title", "description"))
    name = alert.labels.get("alertname", "") or "unnamed"
    return NewEvidence(
        code=name,
        labels=alert.labels,
        text=next((text for text in texts if text), name),
        severity=_SEVERITIES.get(alert.labels.get("severity", "").lower(), "warning"),
        status="began" if firing else "ended",
        at=alert.startsAt if firing else alert.endsAt,
        key=alert.fingerprint,
    )
