"""`GET /v1/avoid`: the nodes to keep new jobs off now, for schedulers and launchers without rules."""

import itertools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from accelwatch.alerting.evaluation.incident_reader import IncidentReader
from accelwatch.alerting.rules.document import Severity
from accelwatch.base import durations
from accelwatch.base.errors import UsageError
from accelwatch.fleet.avoid.documents import AvoidPage, AvoidReason, NodeToAvoid, ReasonKind
from accelwatch.fleet.avoid.reasons import (
    NodeReasons,
    of_incidents,
    of_quarantines,
    of_silence,
    of_windows,
    unasked_nodes,
)
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.schema.timestamps import timestamp
from accelwatch.web.pages.json_page import json_page
from accelwatch.web.pages.page import Headers, Page, Query, many, only
from accelwatch.web.pages.routes import Parameter, Route, choice

if TYPE_CHECKING:
    from accelwatch.fleet.remedies.current import CurrentRemedies
    from accelwatch.fleet.remedies.runner import RemedyRunner

PATH = "/v1/avoid"
_ORDER = tuple(ReasonKind)
_KINDS = "|".join(_ORDER)
_PARAMETERS = (
    Parameter(
        "severity",
        "Open incidents of this severity and above count; critical unless given.",
        choice(Severity),
    ),
    Parameter(
        "reason",
        "Only these reasons, separated by commas.",
        {"type": "string", "pattern": f"^({_KINDS})(,({_KINDS}))*$"},
    ),
    Parameter("within", "Count maintenance that starts within this time, such as 4h."),
)


class AvoidPages:
    """For the hub's event loop."""

    def __init__(
        self,
        fleet: Fleet,
        rules: Callable[[], IncidentReader | None] = lambda: None,
        remedies: "Callable[[], RemedyRunner | None]" = lambda: None,
        followed: "Callable[[], CurrentRemedies | None]" = lambda: None,
    ) -> None:
        """`rules` and `remedies` give what runs now, `followed` what another hub does that leads; None
        where nothing is configured."""
        self._followed = followed
        self._fleet = fleet
        self._rules = rules
        self._remedies = remedies

    def routes(self) -> tuple[Route, ...]:
        """The routes."""
        return (
            Route(
                "GET",
                PATH,
                "Nodes to keep new jobs off now, with the reasons",
                self.page,
                parameters=_PARAMETERS,
                answer=AvoidPage,
            ),
        )

    def page(self, query: Query, headers: Headers) -> Page:
        """`AvoidPage`. Raises UsageError."""
        severities, kinds = _severities(query), _kinds(query)
        within = only(query, "within")
        within_s = 0.0 if within is None else durations.seconds_with_unit(within)
        reasons: dict[str, list[AvoidReason]] = {}
        runner = self._remedies()
        remedies = self._followed() if runner is None else runner.current
        for node, reason in self._reasons(severities, within_s, remedies):
            if reason.kind in kinds:
                reasons.setdefault(node, []).append(reason)
        rules = self._rules()
        unasked = unasked_nodes(self._fleet)
        waiting = f"{unasked} nodes have not been read yet: their faults are not in this list"
        page = AvoidPage(
            time=timestamp(self._fleet.clock.wall()),
            rules=0 if rules is None else rules.rule_count,
            nodes_total=len(self._fleet.nodes),
            problems=(
                *((waiting,) if unasked else ()),
                *(() if rules is None else rules.problems),
            ),
            nodes=tuple(self._row(node, reasons[node], remedies) for node in sorted(reasons)),
        )
        return json_page(page, headers)

    def _reasons(
        self, severities: frozenset[Severity], within_s: float, remedies: "CurrentRemedies | None"
    ) -> NodeReasons:
        rules, now = self._rules(), self._fleet.clock.wall()
        sources: list[Iterator[tuple[str, AvoidReason]]] = [of_silence(self._fleet)]
        if rules is not None:
            sources.append(of_incidents(rules.open, severities))
            windows = rules.muting.windows
            sources.append(of_windows(windows, self._fleet.nodes, now, within_s))
        if remedies is not None:
            sources.append(of_quarantines(remedies.state))
        return itertools.chain.from_iterable(sources)

    def _row(
        self, node: str, reasons: list[AvoidReason], remedies: "CurrentRemedies | None"
    ) -> NodeToAvoid:
        # It brings parts of what acts, which a hub without actions need not load.
        from accelwatch.fleet.state.nodes.machine import machine_of

        registered = self._fleet.nodes.get(node)
        scheduler_name = ""
        if remedies is not None:
            remedy = remedies.state.remedies.get(node)
            target = "" if remedy is None else remedy.target
            scheduler_name = target or remedies.settings.nodes.get(node, "")
        return NodeToAvoid(
            node=node,
            host="" if registered is None else machine_of(registered).host,
            scheduler_name=scheduler_name,
            reasons=tuple(sorted(reasons, key=lambda reason: _ORDER.index(reason.kind))),
        )


def _severities(query: Query) -> frozenset[Severity]:
    """The requested severity and those above it; `critical` by default."""
    severities = list(Severity)
    text = only(query, "severity")
    if text is None:
        text = Severity.CRITICAL.value
    if text not in severities:
        raise UsageError(f"severity: {text[:40]!r} is not one of {', '.join(severities)}")
    return frozenset(severities[severities.index(Severity(text)) :])


def _kinds(query: Query) -> frozenset[ReasonKind]:
    """The requested kinds of reason; all of them by default."""
    requested = many(query, "reason")
    if "reason" in query and not requested:
        raise UsageError(f"reason: it is empty; write one or more of {', '.join(_ORDER)}")
    for text in requested:
        if text not in _ORDER:
            raise UsageError(f"reason: {text[:40]!r} is not one of {', '.join(_ORDER)}")
    return frozenset(map(ReasonKind, requested or _ORDER))
