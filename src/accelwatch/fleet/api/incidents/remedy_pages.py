"""What is being done about incidents, what would be done, and people's words to it."""

from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING
from urllib.parse import unquote

import msgspec

from accelwatch.alerting.evaluation.silences.requests import decode_request, reason_of, who
from accelwatch.alerting.incidents.model.silence import named
from accelwatch.base import durations
from accelwatch.base.clock import Clock
from accelwatch.base.errors import UnmetError, UsageError, check_leads
from accelwatch.fleet.documents.remedies import (
    Commanded,
    PlanPage,
    QuarantinePage,
    RemediesPage,
    SparesPage,
)
from accelwatch.web.pages.json_page import json_page
from accelwatch.web.pages.page import Change, Headers, Page, Query, only, plain
from accelwatch.web.pages.routes import Parameter, Route
from accelwatch.web.protection.roles import Role

if TYPE_CHECKING:
    from accelwatch.fleet.remedies.current import CurrentRemedies
    from accelwatch.fleet.remedies.runner import RemedyRunner

REMEDIES = "/v1/remedies"
PLAN = "/v1/plan"
QUARANTINES = "/v1/holds"
SPARES = "/v1/spares"
# Whoever may act may stop everything; a start needs a higher role.
_OF_ALL: Mapping[str, tuple[str, str, Role]] = MappingProxyType(
    {
        "/v1/stop": ("stop", "Start no new remedies on any node", Role.ACT),
        "/v1/start": ("start", "Resume remedies", Role.ADMIN),
        "/v1/breaker/reset": ("reset_breaker", "Close the breaker", Role.ADMIN),
    }
)
_OF_NODE: Mapping[str, tuple[str, Role]] = MappingProxyType(
    {
        "approve": ("Approve the plan for a node as it was shown", Role.APPROVE),
        "deny": ("Deny the plan for a node, for a while", Role.APPROVE),
        "hold": ("Take no automatic action on a node", Role.ACT),
        "unhold": ("Allow automatic actions on a node again", Role.ACT),
        "quarantine": ("Take a node out; only a person gives it back", Role.ACT),
        "release": ("Release a node once fresh data shows it healthy", Role.ACT),
        "recovered": ("Declare a node repaired: earlier evidence no longer counts", Role.ACT),
        "retry": ("Try a failed or unknown step on a node again", Role.ACT),
        "force_release": ("Release a node whatever its data says", Role.ADMIN),
        "forget": ("Stop managing a node, and leave its state at the scheduler alone", Role.ADMIN),
    }
)
_LASTS = ("hold", "deny")


