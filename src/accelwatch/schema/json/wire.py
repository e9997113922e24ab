"""The JSON form `accelwatch/2`: a snapshot as a document and back.

Keys are the catalogue's. An unknown value is null and has its reason in the sibling map `absent`; every
timestamp is RFC 3339. Reading ignores unknown fields, accepts `accelwatch/1` too, and refuses a newer
major version.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch.base.errors import WireError
from accelwatch.schema.catalogue.lookup import catalogue, host_metrics
from accelwatch.schema.device import Device, DeviceState
from accelwatch.schema.event import ErrorEvent
from accelwatch.schema.health import Health
from accelwatch.schema.json.plain import entries_of, plain_all
from accelwatch.schema.metrics import Kind, Metric, MetricSource, Scope
from accelwatch.schema.reading import Link, Process, Reading
from accelwatch.schema.series import flatten, nest, path_of, series_of
from accelwatch.schema.snapshot import (
    SCHEMA,
    BackendStatus,
    DeviceView,
    EventCount,
    Owner,
    ReadFailure,
    Snapshot,
    absences,
)
from accelwatch.schema.timestamps import timestamp, unix_seconds
from accelwatch.schema.values.plausible import believed

_IDENTITY = tuple(name for name in Device.__struct_fields__ if name != "absent")
_SCHEMA = re.compile(r"accelwatch/(\d+)")
_MAJOR = int(SCHEMA.rpartition("/")[2])


# The catalogue is constant, so the result is never invalid.
@cache
def device_rows() -> tuple[Metric, ...]:
    """The catalogue rows that are keys of a device in the document."""
    return tuple(
        row
        for row in catalogue()
        if row.scope is Scope.DEVICE
        and row.kind is not Kind.HISTOGRAM
        and (row.source is MetricSource.READ or row.over_time)
    )


def _quantities(reading: Reading, rows: Iterable[Metric]) -> dict[str, Any]:
    document: dict[str, Any] = {}
    for row in rows:
        document[row.key] = {} if row.labels else None
    for series, value in reading.values.items():
        if series[0] in document:
            nest(document, series, value)
    for series in reading.absent:
        if len(series) > 1 and series[0] in document and series not in reading.values:
            nest(document, series, None)
    return {key: None if value == {} else value for key, value in document.items()}


def _absences(view: DeviceView) -> dict[str, str]:
    reasons = {path_of(series): reason.value for series, reason in absences(view).items()}
    for name, reason in view.device.absent.items():
        reasons[name] = reason.value
    return reasons


def view_document(view: DeviceView, rows: Iterable[Metric]) -> dict[str, Any]:
    """One device: identity, state, then every quantity of `rows`, then what explains the gaps."""
    identity = {name: getattr(view.device, name) for name in _IDENTITY}
    return {
        **identity,
        "state": view.state,
        "state_since": timestamp(view.state_since) if view.state_since else None,
        "sample_time": None if view.sample_time is None else timestamp(view.sample_time),
        "sample_age_s": None if view.sample_age_s is None else round(view.sample_age_s, 3),
        "health": view.health,
        "health_reasons": view.health_reasons,
        "owners": plain_all(view.owners),
        **_quantities(view.reading, rows),
        "links": view.reading.links,
        "event_counts": plain_all(view.event_counts),
        "absent": _absences(view),
        "sources": view.reading.sources,
        "notes": view.reading.notes,
    }


def to_document(snapshot: Snapshot) -> dict[str, Any]:
    """The whole snapshot as plain objects, ready for a JSON encoder."""
    rows = device_rows()
    node = snapshot.node
    return {
        "schema": SCHEMA,
        "version": snapshot.version,
        "host": snapshot.host,
        "boot_id": snapshot.boot_id or None,
        "time": timestamp(snapshot.time),
        "interval_s": snapshot.interval_s,
        "backends": plain_all(snapshot.backends),
        "node": None if node is None else view_document(node, host_metrics()),
        "devices": [view_document(view, rows) for view in snapshot.devices],
        "processes": plain_all(snapshot.processes()),
        "events": plain_all(snapshot.events),
        "errors": plain_all(snapshot.errors),
    }


def encode(snapshot: Snapshot) -> bytes:
    """The snapshot as one JSON document without line breaks."""
    return msgspec.json.encode(to_document(snapshot))


def decode(data: bytes) -> Snapshot:
    """A document back as a snapshot. Raises WireError for damage and for a newer major version."""
    try:
        document = msgspec.json.decode(data, type=dict[str, Any])
    except DECODE_ERRORS as error:
        raise WireError(f"not a snapshot document: {error}") from error
    _check_schema(document.get("schema"))
    try:
        return _snapshot(document)
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        raise WireError(f"not a snapshot document: {error}") from error


def _check_schema(schema: object) -> None:
    match = _SCHEMA.fullmatch(schema) if isinstance(schema, str) else None
    if match is None:
        raise WireError(f"not a snapshot document: schema is {schema!r}, expected {SCHEMA!r}")
    if int(match[1]) > _MAJOR:
        raise WireError(
            f"written as {schema}, newer than this version reads ({SCHEMA}); upgrade accelwatch"
        )


def _snapshot(document: dict[str, Any]) -> Snapshot:
    node = document.get("node")
    processes = entries_of(document.get("processes"), Process)
    by_device: dict[str, list[Process]] = {}
    for process in processes:
        by_device.setdefault(process.device_id, []).append(process)
    return Snapshot(
        time=unix_seconds(document["time"]),
        host=str(document.get("host", "")),
        version=str(document.get("version", "")),
        boot_id=document.get("boot_id") or "",
        interval_s=document.get("interval_s"),
        backends=entries_of(document.get("backends"), BackendStatus),
        node=None if node is None else _view(node, host_metrics(), by_device),
        devices=tuple(
            _view(item, device_rows(), by_device) for item in document.get("devices", [])
        ),
        events=entries_of(document.get("events"), ErrorEvent),
        errors=entries_of(document.get("errors"), ReadFailure),
    )


def _view(
    item: dict[str, Any], rows: Iterable[Metric], by_device: Mapping[str, list[Process]]
) -> DeviceView:
    device = msgspec.convert({name: item[name] for name in _IDENTITY if name in item}, Device)
    absent: dict[tuple[str, ...], Absence] = {}
    identity_absent: dict[str, Absence] = {}
    for path, reason in (item.get("absent") or {}).items():
        if path in _IDENTITY:
            identity_absent[path] = Absence(reason)
        else:
            absent[series_of(path)] = Absence(reason)
    values = {
        series: value
        for row in rows
        for series, value in flatten(row.key, item.get(row.key), len(row.labels))
        if isinstance(value, int | float) and not isinstance(value, bool)
    }
    for series in [series for series, value in values.items() if not believed(series, value)]:
        del values[series]
        absent[series] = Absence.ERROR
    processes = by_device.get(device.id)
    unread = ("processes",) in absent or ("*",) in absent
    reading = Reading(
        device_id=device.id,
        values=values,
        absent=absent,
        processes=tuple(processes) if processes else (None if unread else ()),
        links=msgspec.convert(item.get("links", []), tuple[Link, ...]),
        sources=msgspec.convert(item.get("sources", {}), dict[str, str]),
        notes=msgspec.convert(item.get("notes", []), tuple[str, ...]),
    )
    sampled = item.get("sample_time")
    return DeviceView(
        device=msgspec.structs.replace(device, absent=identity_absent),
        state=DeviceState(item["state"]),
        state_since=0.0 if item["state_since"] is None else unix_seconds(item["state_since"]),
        reading=reading,
        sample_time=None if sampled is None else unix_seconds(sampled),
        sample_age_s=item.get("sample_age_s"),
        health=Health(item.get("health", "unknown")),
        health_reasons=msgspec.convert(item.get("health_reasons", []), tuple[str, ...]),
        owners=entries_of(item.get("owners"), Owner),
        event_counts=entries_of(item.get("event_counts"), EventCount),
    )
