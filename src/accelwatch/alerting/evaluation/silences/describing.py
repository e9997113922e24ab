"""How silences and windows of maintenance become the documents of the API."""

from collections.abc import Collection, Mapping
from typing import Any

from accelwatch.alerting.evaluation.silences.documents import MaintenanceDocument, SilenceDocument
from accelwatch.alerting.incidents.model.silence import Maintenance, Silence
from accelwatch.schema.timestamps import timestamp

_MOST_UNKNOWN = 20


def silence_document(silence: Silence, now: float, counts: Mapping[str, int]) -> SilenceDocument:
    """A silence as the API returns it; `counts` has muted incidents by id."""
    matchers = tuple(map(str, silence.matchers))
    return SilenceDocument(matchers=matchers, **_muting_fields(silence, now, counts))


def window_document(
    window: Maintenance, now: float, counts: Mapping[str, int]
) -> MaintenanceDocument:
    """A window as the API returns it; `counts` has muted incidents by id."""
    return MaintenanceDocument(nodes=window.nodes, **_muting_fields(window, now, counts))


def _muting_fields(
    muting: Silence | Maintenance, now: float, counts: Mapping[str, int]
) -> dict[str, Any]:
    return {
        "id": muting.id,
        "starts": timestamp(muting.starts),
        "ends": timestamp(muting.ends),
        "in_force": muting.starts <= now < muting.ends,
        "by": muting.by,
        "verified": muting.verified,
        "reason": muting.reason,
        "mutes": counts.get(muting.id, 0),
    }


def unknown_in(window: Maintenance, existing: Collection[str]) -> tuple[str, ...]:
    """Nodes of a window that are not known; some of them, where they are many."""
    return tuple(sorted(name for name in window.names if name not in existing)[:_MOST_UNKNOWN])
