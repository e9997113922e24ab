"""Lists as `kubectl get` prints them: rows of cells that the server makes. Pure."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any, NamedTuple

_META = "meta.k8s.io/v1"
Object = dict[str, Any]


class Column(NamedTuple):
    """One column; with priority 1 only `-o wide` shows it."""

    name: str
    # Of an object, at a time in Unix seconds.
    cell: Callable[[Object, float], object]
    priority: int = 0


def is_table_requested(accept: str) -> bool:
    """Whether a request's Accept header prefers rows of cells, as kubectl's does."""
    return "as=Table" in accept.partition(",")[0]


def table_of(resource: str, objects: Iterable[Object], metadata: Object, now: float) -> Object:
    """The table of a resource's objects, `nodes`; names and ages of one without columns of its own."""
    columns = _COLUMNS.get(resource, _ANY)
    return {
        "kind": "Table",
        "apiVersion": _META,
        "metadata": metadata,
        "columnDefinitions": [
            {
                "name": column.name,
                "type": "string",
                "format": "name" if column.name == "Name" else "",
                "description": "",
                "priority": column.priority,
            }
            for column in columns
        ],
        "rows": [
            {
                "cells": [column.cell(each, now) for column in columns],
                "object": {
                    "kind": "PartialObjectMetadata",
                    "apiVersion": _META,
                    "metadata": each["metadata"],
                },
            }
            for each in objects
        ],
    }


def _name(each: Object, _: float) -> object:
    return each["metadata"]["name"]


def _age(each: Object, now: float) -> object:
    return _since(each["metadata"].get("creationTimestamp"), now)


def _since(text: object, now: float) -> str:
    if not text:
        return "<unknown>"
    return duration_text(now - datetime.fromisoformat(str(text)).timestamp())


def duration_text(seconds: float) -> str:
    """As kubectl writes it: `90s`, `5m3s`, `47m`, `3h12m`, `2d4h`."""
    total = max(int(seconds), 0)
    minutes, hours, days = total // 60, total // 3600, total // 86400
    if total < 120:
        return f"{total}s"
    if minutes < 10:
        return f"{minutes}m{total % 60}s" if total % 60 else f"{minutes}m"
    if hours < 3:
        return f"{minutes}m"
    if hours < 8:
        return f"{hours}h{minutes % 60}m" if minutes % 60 else f"{hours}h"
    if days < 2:
        return f"{hours}h"
    return f"{days}d{hours % 24}h" if days < 8 and hours % 24 else f"{days}d"


def _status(each: Object) -> Object:
    status: Object = each.get("status") or {}
    return status


def _node_status(each: Object, _: float) -> object:
    ready = [
        condition["status"]
        for condition in _status(each).get("conditions") or ()
        if condition["type"] == "Ready"
    ]
    tokens = ["Unknown" if not ready else "Ready" if ready == ["True"] else "NotReady"]
    tokens += ["SchedulingDisabled"] if (each.get("spec") or {}).get("unschedulable") else []
    return ",".join(tokens)


def _node_info(field: str) -> Callable[[Object, float], object]:
    return lambda each, _: (_status(each).get("nodeInfo") or {}).get(field, "<unknown>")


def _address(kind: str) -> Callable[[Object, float], object]:
    def cell(each: Object, _: float) -> object:
        addresses = _status(each).get("addresses") or ()
        matching = (entry["address"] for entry in addresses if entry["type"] == kind)
        return next(matching, "<none>")

    return cell


def _containers(each: Object) -> list[Object]:
    containers: list[Object] = _status(each).get("containerStatuses") or []
    return containers


def _pod_ready(each: Object, _: float) -> object:
    ready = sum(bool(container.get("ready")) for container in _containers(each))
    return f"{ready}/{len(each['spec']['containers'])}"


