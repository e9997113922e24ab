"""A report as one HTML page: its own style, no script, nothing from elsewhere; prints on paper."""

from collections.abc import Iterable, Sequence

from accelwatch.alerting.evaluation.documents import IncidentDocument
from accelwatch.base.names.host_ranges import collapse
from accelwatch.fleet.report.summary import Offender, ReportDocuments, chosen, offenders
from accelwatch.web.pages.markup import Markup, document, element, joined

STYLE = """
:root{color-scheme:light}
body{margin:0 auto;padding:24px;max-width:1100px;color:#14181d;background:#fff;
font:15px/1.45 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;overflow-wrap:anywhere}
h1{font-size:1.5rem;margin:0 0 .2em}h2{font-size:1.15rem;margin:1.8em 0 .5em}
h3{font-size:1rem;margin:1.4em 0 .3em}
table{border-collapse:collapse;width:100%}
th,td{text-align:left;vertical-align:top;padding:5px 10px 5px 0;border-bottom:1px solid #d9dee4}
th{color:#56606b;font-weight:600}.number{text-align:right}.soft{color:#56606b}
.critical{color:#b4182d;font-weight:600}.warning{color:#8a5a00;font-weight:600}
section{break-inside:avoid}ul{margin:.3em 0;padding-left:1.3em}
@media print{body{padding:0;font-size:11px}}
"""
# Incidents with their evidence and history; the table above has all.
_MOST_IN_FULL = 50
Cells = Sequence[object]


def report(documents: ReportDocuments, *, start: float, start_text: str, node: str) -> bytes:
    """The page about what was since `start`, Unix seconds, which people read as `start_text`."""
    incidents = chosen(documents.incidents, start, node)
    title = f"accelwatch report: {node or 'fleet'}"
    return document(
        title,
        STYLE,
        element("h1", title),
        element("p", f"{start_text} to {_short(documents.fleet.time)} (UTC)", class_="soft"),
        _problems(documents),
        None if node else _fleet(documents),
        _incident_table(incidents),
        _offender_table(offenders(documents.incidents, start, node)),
        _avoided(documents, node),
        None if node else _odd(documents),
        _in_full(incidents),
    )


def _problems(documents: ReportDocuments) -> Markup | None:
    """What makes the report less than whole."""
    lines = [*documents.fleet.troubles, *documents.incidents.problems]
    if not documents.incidents.evaluated:
        lines.append("No rules are configured, so there are no incidents in this report.")
    return element("ul", *(element("li", line) for line in lines)) if lines else None


def _fleet(documents: ReportDocuments) -> Markup:
    fleet = documents.fleet
    return _section(
        "Fleet",
        _table(
            ("", "total", "by state"),
            [
                ("nodes", fleet.nodes_total, _counts(fleet.nodes)),
                ("devices", fleet.devices_total, _counts(fleet.devices)),
            ],
        ),
    )


def _incident_table(incidents: Sequence[IncidentDocument]) -> Markup:
    still = sum(incident.closed is None for incident in incidents)
    rows = [
        (
            incident.id,
            element("span", incident.severity, class_=incident.severity),
            _short(incident.since),
            "open" if incident.closed is None else _short(incident.closed),
            _where(incident),
            incident.title,
            ", ".join(incident.jobs),
        )
        for incident in incidents
    ]
    head = ("id", "severity", "since", "until", "where", "what", "jobs")
    return _section(f"Incidents: {len(incidents)}, {still} still open", _table(head, rows))


def _offender_table(repeated: Sequence[Offender]) -> Markup:
    rows = [
        (
            offender.what,
            offender.model,
            collapse(offender.nodes),
            element("span", offender.count, class_="number"),
            ", ".join(f"{rule} {count}" for rule, count in offender.rules),
            _short(offender.first),
            _short(offender.last),
        )
        for offender in repeated
    ]
    head = ("device or node", "model", "in", "times", "rules", "first", "last")
    return _section("Repeat offenders", _table(head, rows))


def _avoided(documents: ReportDocuments, node: str) -> Markup:
    rows = [
        (row.node, reason.kind.value, reason.text, _short(reason.since or "unknown"))
        for row in documents.avoid.nodes
        if node in ("", row.node)
        for reason in row.reasons
    ]
    return _section("Nodes to keep jobs off now", _table(("node", "reason", "what", "since"), rows))


def _odd(documents: ReportDocuments) -> Markup:
    rows = [
        (
            difference.group,
            difference.field,
            difference.usual or "no majority",
            odd.value,
            collapse(odd.nodes),
        )
        for difference in documents.odd.differences
        for odd in difference.odd
    ]
    head = ("group", "field", "usual", "differs", "nodes")
    return _section("Differences between nodes of one kind", _table(head, rows))


def _in_full(incidents: Sequence[IncidentDocument]) -> Markup | None:
    if not incidents:
        return None
    shown = incidents[:_MOST_IN_FULL]
    left = len(incidents) - len(shown)
    note = f"{left} older incidents are in the table only." if left else None
    return joined(element("h2", "Evidence"), *map(_incident_section, shown), note)


def _incident_section(incident: IncidentDocument) -> Markup:
    device = " · ".join(
        filter(
            None, (incident.vendor, incident.model, incident.serial and f"serial {incident.serial}")
        )
    )
    evidence = (
        f"{note.text}{'' if note.since is None else f' (since {_short(note.since)})'}"
        for note in incident.evidence
    )
    history = (f"{_short(entry.time)} {entry.text}" for entry in incident.timeline)
    return element(
        "section",
        element("h3", f"{incident.id} {_where(incident)}: {incident.title}"),
        element(
            "p", " · ".join(filter(None, (device, incident.rule, incident.source))), class_="soft"
        ),
        _list(evidence),
        element("p", f"What to do: {incident.what_to_do}") if incident.what_to_do else None,
        _list(history),
    )


def _list(lines: Iterable[str]) -> Markup:
    return element("ul", *(element("li", line) for line in lines))


def _section(title: str, *body: object) -> Markup:
    return joined(element("h2", title), *body)


def _table(head: Sequence[str], rows: Sequence[Cells]) -> Markup:
    if not rows:
        return element("p", "None.", class_="soft")
    return element(
        "table",
        element("tr", *(element("th", cell) for cell in head)),
        *(element("tr", *(element("td", cell) for cell in row)) for row in rows),
    )


def _where(incident: IncidentDocument) -> str:
    if incident.node:
        return f"{incident.node}/{incident.device_name}" if incident.device_name else incident.node
    return collapse(incident.nodes) or incident.group or incident.job or incident.rack


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {state}" for state, count in counts.items() if count) or "none"


def _short(time: str) -> str:
    """An RFC 3339 moment in UTC to the second, as people read it."""
    return time[:19].replace("T", " ") if time[:1].isdigit() else time
