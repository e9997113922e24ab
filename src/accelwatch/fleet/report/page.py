"""A report as one HTML page: its own style, no script, nothing from elsewhere; prints on paper."""

from collections.abc import Iterable, Sequence

from accelwatch.alerting.evaluation.documents import IncidentDocument
from accelwatch.base.host_ranges import collapse
from accelwatch.fleet.report.summary import Asked, Offender, chosen, offenders
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
_MOST_IN_FULL = 50
"""Incidents with their evidence and history; the table above has all."""
Cells = Sequence[object]


def report(asked: Asked, *, begin: float, begin_text: str, node: str) -> bytes:
    """The page about what was since `begin`, Unix seconds, which people read as `begin_text`."""
    incidents = chosen(asked.incidents, begin, node)
    title = f"accelwatch report: {node or 'fleet'}"
    return document(
        title,
        STYLE,
        element("h1", title),
        element("p", f"{begin_text} to {_short(asked.fleet.time)} (UTC)", class_="soft"),
        _problems(asked),
        None if node else _fleet(asked),
        _incident_table(incidents),
        _offender_table(offenders(asked.incidents, begin, node)),
        _avoided(asked, node),
        None if node else _odd(asked),
        _in_full(incidents),
    )


def _problems(asked: Asked) -> Markup | None:
    """What makes the report less than whole."""
    lines = [*asked.fleet.troubles, *asked.incidents.problems]
    if not asked.incidents.judged:
        lines.append("No rules are configured, so there are no incidents in this report.")
    return element("ul", *(element("li", line) for line in lines)) if lines else None


def _fleet(asked: Asked) -> Markup:
    fleet = asked.fleet
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
    still = sum(one.closed is None for one in incidents)
    rows = [
        (
            one.id,
            element("span", one.severity, class_=one.severity),
            _short(one.since),
            "open" if one.closed is None else _short(one.closed),
            _where(one),
            one.title,
            ", ".join(one.jobs),
        )
        for one in incidents
    ]
    head = ("id", "severity", "since", "until", "where", "what", "jobs")
    return _section(f"Incidents: {len(incidents)}, {still} still open", _table(head, rows))


def _offender_table(found: Sequence[Offender]) -> Markup:
    rows = [
        (
            one.what,
            one.model,
            collapse(one.nodes),
            element("span", one.count, class_="number"),
            ", ".join(f"{rule} {count}" for rule, count in one.rules),
            _short(one.first),
            _short(one.last),
        )
        for one in found
    ]
    head = ("device or node", "model", "in", "times", "rules", "first", "last")
    return _section("Repeat offenders", _table(head, rows))


def _avoided(asked: Asked, node: str) -> Markup:
    rows = [
        (row.node, reason.kind.value, reason.text, _short(reason.since or "unknown"))
        for row in asked.avoid.nodes
        if node in ("", row.node)
        for reason in row.reasons
    ]
    return _section("Nodes to keep jobs off now", _table(("node", "reason", "what", "since"), rows))


def _odd(asked: Asked) -> Markup:
    rows = [
        (
            one.group,
            one.field,
            one.usual or "no majority",
            odd.value,
            collapse(odd.nodes),
        )
        for one in asked.odd.differences
        for odd in one.odd
    ]
    head = ("group", "field", "usual", "differs", "nodes")
    return _section("Differences between nodes of one kind", _table(head, rows))


def _in_full(incidents: Sequence[IncidentDocument]) -> Markup | None:
    if not incidents:
        return None
    shown = incidents[:_MOST_IN_FULL]
    left = len(incidents) - len(shown)
    rest = f"{left} older incidents are in the table only." if left else None
    return joined(element("h2", "Evidence"), *map(_whole, shown), rest)


def _whole(one: IncidentDocument) -> Markup:
    device = " · ".join(
        filter(None, (one.vendor, one.model, one.serial and f"serial {one.serial}"))
    )
    evidence = (
        f"{note.text}{'' if note.since is None else f' (since {_short(note.since)})'}"
        for note in one.evidence
    )
    history = (f"{_short(moment.time)} {moment.text}" for moment in one.timeline)
    return element(
        "section",
        element("h3", f"{one.id} {_where(one)}: {one.title}"),
        element("p", " · ".join(filter(None, (device, one.rule, one.source))), class_="soft"),
        _list(evidence),
        element("p", f"What to do: {one.what_to_do}") if one.what_to_do else None,
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


def _where(one: IncidentDocument) -> str:
    if one.node:
        return f"{one.node}/{one.device_name}" if one.device_name else one.node
    return collapse(one.nodes) or one.group or one.job or one.rack


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {state}" for state, count in counts.items() if count) or "none"


def _short(moment: str) -> str:
    """An RFC 3339 moment in UTC to the second, as people read it."""
    return moment[:19].replace("T", " ") if moment[:1].isdigit() else moment
