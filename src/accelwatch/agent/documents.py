"""/v1/snapshot and /capabilities: the store as JSON."""

from collections.abc import Sequence
from typing import Any

import msgspec

from accelwatch.agent.feed import Feed
from accelwatch.base.errors import UsageError
from accelwatch.exposition.exporter import Exporter
from accelwatch.schema.catalogue.lookup import opt_in_groups
from accelwatch.schema.fields import resolve
from accelwatch.schema.json.plain import plain
from accelwatch.schema.snapshot import SCHEMA, DeviceView, Snapshot, absences
from accelwatch.web.pages.page import JSON, Page, Query, many
from accelwatch.web.pages.routes import Parameter

SNAPSHOT_PARAMETERS = (
    Parameter("fields", "Quantities, separated by commas."),
    Parameter("device", "Only this device, by id, index or name; may be repeated."),
    Parameter("filter", "A condition (docs/expressions.md); may be repeated."),
)
_MAX_EXPRESSION = 2000


def snapshot_page(feed: Feed, exporter: Exporter, query: Query) -> Page:
    """The snapshot as the JSON exporter writes it, cut down to some devices and fields.

    Raises UsageError, UnmetError and ExpressionError for what does not exist.
    """
    snapshot = feed.snapshot()
    chosen = _chosen(snapshot, query)
    if len(chosen) != len(snapshot.devices):
        snapshot = msgspec.structs.replace(snapshot, devices=tuple(chosen))
    return _json(exporter.render(snapshot, {"fields": resolve(many(query, "fields"))}))


def _chosen(snapshot: Snapshot, query: Query) -> list[DeviceView]:
    from accelwatch.node.query.selection import matching, select

    chosen = list(snapshot.devices)
    if devices := many(query, "device"):
        chosen = select(chosen, devices)
    for text in query.get("filter", ()):
        from accelwatch.expr import compile_condition, device_names

        if len(text) > _MAX_EXPRESSION:
            raise UsageError(f"a filter has at most {_MAX_EXPRESSION} characters")
        chosen = matching(chosen, compile_condition(text, device_names()), snapshot.host)
    return chosen


def capabilities_page(
    feed: Feed, configuration: dict[str, bool], workloads: Sequence[object]
) -> Page:
    """Per backend: how it reads, and for each device which quantities it gives and why not the rest."""
    snapshot = feed.snapshot()
    views = (*snapshot.devices, snapshot.node) if snapshot.node else snapshot.devices
    by_backend: dict[str, list[dict[str, Any]]] = {}
    for view in views:
        by_backend.setdefault(view.device.backend, []).append(_abilities(view))
    document = {
        "schema": SCHEMA,
        "version": snapshot.version,
        "host": snapshot.host,
        "groups": opt_in_groups(),
        "configuration": configuration,
        "workloads": workloads,
        "backends": [
            {**plain(status), "quantities": by_backend.get(status.name, [])}
            for status in snapshot.backends
        ],
    }
    return _json(msgspec.json.encode(document) + b"\n")


def _abilities(view: DeviceView) -> dict[str, Any]:
    provided = dict.fromkeys(series[0] for series in view.reading.values)
    return {
        "id": view.device.id,
        "name": view.device.name,
        "state": view.state,
        "available": list(provided),
        "unavailable": {
            ".".join(series): reason for series, reason in sorted(absences(view).items())
        },
    }


def _json(body: bytes) -> Page:
    return Page(body=body, headers={"Content-Type": JSON, "Cache-Control": "no-store"})
