"""The OpenAPI document: paths by hand, schemas from the structs that are answered."""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

import msgspec

from accelwatch.alerting.evaluation.documents import IncidentDocument, IncidentsPage, RulesPage
from accelwatch.alerting.evaluation.explanation import Explanation
from accelwatch.alerting.evaluation.silence_documents import (
    Closed,
    MaintenanceChanged,
    MaintenancePage,
    NoteWritten,
    SilenceChanged,
    SilencesPage,
)
from accelwatch.alerting.evaluation.silencing import Closing, NewMaintenance, NewNote, NewSilence
from accelwatch.alerting.incidents.journal.listing import AuditPage
from accelwatch.alerting.incidents.model.incident import IncidentState
from accelwatch.alerting.rules.document import Severity
from accelwatch.base.version import __version__
from accelwatch.fleet.api.alertmanager_webhook import AlertmanagerMessage
from accelwatch.fleet.api.documents import (
    Acknowledged,
    DevicesPage,
    EventsPage,
    FleetHistory,
    GroupsPage,
    HistoryDocument,
    NodesPage,
    NodeSummary,
)
from accelwatch.fleet.api.evidence_documents import EvidencePage, EvidenceTaken, NewEvidences
from accelwatch.fleet.api.remedy_pages import VERBS, Wish
from accelwatch.fleet.avoid.documents import AvoidPage, ReasonKind
from accelwatch.fleet.names import NodeState
from accelwatch.fleet.odd.documents import OddPage
from accelwatch.fleet.wire import FleetDocument
from accelwatch.node.usage.report import UsageReport
from accelwatch.web.http.stream import INCIDENT_LINES, INCIDENTS, OFFERED

_ANSWERS = (
    FleetDocument,
    FleetHistory,
    NodesPage,
    NodeSummary,
    DevicesPage,
    GroupsPage,
    EventsPage,
    HistoryDocument,
    Acknowledged,
    IncidentsPage,
    IncidentDocument,
    RulesPage,
    Explanation,
    SilencesPage,
    SilenceChanged,
    MaintenancePage,
    MaintenanceChanged,
    Closed,
    NewSilence,
    NewMaintenance,
    Closing,
    NewNote,
    NoteWritten,
    EvidencePage,
    EvidenceTaken,
    NewEvidences,
    AlertmanagerMessage,
    AuditPage,
    AvoidPage,
    OddPage,
    UsageReport,
)
_KINDS = "|".join(ReasonKind)
_NOT_OFFERED = {"406": "Accept has none of the media types; the text names them."}
_REFUSALS = {
    "400": "A parameter makes no sense; the text says which.",
    "401": "Credentials are needed.",
    "403": "Not admitted.",
    "404": "There is no such thing; the text names it.",
    "405": "Another method is needed; see Allow.",
    "413": "A body has more than 65536 bytes, or no Content-Length.",
    "415": "A body has a Content-Encoding, or is not JSON.",
    "503": "Too many requests; try again.",
}


@cache
def openapi() -> dict[str, Any]:
    """The document, version 3.1."""
    # What acts is loaded by those only who act, or ask for this.
    from accelwatch.fleet.remedies.documents import Commanded, PlanPage, RemediesPage
    from accelwatch.fleet.remedies.quarantine_documents import QuarantinePage, SparesPage

    _, components = msgspec.json.schema_components(
        (*_ANSWERS, RemediesPage, PlanPage, QuarantinePage, SparesPage, Commanded, Wish),
        ref_template="#/components/schemas/{name}",
    )
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "accelwatch hub",
            "version": __version__,
            "description": "Every accelerator of a fleet, honestly aged.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": _paths(),
        "components": {
            "schemas": components,
            "securitySchemes": {
                "basic": {"type": "http", "scheme": "basic"},
                "bearer": {"type": "http", "scheme": "bearer"},
            },
        },
        "security": [{}, {"basic": []}, {"bearer": []}],
    }