def _pod_status(each: Object, _: float) -> object:
    if each["metadata"].get("deletionTimestamp"):
        return "Terminating"
    for container in _containers(each):
        for state in ("waiting", "terminated"):
            detail = (container.get("state") or {}).get(state) or {}
            if detail.get("reason"):
                return detail["reason"]
    return _status(each).get("reason") or _status(each).get("phase", "Unknown")


def _restarts(each: Object, _: float) -> object:
    return str(sum(container.get("restartCount", 0) for container in _containers(each)))


def _job_status(each: Object, _: float) -> object:
    true = [
        condition["type"]
        for condition in _status(each).get("conditions") or ()
        if condition["status"] == "True"
    ]
    listed = [kind for kind in ("Complete", "Failed", "Suspended", "FailureTarget") if kind in true]
    if listed:
        return listed[0]
    return "Terminating" if each["metadata"].get("deletionTimestamp") else "Running"


def _completions(each: Object, _: float) -> object:
    return f"{_status(each).get('succeeded', 0)}/{each['spec'].get('completions', 1)}"


def _job_duration(each: Object, now: float) -> object:
    started, completed = _status(each).get("startTime"), _status(each).get("completionTime")
    end = datetime.fromisoformat(str(completed)).timestamp() if completed else now
    return _since(started, end) if started else ""


def _event_object(each: Object, _: float) -> object:
    about = each.get("involvedObject") or {}
    return f"{str(about.get('kind', '')).lower()}/{about.get('name', '')}"


def _event_age(field: str) -> Callable[[Object, float], object]:
    return lambda each, now: _since(
        each.get(field) or each.get("eventTime") or each["metadata"].get("creationTimestamp"), now
    )


def _source(each: Object, _: float) -> object:
    source = each.get("source") or {}
    names = (source.get("component") or each.get("reportingComponent", ""), source.get("host", ""))
    return ", ".join(filter(None, names))


def _field(name: str, default: object = "") -> Callable[[Object, float], object]:
    return lambda each, _: each.get(name, default)


def _of_status(name: str) -> Callable[[Object, float], object]:
    return lambda each, _: _status(each).get(name) or "<none>"


def _none(_: Object, __: float) -> object:
    return "<none>"


_ANY = (Column("Name", _name), Column("Age", _age))
_COLUMNS: Mapping[str, tuple[Column, ...]] = MappingProxyType(
    {
        "nodes": (
            Column("Name", _name),
            Column("Status", _node_status),
            Column("Roles", _none),
            Column("Age", _age),
            Column("Version", _node_info("kubeletVersion")),
            Column("Internal-IP", _address("InternalIP"), 1),
            Column("External-IP", _address("ExternalIP"), 1),
            Column("OS-Image", _node_info("osImage"), 1),
            Column("Kernel-Version", _node_info("kernelVersion"), 1),
            Column("Container-Runtime", _node_info("containerRuntimeVersion"), 1),
        ),
        "pods": (
            Column("Name", _name),
            Column("Ready", _pod_ready),
            Column("Status", _pod_status),
            Column("Restarts", _restarts),
            Column("Age", _age),
            Column("IP", _of_status("podIP"), 1),
            Column("Node", lambda each, _: each["spec"].get("nodeName") or "<none>", 1),
            Column("Nominated Node", _none, 1),
            Column("Readiness Gates", _none, 1),
        ),
        "jobs": (
            Column("Name", _name),
            Column("Status", _job_status),
            Column("Completions", _completions),
            Column("Duration", _job_duration),
            Column("Age", _age),
        ),
        "events": (
            Column("Last Seen", _event_age("lastTimestamp")),
            Column("Type", _field("type")),
            Column("Reason", _field("reason")),
            Column("Object", _event_object),
            Column("Source", _source, 1),
            Column("Message", _field("message")),
            Column("First Seen", _event_age("firstTimestamp"), 1),
            Column("Count", lambda each, _: str(each.get("count", 1)), 1),
            Column("Name", _name, 1),
        ),
    }
)
