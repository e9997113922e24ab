"""One line of a back-test: an incident as it is at the time of its notification.

Everything but `closed` is as it was known then, so that a history that ends earlier gives the same
lines.
"""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from accelwatch.alerting.incidents.grouping.causes import CauseReport
from accelwatch.alerting.incidents.grouping.levels import level_of
from accelwatch.alerting.incidents.grouping.location import GROUP, where_of
from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.alerting.rules.document import Advice
from accelwatch.alerting.rules.finding_evidence import SOURCE
from accelwatch.alerting.rules.rule import Rule
from accelwatch.alerting.rules.verdict import Evidence
from accelwatch.expr.checking.tree import Peers, walk
from accelwatch.schema.catalogue.lookup import by_key
from accelwatch.schema.metrics import Kind

# Columns of what is read by a text.
_STATES = {"state": "device_up", "node_state": "fleet_target_up"}


class Explained(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that an incident rests on; null for what does not apply."""

    # A column, or the code of an event.
    signal: str
    value: float | str | None
    expected: float | str | None
    z: float | None
    # Unix seconds.
    since: float | None


class Line(msgspec.Struct, kw_only=True, omit_defaults=True):
    """An incident, as `accelwatch rules backtest` prints it."""

    # Unix seconds.
    opened: float
    closed: float | None
    level: str
    scope: str
    node: str | None
    device: str | None
    job: str | None
    nodes: list[str]
    rule: str
    channels: list[str]
    advice: Advice
    explanation: list[Explained]
    # What the detector says of it; left out where it rests on rules by hand.
    sentence: str = ""


def line_of(incident: Incident, rules: Sequence[Rule], now: float, suspects: Sequence[str]) -> Line:
    """The line of an incident with a notification at `now`, Unix seconds.

    `suspects` are nodes that may be to blame for what has befallen a job, the likeliest first.
    """
    entity = incident.entity
    where = where_of(incident, suspects)
    return Line(
        opened=now,
        closed=None,
        level=level_of(incident),
        scope=where.scope,
        node=where.node,
        device=entity.device or None,
        job=entity.job or next(iter(incident.facts.jobs), None),
        nodes=list(where.nodes),
        rule=",".join(dict.fromkeys((incident.rule, *incident.rules))),
        channels=_channels(incident.evidence, rules),
        advice=_advice(incident, rules, where.scope),
        explanation=[
            _explained(evidence, incident.since)
            for evidence in incident.evidence
            if evidence.signal != SOURCE
        ],
        sentence=next((each.text for each in incident.evidence if each.signal == SOURCE), ""),
    )


def line_of_report(report: CauseReport, rules: Mapping[str, Rule], now: float) -> Line:
    """The line of a notification at `now`, Unix seconds."""
    concerned = [rules[rule_id] for rule_id in report.incident.rules if rule_id in rules]
    return line_of(report.incident, concerned, now, report.suspects)


def _advice(incident: Incident, rules: Sequence[Rule], scope: str) -> Advice:
    """Many of one node are mended as one of them is."""
    if incident.entity.group and scope != GROUP and rules:
        return rules[0].advice
    return incident.advice


def _explained(evidence: Evidence, since: float) -> Explained:
    value, expected = evidence.value, evidence.expected
    signal = evidence.signal.replace("[", ".").replace("]", "").replace('"', "")
    if signal in _STATES and isinstance(value, str):
        signal, value, expected = _STATES[signal], 0.0, 1.0
    return Explained(
        signal=signal.removeprefix("."),
        value=value,
        expected=expected,
        z=evidence.z,
        since=since if evidence.since is None else evidence.since,
    )


def _channels(evidence: Iterable[Evidence], rules: Sequence[Rule]) -> list[str]:
    """The kinds of evidence, that of the first first."""
    kinds = [kind for rule in rules if (kind := _of_rule(rule))]
    kinds += [_channel(record, rules) for record in evidence]
    return [kind for kind in dict.fromkeys(kinds) if kind]


def _of_rule(rule: Rule) -> str:
    return "hang" if rule.family == "jobs.hang" else ""


def _channel(evidence: Evidence, rules: Sequence[Rule]) -> str:
    detector, _, channel = evidence.source.partition(":")
    if detector == SOURCE:
        return channel
    if evidence.source or (evidence.value is None and evidence.since is not None):
        return "log"
    key = evidence.signal.partition(".")[0]
    if key in ("device_up", "devices", *_STATES) or "state" in evidence.signal.split("(")[0]:
        return "structural"
    row = by_key().get(key)
    if row is not None and row.kind is Kind.COUNTER:
        return "counter"
    if any(isinstance(node, Peers) for rule in rules for node in walk(rule.when.tree)):
        return "peer"
    return "hard" if row is not None else "structural"