def _paths() -> dict[str, Any]:
    node = _parameter("node", "Name of the node.", where="path")
    cursor = _parameter("cursor", "`next` of the page before.")
    limit = _parameter(
        "limit", "Rows on a page.", schema={"type": "integer", "minimum": 1, "maximum": 20_000}
    )
    fields = _parameter("fields", "Quantities, separated by commas.")
    filter_ = _parameter("filter", "A condition (docs/expressions.md).")
    device = _parameter("device", "Id of a device.")
    range_ = _parameter("range", "How far back, such as 6h; needs a store.")
    step = _parameter("step", "Between two values, such as 1m; needs a store.")
    id_ = _parameter("id", "Its id.", where="path")
    verb = _parameter(
        "verb", "What to do.", where="path", schema={"type": "string", "enum": list(VERBS)}
    )
    by = _parameter("by", "Who ends it, where the hub has no logins.")
    states = {"type": "string", "enum": list(NodeState)}
    return {
        "/": {"get": _raw("Where everything is, for a browser", ("text/html",))},
        "/v1/fleet": _get("The fleet in numbers", "FleetDocument"),
        "/v1/fleet/history": _get("The fleet in numbers over the last hour", "FleetHistory"),
        "/v1/nodes": _get(
            "Nodes, by name",
            "NodesPage",
            _parameter("state", "Only nodes of this state.", schema=states),
            limit,
            cursor,
        ),
        "/v1/nodes/{node}": _get(
            "A node with `snapshot`, the document that its own agent answers", "NodeSummary", node
        ),
        "/v1/nodes/{node}/history": _get(
            "The last fifteen minutes of a device, or more from a store",
            "HistoryDocument",
            node,
            _parameter("device", "Id of a device.", must=True),
            range_,
            step,
        ),
        "/v1/nodes/{node}/acknowledge": {
            "post": _operation("Take note that devices have gone", "Acknowledged", (node, device))
        },
        "/v1/devices": _get("Devices", "DevicesPage", filter_, fields, limit, cursor),
        "/v1/groups": _get(
            "The fleet in numbers by what devices share",
            "GroupsPage",
            _parameter("by", "rack, partition, job, user, a label, or another name.", must=True),
            filter_,
            limit,
            cursor,
        ),
        "/v1/usage": _get(
            "Who uses the devices",
            "UsageReport",
            _parameter("by", "What a row is.", schema={"type": "string", "enum": ["user", "job"]}),
            _parameter("since", "A time from 1m to 1h, or `job`: since it is counted."),
        ),
        "/v1/events": _get(
            "Error events, newest first",
            "EventsPage",
            _parameter("since", "A time (Unix seconds or RFC 3339), or how long ago (`30m`)."),
            _parameter("node", "Only events of this node."),
            _parameter("filter", "A condition over events (docs/fleet/hub.md)."),
            limit,
            cursor,
        ),
        "/v1/incidents": _get(
            "Incidents, ongoing ones first",
            "IncidentsPage",
            _parameter(
                "state",
                "Only those of this state; open ones unless said.",
                schema={"type": "string", "enum": [*IncidentState, "all"]},
            ),
            _parameter(
                "severity",
                "Only those of this severity.",
                schema={"type": "string", "enum": list(Severity)},
            ),
            _parameter("node", "Only those that concern this node."),
            _parameter(
                "since",
                "Open ones and those of since then, from the journal: a time, or how long ago (`30d`). "
                "Goes with node and limit only.",
            ),
            limit,
        ),
        "/v1/incidents/{id}": _get(
            "One incident with its history",
            "IncidentDocument",
            id_,
        ),
        "/v1/incidents/{id}/close": {
            "post": _operation_with_body("Close an incident by hand", "Closing", "Closed", id_)
        },
        "/v1/incidents/{id}/note": {
            "post": _operation_with_body(
                "Write into an incident's history", "NewNote", "NoteWritten", id_
            )
        },
        "/v1/silences": {
            **_get("Silences that are not over", "SilencesPage"),
            "post": _operation_with_body("Set a silence", "NewSilence", "SilenceChanged"),
        },
        "/v1/silences/{id}": {"delete": _operation("End a silence", "SilenceChanged", (id_, by))},
        "/v1/maintenance": {
            **_get("Windows of maintenance that are not over", "MaintenancePage"),
            "post": _operation_with_body(
                "Announce maintenance", "NewMaintenance", "MaintenanceChanged"
            ),
        },
        "/v1/maintenance/{id}": {
            "delete": _operation("End maintenance", "MaintenanceChanged", (id_, by))
        },
        "/v1/evidence": {
            **_get("Evidence that others sent and that has not expired", "EvidencePage"),
            "post": _operation_with_body(
                "Tell of nodes and devices", "NewEvidences", "EvidenceTaken"
            ),
        },
        "/v1/evidence/alertmanager": {
            "post": _operation_with_body(
                "Webhook of an Alertmanager", "AlertmanagerMessage", "EvidenceTaken"
            )
        },
        "/v1/remedies": _get("What is being done about incidents", "RemediesPage"),
        "/v1/remedies/{node}/{verb}": {
            "post": _operation_with_body(
                "A person's word on what is done to a node", "Wish", "Commanded", node, verb
            )
        },
        "/v1/plan": _get(
            "What would be done for a node now, and what is in its way",
            "PlanPage",
            _parameter("node", "Name of the node.", must=True),
        ),
        "/v1/audit": _get(
            "Who did what and when, newest first",
            "AuditPage",
            _parameter("since", "A time (Unix seconds or RFC 3339), or how long ago (`30m`)."),
            _parameter("node", "Only what is about this node."),
            _parameter("incident", "Only what is about this one."),
            limit,
            cursor,
        ),
        "/v1/avoid": _get(
            "Nodes to keep new jobs off now, with the reasons",
            "AvoidPage",
            _parameter(
                "severity",
                "Open incidents of this severity and above count; critical unless given.",
                schema={"type": "string", "enum": list(Severity)},
            ),
            _parameter(
                "reason",
                "Only these reasons, separated by commas.",
                schema={"type": "string", "pattern": f"^({_KINDS})(,({_KINDS}))*$"},
            ),
            _parameter("within", "Count maintenance that starts within this time, such as 4h."),
        ),
        "/v1/odd": _get(
            "Nodes whose driver, firmware, kernel or agent differs from the many of their kind",
            "OddPage",
            _parameter("by", "Compare within this label of the nodes."),
        ),
        "/v1/holds": _get(
            "Our marks on nodes, and nodes that people want left alone", "QuarantinePage"
        ),
        "/v1/spares": _get("Who can stand in, and who does", "SparesPage"),
        "/v1/stop": {
            "post": _operation_with_body("Start no new remedies on any node", "Wish", "Commanded")
        },
        "/v1/start": {"post": _operation_with_body("Resume remedies", "Wish", "Commanded")},
        "/v1/breaker/reset": {
            "post": _operation_with_body("Close the breaker", "Wish", "Commanded")
        },
        "/v1/explain": _get(
            "A rule on an entity, part by part, now",
            "Explanation",
            _parameter("rule", "Id of a rule.", must=True),
            _parameter("entity", "n12/nvidia3, n12, job:4711 or rack:r7.", must=True),
        ),
        "/v1/rules": _get("The rules in force and what they cost", "RulesPage"),
        "/v1/stream": {
            "get": _raw(
                "The fleet, tick by tick",
                (*OFFERED, INCIDENT_LINES, INCIDENTS),
                (filter_, fields),
                _NOT_OFFERED,
            )
        },
        "/v1/openapi.json": {"get": _raw("This document", ("application/json",))},
        "/metrics": {
            "get": _raw(
                "Aggregates, for Prometheus", ("text/plain", "application/openmetrics-text")
            )
        },
        "/federate": {
            "get": _raw(
                "All devices' families, for Prometheus; where it is enabled",
                ("text/plain", "application/openmetrics-text"),
                (
                    _parameter("profile", "default or minimal."),
                    _parameter("groups", "Opt-in groups, separated by commas."),
                ),
            )
        },
        "/-/healthy": {"get": _raw("Whether the hub lives", ("text/plain",))},
        "/-/ready": {"get": _raw("Whether the targets are known", ("text/plain",))},
    }