class Wish(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a POST: why, and what belongs to it."""

    reason: str
    # Counts where nobody has to prove who he is, and is marked as unverified.
    by: str = ""
    # How long a hold or a no counts, such as `4h`; a hold without it until it is removed.
    lasts: str = msgspec.field(name="for", default="")
    # Digest of the plan that was seen; needed to approve.
    plan: str = ""


class RemedyPages:
    """For the hub's event loop."""

    def __init__(
        self,
        runner: "Callable[[], RemedyRunner | None]",
        clock: Clock,
        nodes: Callable[[], Collection[str]],
        *,
        followed: "Callable[[], CurrentRemedies | None]" = lambda: None,
        refusal: Callable[[], str] = str,
    ) -> None:
        """`runner` gives whoever acts now, `nodes` the names that are known.

        `followed`: what the leading hub does; `refusal`: why a change has to be sent there.
        """
        self._followed = followed
        self._refusal = refusal
        self._runner = runner
        self._clock = clock
        self._nodes = nodes

    def routes(self) -> Iterator[Route]:
        """The routes."""
        yield Route(
            "GET",
            REMEDIES,
            "What is being done about incidents",
            self._remedies,
            answer=RemediesPage,
        )
        yield Route(
            "GET",
            PLAN,
            "What would be done for a node now, and what is in its way",
            self._plan,
            parameters=(Parameter("node", "Name of the node.", required=True),),
            answer=PlanPage,
        )
        yield Route(
            "GET",
            QUARANTINES,
            "Our marks on nodes, and nodes on hold",
            self._quarantines,
            answer=QuarantinePage,
        )
        yield Route(
            "GET",
            SPARES,
            "Spare nodes, and which are in use",
            self._spares,
            answer=SparesPage,
        )
        for path, (verb, summary, role) in _OF_ALL.items():
            yield self._command_route(path, summary, role, partial(self._command, verb, ""))
        for verb, (summary, role) in _OF_NODE.items():
            path = f"{REMEDIES}/{{node}}/{verb}"
            yield self._command_route(path, summary, role, partial(self._command_node, verb))

    def _command_route(
        self, path: str, summary: str, role: Role, handler: Callable[..., Awaitable[Page]]
    ) -> Route:
        return Route("POST", path, summary, handler, body=Wish, answer=Commanded, role=role)

    def _remedies(self, _query: Query, headers: Headers) -> Page:
        current = self._current()
        if current is None:
            return json_page(RemediesPage(acts=False), headers)
        from accelwatch.fleet.remedies.describing import remedies_page

        page = remedies_page(current.state, current.settings, current.doing, current.problems)
        return json_page(page, headers)

    def _current(self) -> "CurrentRemedies | None":
        """What is being done, here or by the hub that leads; None where nobody acts."""
        runner = self._runner()
        return self._followed() if runner is None else runner.current

    def _plan(self, query: Query, headers: Headers) -> Awaitable[Page]:
        node = only(query, "node")
        if node is None:
            raise UsageError("node: say which, such as ?node=n12")
        return self._plan_page(self._acting(), self._require_node(node), headers)

    async def _plan_page(self, runner: "RemedyRunner", node: str, headers: Headers) -> Page:
        """The plan, with what the node's scheduler would refuse."""
        return json_page(PlanPage(plan=await runner.previewed_plan(node)), headers)

    def _quarantines(self, _query: Query, headers: Headers) -> Page:
        current = self._current()
        if current is None:
            return json_page(QuarantinePage(acts=False), headers)
        from accelwatch.fleet.remedies.describing import quarantine_page

        return json_page(quarantine_page(current.state, self._clock.wall()), headers)

    def _spares(self, _query: Query, headers: Headers) -> Page:
        current = self._current()
        if current is None:
            return json_page(SparesPage(acts=False), headers)
        from accelwatch.fleet.remedies.describing import spares_page

        page = spares_page(current.state, current.settings, self._clock.wall())
        return json_page(page, headers)

    async def _command_node(self, verb: str, node: str, change: Change) -> Page:
        return await self._command(verb, unquote(node), change)

    async def _command(self, verb: str, node: str, change: Change) -> Page:
        """Carry out a command, for all nodes where none is named; it is in the journal by then.

        Raises UsageError, UnmetError.
        """
        from accelwatch.fleet.remedies.describing import note_document, remedy_document
        from accelwatch.remediation.policy.state.changes import Command, Verb

        runner = self._acting()
        request = decode_request(change.body, Wish)
        if node:
            self._require_node(node)
        now = self._clock.wall()
        command = Command(
            verb=Verb(verb),
            by=named(who(change.user, request.by), bool(change.user)),
            at=now,
            node=node,
            reason=reason_of(request.reason),
            until=_until(verb, request, now),
            digest=_digest(verb, request),
        )
        reply = await runner.submit_command(command, change.address)
        if reply.problem:
            return plain(503, f"it does not count: {reply.problem}")
        remedy = runner.engine.state.remedies.get(node)
        response = Commanded(
            notes=tuple(note_document(note) for note in reply.notes),
            remedy=None if remedy is None else remedy_document(remedy, runner.engine.doing),
        )
        return json_page(response, change.headers)

    def _acting(self) -> "RemedyRunner":
        runner = self._runner()
        if runner is None:
            check_leads(self._refusal())
            raise UnmetError("nothing is done here: there are no remedy.actions in hub.yaml")
        return runner

    def _require_node(self, node: str) -> str:
        if node not in self._nodes():
            raise UnmetError(f"no node {node[:100]!r}")
        return node


def _until(verb: str, request: Wish, now: float) -> float | None:
    if not request.lasts:
        return None
    if verb not in _LASTS:
        raise UsageError(f"for: only {' and '.join(_LASTS)} last for a time")
    return now + durations.seconds_with_unit(request.lasts)


def _digest(verb: str, request: Wish) -> str:
    if verb == "approve" and not request.plan:
        raise UsageError("plan: say which plan you approve; /v1/plan?node=NODE has its digest")
    if verb != "approve" and request.plan:
        raise UsageError("plan: only approve is about a plan")
    return request.plan
