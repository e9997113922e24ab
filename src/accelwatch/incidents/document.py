"""An incident as JSON: every moment as RFC 3339, its labels beside it."""

from typing import Any

import msgspec

from accelwatch.incidents.incident import Incident
from accelwatch.schema.moments import timestamp

SCHEMA = "accelwatch.incidents/1"
_MOMENTS = ("since", "opened", "updated", "closed", "time")


def incident_document(incident: Incident) -> dict[str, Any]:
    """What is known of it, by the names of its fields."""
    document = _dated(msgspec.to_builtins(incident))
    document["evidence"] = [_dated(one) for one in document["evidence"]]
    document["timeline"] = [_dated(one) for one in document["timeline"]]
    document["labels"] = {name: word for name, word in incident.labels().items() if word}
    return document


def _dated(fields: dict[str, Any]) -> dict[str, Any]:
    dated = {
        name: timestamp(fields[name]) for name in _MOMENTS if isinstance(fields.get(name), float)
    }
    return {**fields, **dated}