def _parameter(
    name: str,
    text: str,
    *,
    where: str = "query",
    schema: dict[str, Any] | None = None,
    must: bool = False,
) -> dict[str, Any]:
    return {
        "name": name,
        "in": where,
        "description": text,
        "required": must or where == "path",
        "schema": schema or {"type": "string"},
    }


def _get(summary: str, answer: str, *parameters: dict[str, Any]) -> dict[str, Any]:
    return {"get": _operation(summary, answer, parameters)}


def _operation(summary: str, answer: str, parameters: tuple[dict[str, Any], ...]) -> dict[str, Any]:
    schema = {"$ref": f"#/components/schemas/{answer}"}
    return _described(summary, {"application/json": {"schema": schema}}, parameters)


def _operation_with_body(
    summary: str, body: str, answer: str, *parameters: dict[str, Any]
) -> dict[str, Any]:
    schema = {"$ref": f"#/components/schemas/{body}"}
    content = {"application/json": {"schema": schema}}
    request_body = {"requestBody": {"required": True, "content": content}}
    return {**_operation(summary, answer, parameters), **request_body}


def _raw(
    summary: str,
    media: tuple[str, ...],
    parameters: tuple[dict[str, Any], ...] = (),
    refusals: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, Any]:
    return _described(summary, {kind: {} for kind in media}, parameters, refusals)


def _described(
    summary: str,
    content: dict[str, Any],
    parameters: tuple[dict[str, Any], ...],
    more: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, Any]:
    plain = {"text/plain": {"schema": {"type": "string"}}}
    reasons = {**_REFUSALS, **more}
    refusals = {code: {"description": text, "content": plain} for code, text in reasons.items()}
    return {
        "summary": summary,
        "parameters": list(parameters),
        "responses": {"200": {"description": summary, "content": content}, **refusals},
    }
