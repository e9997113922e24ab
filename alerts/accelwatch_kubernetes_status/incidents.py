"""The open incidents of a node, as its own annotation keeps them. Pure.

The node object remembers them, not the hub: a hub that was started anew, or a second one of the same
cluster, neither forgets an incident that is still open nor ends the condition too early.
"""

from collections.abc import Iterable, Mapping

import msgspec

from accelwatch.alerting.delivery.formatting.text import fitted
from accelwatch.alerting.rules.document import Severity
from accelwatch.alerting.sink import Notice
from accelwatch.base.decode_errors import DECODE_ERRORS

# JSON: by key of the incident.
ANNOTATION = "accelwatch.io/incidents"
# A node with more has one cause; the limit of all annotations of an object is 256 KiB.
MOST_INCIDENTS = 32
_MOST_TITLE = 200
_MOST_RULE = 128
# What is wrong with our own service on a node says nothing about its accelerators, but that nobody
# sees them.
_UNOBSERVED = "service"


class OpenIncident(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an incident says of the accelerators of one node."""

    rule: str
    severity: Severity
    title: str
    # Unix seconds at which it began.
    since: float
    # Whether it says that nobody can see the accelerators, rather than that they are bad.
    unknown: bool = False

    @property
    def weight(self) -> tuple[bool, int, float]:
        """Greater is worse: what is bad goes before what is not seen, and the older one first."""
        return not self.unknown, self.severity.weight, -self.since


def open_incident(
    notice: Notice, least: Severity, ignored_families: Iterable[str]
) -> OpenIncident | None:
    """What a notice says of accelerators; None where its incident is over, or not about them."""
    if notice.closed is not None or not notice.trusted:
        return None
    family = notice.labels.get("family", "")
    unknown = is_of_family(family, _UNOBSERVED)
    if not unknown and notice.severity.weight < least.weight:
        return None
    if any(is_of_family(family, ignored) for ignored in ignored_families):
        return None
    return OpenIncident(
        rule=fitted(notice.rule, _MOST_RULE),
        severity=notice.severity,
        title=fitted(notice.title, _MOST_TITLE),
        since=notice.since,
        unknown=unknown,
    )


def is_of_family(family: str, prefix: str) -> bool:
    """Whether a family is `prefix`, or one below it: `kernel.memory` is of `kernel`."""
    return family == prefix or family.startswith(f"{prefix}.")


def read_incidents(text: str) -> dict[str, OpenIncident]:
    """What an annotation says; nothing where another client wrote something else there."""
    try:
        return msgspec.json.decode(text, type=dict[str, OpenIncident])
    except DECODE_ERRORS:
        return {}


def written_incidents(incidents: Mapping[str, OpenIncident]) -> str | None:
    """The annotation, the same for the same incidents; None where there is nothing to write."""
    if not incidents:
        return None
    return msgspec.json.encode(incidents, order="deterministic").decode()


def with_incident(
    incidents: Mapping[str, OpenIncident], key: str, incident: OpenIncident | None
) -> dict[str, OpenIncident]:
    """The incidents with one more, changed or gone; beyond MOST_INCIDENTS the worst are kept."""
    changed = {name: other for name, other in incidents.items() if name != key}
    if incident is not None:
        changed[key] = incident
    worst = sorted(changed, key=lambda name: changed[name].weight, reverse=True)
    return {name: changed[name] for name in worst[:MOST_INCIDENTS]}
