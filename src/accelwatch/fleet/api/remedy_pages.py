"""What is being done about incidents, what would be done, and people's words to it."""

from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING
from urllib.parse import unquote

import msgspec

from accelwatch.alerting.evaluation.silencing import decode_request, reason_of, who
from accelwatch.alerting.incidents.model.silence import named
from accelwatch.base import durations
from accelwatch.base.clock import Clock
from accelwatch.base.errors import UnmetError, UsageError
from accelwatch.web.pages.json_page import json_page
from accelwatch.web.pages.page import (
    JSON,
    Change,
    Headers,
    Page,
    Query,
    check_parameters,
    only,
    plain,
)
from accelwatch.web.protection.roles import Role

if TYPE_CHECKING:
    from accelwatch.fleet.remedies.runner import RemedyRunner

REMEDIES = "/v1/remedies"
PLAN = "/v1/plan"
HOLDS = "/v1/holds"
SPARES = "/v1/spares"
_SHOWN = (REMEDIES, PLAN, HOLDS, SPARES)
_OF_ALL: Mapping[str, tuple[str, Role]] = MappingProxyType(
    {
        "/v1/stop": ("stop", Role.ACT),
        "/v1/start": ("start", Role.ADMIN),
        "/v1/breaker/reset": ("reset_breaker", Role.ADMIN),
    }
)
"""Whoever may act may stop everything; to let it go on again takes more."""
_OF_NODE: Mapping[str, Role] = MappingProxyType(
    {
        "approve": Role.APPROVE,
        "deny": Role.APPROVE,
        "hold": Role.ACT,
        "unhold": Role.ACT,
        "quarantine": Role.ACT,
        "release": Role.ACT,
        "recovered": Role.ACT,
        "retry": Role.ACT,
        "force_release": Role.ADMIN,
        "forget": Role.ADMIN,
    }
)
VERBS = tuple(_OF_NODE)
"""What can be asked for of a node."""
_LASTS = ("hold", "deny")


class Wish(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is asked for by a POST: why, and what belongs to it."""

    reason: str
    by: str = ""
    """Counts where nobody has to prove who he is, and is marked as unverified."""
    lasts: str = msgspec.field(name="for", default="")
    """How long a hold or a no counts, such as `4h`; a hold without it until it is taken back."""
    plan: str = ""
    """Digest of the plan that was seen; needed to approve."""


class RemedyPages:
    """For the hub's event loop."""

    def __init__(
        self,
        runner: "Callable[[], RemedyRunner | None]",
        clock: Clock,
        nodes: Callable[[], Collection[str]],
    ) -> None:
        """`runner` gives whoever acts now, `nodes` the names that are known."""
        self._runner = runner
        self._clock = clock
        self._nodes = nodes

    def methods(self, path: str) -> tuple[str, ...]:
        """The methods that a path takes; empty for other paths."""
        if path in _SHOWN:
            return ("GET", "HEAD")
        return ("POST",) if path in _OF_ALL or _command_of(path) is not None else ()

    def role(self, path: str) -> Role:
        """Who may POST there."""
        if path in _OF_ALL:
            return _OF_ALL[path][1]
        command = _command_of(path)
        return Role.ADMIN if command is None else _OF_NODE[command[1]]

    def page(self, path: str, query: Query, headers: Headers) -> Page:
        """`RemediesPage`, `PlanPage`, `HoldsPage` or `SparesPage`. Raises UsageError, UnmetError."""
        if path != PLAN:
            check_parameters(query, ())
            return json_page(self._listed(path), headers)
        from accelwatch.fleet.remedies.documents import PlanPage

        check_parameters(query, ("node",))
        node = only(query, "node")
        if node is None:
            raise UsageError("node: say which, such as ?node=n12")
        return json_page(PlanPage(plan=self._acting().plan(self._require_node(node))), headers)

    def _listed(self, path: str) -> msgspec.Struct:
        """What is told of all nodes; where nobody acts it says that."""
        from accelwatch.fleet.remedies.documents import RemediesPage, remedies_page
        from accelwatch.fleet.remedies.quarantine_documents import (
            QuarantinePage,
            SparesPage,
            quarantine_page,
            spares_page,
        )

        runner, now = self._runner(), self._clock.wall()
        if path == HOLDS:
            return (
                QuarantinePage(acts=False)
                if runner is None
                else quarantine_page(runner.engine.state, now)
            )
        if path == SPARES:
            if runner is None:
                return SparesPage(acts=False)
            return spares_page(runner.engine.state, runner.settings, now)
        if runner is None:
            return RemediesPage(acts=False)
        engine = runner.engine
        return remedies_page(engine.state, runner.settings, engine.doing, runner.problems)

    async def act(self, change: Change) -> Page:
        """Do what a person asks for; it is written down when this is answered.

        Raises UsageError, UnmetError.
        """
        from accelwatch.fleet.remedies.documents import Commanded, note_document, remedy_document
        from accelwatch.remediation.policy.state.changes import Command, Verb

        check_parameters(change.query, ())
        media = change.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if media != JSON:
            return plain(415, "the body is JSON: Content-Type: application/json")
        runner = self._acting()
        request = decode_request(change.body, Wish)
        node, verb = _command_of(change.path) or ("", _OF_ALL.get(change.path, ("", Role.ADMIN))[0])
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
            raise UnmetError("nothing is done here: there are no remedy.actions in hub.yaml")
        return runner

    def _require_node(self, node: str) -> str:
        if node not in self._nodes():
            raise UnmetError(f"no node {node[:100]!r}")
        return node


def _command_of(path: str) -> tuple[str, str] | None:
    """Node and verb in `/v1/remedies/n12/release`; None for other paths."""
    rest = path.removeprefix(f"{REMEDIES}/")
    node, _, verb = rest.partition("/")
    return (unquote(node), verb) if rest != path and node and verb in _OF_NODE else None


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
