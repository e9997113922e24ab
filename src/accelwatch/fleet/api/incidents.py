"""The hub's pages about rules: incidents that go on and those that are over, and the rules in force."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import msgspec

from accelwatch.errors import UnmetError, UsageError
from accelwatch.fleet.api.http import json_page, limit_of, only
from accelwatch.fleet.wire import EvidenceNote, IncidentDocument, MomentNote, MuteNote
from accelwatch.incidents.incident import Incident, IncidentState
from accelwatch.incidents.muting import Mute
from accelwatch.rules.document import Severity
from accelwatch.schema.moments import moment_or_none, timestamp
from accelwatch.web.page import Headers, Page, Query

if TYPE_CHECKING:
    from accelwatch.judging.runner import RuleRunner

PATH = "/v1/incidents"
ONE = "/v1/incidents/"
RULES = "/v1/rules"
EXPLAIN = "/v1/explain"
_ALL = "all"


class IncidentsPage(msgspec.Struct, frozen=True, kw_only=True):
    """Incidents, those that go on first, the latest of each first."""

    judged: bool
    """Whether the hub has rules at all."""
    rules: int
    """How many rules are in force."""
    problems: tuple[str, ...]
    """What is wrong with the journal or with rules."""
    incidents: tuple[IncidentDocument, ...]


class RuleRow(msgspec.Struct, frozen=True, kw_only=True):
    """A rule that is in force."""

    id: str
    title: str
    scope: str
    severity: str
    confidence: str
    mode: str
    family: str
    when: str
    source: str
    file: str
    line: int
    open: int
    """Incidents that it is part of now."""
    cost_us: float
    """Processor time of a judgement of one entity, in microseconds, on average."""
    switched_off: str
    """Why it is not judged; empty if it is."""


class RulesPage(msgspec.Struct, frozen=True, kw_only=True):
    """The rules in force, in the order of their files."""

    digest: str
    rules: tuple[RuleRow, ...]


class IncidentPages:
    """Pages over the hub's rules; `runner` gives whoever judges now, None when nobody does."""

    def __init__(self, runner: "Callable[[], RuleRunner | None]") -> None:
        self._runner = runner

    def incidents(self, query: Query, headers: Headers) -> Page:
        """`IncidentsPage`. Raises UsageError."""
        limit, state = limit_of(query), _word(query, "state", (*IncidentState, _ALL))
        severity, node = _word(query, "severity", tuple(Severity)), only(query, "node")
        runner = self._runner()
        if runner is None:
            nobody = IncidentsPage(judged=False, rules=0, problems=(), incidents=())
            return json_page(nobody, headers)
        wanted = state or IncidentState.OPEN.value
        incidents: list[Incident] = []
        if wanted in (IncidentState.OPEN, _ALL):
            incidents += reversed(runner.open)
        if wanted in (IncidentState.CLOSED, _ALL):
            incidents += runner.closed
        chosen = [
            one
            for one in incidents
            if severity in (None, one.severity.value) and (node is None or node in one.nodes)
        ]
        page = IncidentsPage(
            judged=True,
            rules=len(runner.rules.rules),
            problems=runner.problems,
            incidents=tuple(document_of(one, runner.mute_of(one)) for one in chosen[:limit]),
        )
        return json_page(page, headers)

    def incident(self, id_: str, headers: Headers) -> Page:
        """`IncidentDocument`. Raises UnmetError."""
        runner = self._runner()
        incident = None if runner is None else runner.incident(id_)
        if runner is None or incident is None:
            raise UnmetError(f"no incident {id_[:100]!r}")
        return json_page(document_of(incident, runner.mute_of(incident)), headers)

    def explanation(self, query: Query, headers: Headers) -> Page:
        """`Explanation`. Raises UsageError, UnmetError."""
        rule, entity = only(query, "rule"), only(query, "entity")
        if not rule or not entity:
            raise UsageError("rule and entity are needed: ?rule=nvidia.gpu.lost&entity=n12/nvidia3")
        runner = self._runner()
        if runner is None:
            raise UnmetError("the hub has no rules")
        return json_page(runner.explain(rule, entity), headers)

    def rules(self, _query: Query, headers: Headers) -> Page:
        """`RulesPage`."""
        runner = self._runner()
        if runner is None:
            return json_page(RulesPage(digest="", rules=()), headers)
        page = RulesPage(digest=runner.rules.digest, rules=tuple(_rule_rows(runner)))
        return json_page(page, headers)


def _rule_rows(runner: "RuleRunner") -> Iterable[RuleRow]:
    open_ = [rule for incident in runner.open for rule in incident.rules]
    for rule in runner.rules.rules.values():
        yield RuleRow(
            id=rule.id,
            title=rule.title,
            scope=rule.scope.value,
            severity=rule.severity.value,
            confidence=rule.confidence.value,
            mode=rule.mode.value,
            family=rule.family,
            when=rule.when.text,
            source=rule.source,
            file=str(rule.origin.file),
            line=rule.origin.line,
            open=open_.count(rule.id),
            cost_us=round(rule.when.cost.mean_ns / 1000, 3),
            switched_off=runner.switched_off(rule.id),
        )


def document_of(incident: Incident, mute: Mute | None = None) -> IncidentDocument:
    """An incident as the API tells it, and why nobody else is told of it."""
    entity, facts = incident.entity, incident.facts
    return IncidentDocument(
        id=incident.id,
        state=incident.state.value,
        severity=incident.severity.value,
        confidence=incident.confidence.value,
        rule=incident.rule,
        rules=incident.rules,
        family=incident.family,
        title=incident.title,
        scope=entity.scope.value,
        node=entity.node,
        device=entity.device,
        device_name=facts.device_name,
        model=facts.model,
        serial=facts.serial,
        vendor=facts.vendor,
        job=entity.job,
        rack=entity.rack or facts.labels.get("rack", ""),
        group=entity.group,
        part_of=incident.group,
        members=incident.members,
        nodes=incident.nodes,
        jobs=facts.jobs,
        users=facts.users,
        labels=dict(facts.labels),
        since=timestamp(incident.since),
        opened=timestamp(incident.opened),
        updated=timestamp(incident.updated),
        closed=moment_or_none(incident.closed),
        reopened=incident.reopened,
        trusted=incident.trusted,
        advice=incident.advice.value,
        what_to_do=incident.what_to_do,
        runbook=incident.runbook,
        source=incident.source,
        evidence=tuple(
            EvidenceNote(
                signal=one.signal,
                text=one.text,
                value=one.value,
                expected=one.expected,
                since=moment_or_none(one.since),
                source=one.source,
                trusted=one.trusted,
            )
            for one in incident.evidence
        ),
        timeline=tuple(
            MomentNote(
                time=timestamp(one.time), kind=one.kind.value, text=one.text, actor=one.actor
            )
            for one in incident.timeline
        ),
        muted_by=None if mute is None else _noted(mute),
    )


def _noted(mute: Mute) -> MuteNote:
    return MuteNote(
        id=mute.id,
        kind=mute.kind,
        reason=mute.reason,
        by=mute.by,
        until=timestamp(mute.until),
    )


def _word(query: Query, name: str, words: Iterable[str]) -> str | None:
    given = only(query, name)
    known = [str(word) for word in words]
    if given is not None and given not in known:
        raise UsageError(f"{name}: {given[:40]!r} is none of {', '.join(known)}")
    return given
