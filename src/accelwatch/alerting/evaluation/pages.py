"""The pages about rules: incidents that go on and those that are over, and the rules in force."""

from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING

import msgspec

from accelwatch.alerting.evaluation.describing import document_of
from accelwatch.alerting.evaluation.documents import (
    IncidentDocument,
    IncidentsPage,
    NodeNote,
    RuleRow,
    RulesPage,
)
from accelwatch.alerting.evaluation.explanation import Explanation
from accelwatch.alerting.evaluation.incident_reader import IncidentReader
from accelwatch.alerting.evaluation.paths import EXPLAIN, INCIDENTS, RULES
from accelwatch.alerting.incidents.model.incident import Incident, IncidentState
from accelwatch.alerting.rules.document import Severity
from accelwatch.base.errors import UnmetError, UsageError, check_leads
from accelwatch.web.pages.json_page import json_page
from accelwatch.web.pages.page import Headers, Page, Query, limit_of, only
from accelwatch.web.pages.routes import LIMIT, Parameter, Route, choice

if TYPE_CHECKING:
    from accelwatch.alerting.evaluation.runner import RuleRunner

_ALL = "all"
_OF_INCIDENTS = (
    Parameter(
        "state",
        "Only those of this state; open ones unless said.",
        choice((*IncidentState, _ALL)),
    ),
    Parameter("severity", "Only those of this severity.", choice(Severity)),
    Parameter("node", "Only those that concern this node."),
    LIMIT,
)
SINCE = Parameter(
    "since",
    "Open ones and those of since then, from the journal: a time, or how long ago (`30d`). "
    "Goes with node and limit only.",
)

Listing = Callable[[Query, Headers], Page | Awaitable[Page]]


class IncidentPages:
    """Pages over a process's rules; `runner` gives whoever evaluates now, None when nobody does."""

    def __init__(
        self,
        runner: "Callable[[], RuleRunner | None]",
        node: Callable[[], NodeNote | None] = lambda: None,
        reader: Callable[[], IncidentReader | None] | None = None,
        refusal: Callable[[], str] = str,
    ) -> None:
        """`node` describes the node of an agent; `reader` returns the incidents, those of `runner` if
        None; `refusal` says why a request about rules has to go to another hub."""
        self._refusal = refusal
        self._runner = runner
        self._reader: Callable[[], IncidentReader | None] = reader or runner
        self._node = node

    def routes(self, listed: Listing | None = None) -> tuple[Route, ...]:
        """The routes; `listed` answers the list of incidents instead."""
        return (
            Route(
                "GET",
                INCIDENTS,
                "Incidents, ongoing ones first",
                listed or self.incidents,
                parameters=_OF_INCIDENTS if listed is None else (*_OF_INCIDENTS, SINCE),
                answer=IncidentsPage,
            ),
            Route(
                "GET",
                f"{INCIDENTS}/{{id:path}}",
                "One incident with its history",
                self.incident,
                answer=IncidentDocument,
            ),
            Route(
                "GET",
                RULES,
                "The rules in force and what they cost",
                self.rules,
                answer=RulesPage,
            ),
            Route(
                "GET",
                EXPLAIN,
                "A rule on an entity, part by part, now",
                self.explanation,
                parameters=(
                    Parameter("rule", "Id of a rule.", required=True),
                    Parameter("entity", "n12/nvidia3, n12, job:4711 or rack:r7.", required=True),
                ),
                answer=Explanation,
            ),
        )

    def incidents(self, query: Query, headers: Headers) -> Page:
        """`IncidentsPage`. Raises UsageError."""
        limit, state = limit_of(query), _choice(query, "state", (*IncidentState, _ALL))
        severity, node = _choice(query, "severity", tuple(Severity)), only(query, "node")
        reader = self._reader()
        if reader is None:
            return json_page(IncidentsPage(evaluated=False), headers)
        requested = state or IncidentState.OPEN.value
        incidents: list[Incident] = []
        if requested in (IncidentState.OPEN, _ALL):
            incidents += reversed(reader.open)
        if requested in (IncidentState.CLOSED, _ALL):
            incidents += reader.closed
        elif state is None:
            incidents += (incident for incident in reader.closed if incident.left_to_do)
        chosen = [
            incident
            for incident in incidents
            if severity in (None, incident.severity.value)
            and (node is None or node in incident.nodes)
        ]
        page = incidents_page(reader, chosen[:limit])
        return json_page(msgspec.structs.replace(page, node=self._node()), headers)

    def incident(self, id_: str, _query: Query, headers: Headers) -> Page:
        """`IncidentDocument`. Raises UnmetError."""
        reader = self._reader()
        incident = None if reader is None else reader.incident(id_)
        if reader is None or incident is None:
            raise UnmetError(f"no incident {id_[:100]!r}")
        return json_page(document_of(incident, reader.mute_of(incident)), headers)

    def explanation(self, query: Query, headers: Headers) -> Page:
        """`Explanation`. Raises UsageError, UnmetError, FollowsError."""
        rule, entity = only(query, "rule"), only(query, "entity")
        if not rule or not entity:
            raise UsageError("rule and entity are needed: ?rule=nvidia.lost&entity=n12/nvidia3")
        runner = self._runner()
        if runner is None:
            check_leads(self._refusal())
            raise UnmetError("there are no rules here")
        return json_page(runner.rule_states.explain(rule, entity), headers)

    def rules(self, _query: Query, headers: Headers) -> Page:
        """`RulesPage`. Raises FollowsError."""
        runner = self._runner()
        if runner is None:
            check_leads(self._refusal())
            return json_page(RulesPage(digest="", rules=()), headers)
        page = RulesPage(digest=runner.rules.digest, rules=tuple(_rule_rows(runner)))
        return json_page(page, headers)


def incidents_page(reader: IncidentReader, incidents: Iterable[Incident]) -> IncidentsPage:
    """These incidents, with the rules in force and what is wrong with them."""
    return IncidentsPage(
        evaluated=True,
        rules=reader.rule_count,
        digest=reader.rules_digest,
        interval_s=reader.interval_s,
        evaluated_age_s=reader.evaluated_age_s,
        notified_by=reader.notified_by.value,
        problems=reader.problems,
        incidents=tuple(document_of(incident, reader.mute_of(incident)) for incident in incidents),
    )


def _rule_rows(runner: "RuleRunner") -> Iterable[RuleRow]:
    open_ = [rule for incident in runner.open for rule in incident.rules]
    blind = runner.rule_states.blind()
    for rule in runner.rules.rules.values():
        yield RuleRow(
            id=rule.id,
            title=rule.title,
            scope=rule.scope.value,
            severity=rule.severity.value,
            confidence=rule.confidence.value,
            act_on=rule.act_on.value,
            mode=rule.mode.value,
            for_s=rule.timing.for_s,
            family=rule.family,
            when=rule.when.text,
            source=rule.source,
            file=str(rule.origin.file),
            line=rule.origin.line,
            open=open_.count(rule.id),
            cost_us=round(rule.when.cost.mean_ns / 1000, 3),
            switched_off=runner.rule_states.switched_off(rule.id),
            blind=blind.get(rule.id, 0),
        )


def _choice(query: Query, name: str, choices: Iterable[str]) -> str | None:
    requested = only(query, name)
    allowed = [str(choice) for choice in choices]
    if requested is not None and requested not in allowed:
        raise UsageError(f"{name}: {requested[:40]!r} is not one of {', '.join(allowed)}")
    return requested
