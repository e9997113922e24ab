"""Alertmanager: an incident is an alert, sent again while it is open, and ended when it is over.

POST /api/v2/alerts (its openapi.yaml). An alert is known by its labels, so those of an incident must
never change: what changes is in the annotations.
"""

from datetime import UTC, datetime
from typing import Annotated

import msgspec
from msgspec import Meta

from accelwatch.alerting.delivery.formatting.text import body, fitted, headline
from accelwatch.alerting.delivery.transport.post import Poster, PostError, failed, outcome_of
from accelwatch.alerting.sink import Notice, Outcome, SinkContext, Status
from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch.base.errors import ConfigError
from accelwatch.plugins.options import check_url, checked

REPEAT_S = 60.0
# An alert that is not sent again ends by itself: Alertmanager's own resolve_timeout.
KEPT_S = 300.0
_MOST_ANNOTATION = 8000
# Labels that an incident keeps from its beginning to its end; severity may rise.
_IDENTITY = ("rule", "family", "scope", "node", "device", "job", "rack", "vendor", "model")


class AlertmanagerOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options of the sink."""

    # With the prefix before `/api/v2`; of a cluster all of its members.
    url: str | Annotated[tuple[str, ...], Meta(min_length=1, max_length=16)]
    # Added to every alert.
    labels: dict[str, str] = {}
    token: str = ""
    ca_file: str = ""


class AlertmanagerSink:
    """Posts each notice to all members of a cluster; one that accepts it is enough."""

    edits = True
    pace_s = 0.0
    repeat_s = REPEAT_S

    def __init__(self, context: SinkContext) -> None:
        """Raises ConfigError."""
        options = checked(context.options, AlertmanagerOptions)
        urls = (options.url,) if isinstance(options.url, str) else options.url
        self._urls = [f"{check_url(url).rstrip('/')}/api/v2/alerts" for url in urls]
        for name in options.labels:
            if not (name.isascii() and name.replace("_", "a").isalnum() and not name[0].isdigit()):
                raise ConfigError(f"labels: {name[:60]!r} is not a valid label name")
        self._labels = options.labels
        self._headers = {"Content-Type": "application/json"}
        if options.token:
            self._headers["Authorization"] = f"Bearer {options.token}"
        self._clock = context.clock
        self._poster = Poster(context.timeout_s, options.ca_file)

    async def deliver(self, notice: Notice, reference: str) -> Outcome:
        """Send a notice; the reference is the labels, which stay those of the first."""
        labels = _stored_labels(reference) or labels_of(notice, self._labels)
        reference = msgspec.json.encode(labels).decode()
        payload = msgspec.json.encode([alert(notice, labels, self._clock.wall())])
        outcomes = [await self._post(url, payload, reference) for url in self._urls]
        return min(outcomes, key=lambda outcome: list(Status).index(outcome.status))

    async def _post(self, url: str, payload: bytes, reference: str) -> Outcome:
        try:
            return outcome_of(await self._poster.post(url, payload, self._headers), reference)
        except PostError as error:
            return failed(error, reference)

    async def close(self) -> None:
        """Give the connections back."""
        await self._poster.close()


def _stored_labels(reference: str) -> dict[str, str]:
    try:
        return msgspec.json.decode(reference, type=dict[str, str])
    except DECODE_ERRORS:
        return {}


def labels_of(notice: Notice, more: dict[str, str]) -> dict[str, str]:
    """The labels by which the alert is known; those of `more` never replace our own."""
    own = {name: notice.labels[name] for name in _IDENTITY if notice.labels.get(name)}
    ours = {"alertname": notice.rule or "accelwatch", "incident": notice.key}
    ours["severity"] = notice.severity.value
    return {**more, **own, **ours}


def alert(notice: Notice, labels: dict[str, str], now: float) -> dict[str, object]:
    """One alert of the API; an open one ends by itself when it is no longer sent."""
    ends_at = now + KEPT_S if notice.closed is None else min(notice.closed, now)
    annotations = {
        "summary": headline(notice),
        "description": body(notice),
        "severity": notice.severity.value,
    }
    if link := next((approval.link for approval in notice.asks if approval.link), ""):
        annotations["decide_url"] = link
    if notice.runbook:
        annotations["runbook_url"] = notice.runbook
    return {
        "labels": labels,
        "annotations": {name: fitted(text, _MOST_ANNOTATION) for name, text in annotations.items()},
        "startsAt": _rfc3339(min(notice.since, ends_at)),
        "endsAt": _rfc3339(ends_at),
        **({"generatorURL": notice.link} if notice.link else {}),
    }


def _rfc3339(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).isoformat().replace("+00:00", "Z")
