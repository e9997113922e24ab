"""What is being done about incidents, what would be done, and people's words to it."""

from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING
from urllib.parse import unquote

import msgspec

from accelwatch.alerting.evaluation.silencing import asked_for, reason_of, who
from accelwatch.alerting.incidents.silence import named
from accelwatch.base import durations
from accelwatch.base.clock import Clock
from accelwatch.base.errors import UnmetError, UsageError
from accelwatch.web.pages.json_page import json_page
from accelwatch.web.pages.page import JSON, Change, Headers, Page, Query, ask_again, only, plain
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
        return ("POST",) if path in _OF_ALL or _word_to(path) is not None else ()

    def role(self, path: str) -> Role:
        """Who may POST there."""
        if path in _OF_ALL:
            return _OF_ALL[path][1]
        word = _word_to(path)
        return Role.ADMIN if word is None else _OF_NODE[word[1]]

    def page(self, path: str, query: Query, headers: Headers) -> Page:
        """`RemediesPage`, `PlanPage`, `HoldsPage` or `SparesPage`. Raises UsageError, UnmetError."""
        if path != PLAN:
            ask_again(query, ())
            return json_page(self._listed(path), headers)
        from accelwatch.fleet.remedies.documents import PlanPage

        ask_again(query, ("node",))
        node = only(query, "node")
        if node is None:
            raise UsageError("node: say which, such as ?node=n12")
        return json_page(PlanPage(plan=self._acting().plan(self._known(node))), headers)

    def _listed(self, path: str) -> msgspec.Struct:
        """What is told of all nodes; where nobody acts it says that."""
        from accelwatch.fleet.remedies.documents import RemediesPage, remedies_page
        from accelwatch.fleet.remedies.standing_documents import (
            HoldsPage,
            SparesPage,
            holds_page,
            spares_page,
        )

        runner, now = self._runner(), self._clock.wall()
        if path == HOLDS:
            return HoldsPage(acts=False) if runner is None else holds_page(runner.engine.state, now)
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

        ask_again(change.query, ())
        media = change.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if media != JSON:
            return plain(415, "the body is JSON: Content-Type: application/json")
        runner = self._acting()
        wish = asked_for(change.body, Wish)
        node, verb = _word_to(change.path) or ("", _OF_ALL.get(change.path, ("", Role.ADMIN))[0])
        if node:
            self._known(node)
        now = self._clock.wall()
        command = Command(
            verb=Verb(verb),
            by=named(who(change.user, wish.by), bool(change.user)),
            at=now,
            node=node,
            reason=reason_of(wish.reason),
            until=_until(verb, wish, now),
            digest=_digest(verb, wish),
        )
        reply = await runner.ask(command, change.address)
        if reply.problem:
            return plain(503, f"it does not count: {reply.problem}")
        remedy = runner.engine.state.remedies.get(node)
        told = Commanded(
            notes=tuple(note_document(note) for note in reply.notes),
            remedy=None if remedy is None else remedy_document(remedy, runner.engine.doing),
        )
        return json_page(told, change.headers)

    def _acting(self) -> "RemedyRunner":
        runner = self._runner()
        if runner is None:
            raise UnmetError("nothing is done here: there are no remedy.actions in hub.yaml")
        return runner

    def _known(self, node: str) -> str:
        if node not in self._nodes():
            raise UnmetError(f"no node {node[:100]!r}")
        return node


def _word_to(path: str) -> tuple[str, str] | None:
    """Node and verb in `/v1/remedies/n12/release`; None for other paths."""
    rest = path.removeprefix(f"{REMEDIES}/")
    node, _, verb = rest.partition("/")
    return (unquote(node), verb) if rest != path and node and verb in _OF_NODE else None


def _until(verb: str, wish: Wish, now: float) -> float | None:
    if not wish.lasts:
        return None
    if verb not in _LASTS:
        raise UsageError(f"for: only {' and '.join(_LASTS)} last for a time")
    return now + durations.seconds_with_unit(wish.lasts)


def _digest(verb: str, wish: Wish) -> str:
    if verb == "approve" and not wish.plan:
        raise UsageError("plan: say which plan you approve; /v1/plan?node=NODE has its digest")
    if verb != "approve" and wish.plan:
        raise UsageError("plan: only approve is about a plan")
    return wish.plan
