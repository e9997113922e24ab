"""Events on a node object: one for an incident, and one for its end. Pure.

Of core/v1, because there the count and the message of an Event may change; one of events.k8s.io may
change its series only.
"""

import hashlib
from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from accelwatch.alerting.delivery.formatting.text import fitted, headline
from accelwatch.alerting.rules.document import Severity
from accelwatch.alerting.sink import Notice, NoticeKind
from accelwatch_kubernetes_status.condition import camel_case, timestamp_text

# Events on objects without a namespace live there; nothing else is accepted.
NAMESPACE = "default"
COMPONENT = "accelwatch"
# The sequence of the newest notice that an Event counts, so that one that is sent again counts once.
SEQUENCE = "accelwatch.io/sequence"
INCIDENT = "accelwatch.io/incident"
# events.k8s.io refuses to show longer ones.
_MOST_MESSAGE = 1024
# Changes that say nothing new to readers of Events would be a flood.
_COUNTED = frozenset({NoticeKind.OPENED, NoticeKind.REMINDER, NoticeKind.CALLED})


class NodeReference(msgspec.Struct, frozen=True):
    """The node object an Event is about."""

    name: str
    uid: str


class EventMetadata(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Of an Event that is there."""

    annotations: Mapping[str, str] = MappingProxyType({})
    resource_version: str = ""


class ExistingEvent(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What has to be known of an Event that is there."""

    metadata: EventMetadata = EventMetadata()
    count: int = 1


def is_counted(notice: Notice) -> bool:
    """Whether a notice is worth an Event, or one more of its count."""
    return notice.kind in _COUNTED or notice.closed is not None


def event_name(notice: Notice, node: NodeReference) -> str:
    """The same for all notices of one incident on one node object, but for those of its end."""
    phase = "closed" if notice.closed is not None else "open"
    identity = "\0".join((notice.key, node.uid, phase))
    return f"{node.name}.{hashlib.sha256(identity.encode()).hexdigest()[:16]}"


def new_event(notice: Notice, node: NodeReference, now: float) -> dict[str, object]:
    """The Event of core/v1; `now` in Unix seconds."""
    timestamp = timestamp_text(now)
    is_over = notice.closed is not None
    is_normal = is_over or notice.severity is Severity.INFO
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {
            "name": event_name(notice, node),
            "namespace": NAMESPACE,
            "annotations": _annotations(notice),
        },
        "involvedObject": {
            "apiVersion": "v1",
            "kind": "Node",
            "name": node.name,
            "uid": node.uid,
        },
        "reason": camel_case(notice.rule) + ("Over" if is_over else ""),
        "message": fitted(headline(notice), _MOST_MESSAGE),
        "type": "Normal" if is_normal else "Warning",
        "source": {"component": COMPONENT},
        "reportingComponent": COMPONENT,
        "reportingInstance": "",
        "firstTimestamp": timestamp,
        "lastTimestamp": timestamp,
        "count": 1,
    }


def counted_again(notice: Notice, existing: ExistingEvent, now: float) -> dict[str, object] | None:
    """The merge patch of an Event that is there; None where it counts this notice already."""
    if _sequence(existing) >= notice.sequence:
        return None
    return {
        "metadata": {
            "annotations": _annotations(notice),
            "resourceVersion": existing.metadata.resource_version,
        },
        "message": fitted(headline(notice), _MOST_MESSAGE),
        "lastTimestamp": timestamp_text(now),
        "count": existing.count + 1,
    }


def _annotations(notice: Notice) -> dict[str, str]:
    return {INCIDENT: notice.key, SEQUENCE: str(notice.sequence)}


def _sequence(existing: ExistingEvent) -> int:
    text = existing.metadata.annotations.get(SEQUENCE, "")
    return int(text) if text.isascii() and text.isdecimal() else 0
