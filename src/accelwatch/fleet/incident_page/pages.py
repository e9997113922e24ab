"""`/incidents/{id}`: looking changes nothing; a form that comes back is checked here, then done.

Whoever has proved who he is decides by his role. A link decides on the one plan that it was sent for,
once, whoever brings it.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import quote

import msgspec

from accelwatch.alerting.evaluation.incident_reader import IncidentReader
from accelwatch.alerting.incidents.journal.errors import JournalError
from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.alerting.incidents.model.silence import named
from accelwatch.base import durations
from accelwatch.base.clock import Clock
from accelwatch.base.errors import UnmetError, UsageError, check_leads
from accelwatch.base.slices import Turns
from accelwatch.fleet.approval.approvals import Approvals, Presented
from accelwatch.fleet.approval.links import PARAMETER, LinkStatus
from accelwatch.fleet.approval.used import UsedError
from accelwatch.fleet.graphs.incident_graphs import graphs_of
from accelwatch.fleet.incident_page.door import PAGE, id_in
from accelwatch.fleet.incident_page.forms import NEEDED, Pressed, buttons, pressed
from accelwatch.fleet.incident_page.link_rights import (
    DEAD_LINKS,
    LOG_IN,
    holder_of,
    is_from_here,
    link_in_force,
    outcome,
    query_text,
    verbs_by_link,
)
from accelwatch.fleet.incident_page.render import Notice, Shown, incident_page, plain_page
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.remediation.policy.state.changes import Command, Verb
from accelwatch.web.pages.page import Change, Page, Query, Visit, check_parameters, only

if TYPE_CHECKING:
    from accelwatch.fleet.remedies.runner import RemedyRunner

# How long a page may lie open until somebody presses a button.
_FORM_S = 8 * 3600.0


class IncidentVisits:
    """For the hub's event loop."""

    def __init__(
        self,
        fleet: Fleet,
        clock: Clock,
        *,
        rules: Callable[[], IncidentReader | None],
        remedies: "Callable[[], RemedyRunner | None]",
        approvals: Callable[[], Approvals | None],
        may_act: Callable[[], bool],
        external_url: Callable[[], str],
        turns: Turns | None = None,
        refusal: Callable[[], str] = str,
    ) -> None:
        """`may_act`: whether those who can reach the hub may change something without a link;
        `turns`: those of all walks over the fleet; `refusal`: why another hub has to answer."""
        self._refusal_of_hub = refusal
        self._fleet = fleet
        self._clock = clock
        self._rules = rules
        self._remedies = remedies
        self._approvals = approvals
        self._may_act = may_act
        self._external_url = external_url
        self._turns = turns or Turns()

    def methods(self, path: str) -> tuple[str, ...]:
        """The methods that a path allows; empty for other paths."""
        return ("GET", "HEAD", "POST") if id_in(path) else ()

    def guest(self, path: str, query: Query) -> str:
        """Under which name somebody without credentials is let in, by a link of ours for this page."""
        presented = self._presented(id_in(path), query)
        if presented is None or presented.status is LinkStatus.OTHER_INCIDENT:
            return ""
        return presented.link.actor

    async def show(self, visit: Visit) -> Page:
        """The page. Raises UsageError, UnmetError."""
        check_parameters(visit.query, (PARAMETER,))
        presented = self._presented(id_in(visit.path), visit.query)
        return self._expired(visit, presented) or await self._page(visit, ())

    def _expired(self, visit: Visit | Change, presented: Presented | None) -> Page | None:
        """What a guest sees whose link is too old, whether or not it was used: nothing."""
        if not visit.guest or (presented and self._clock.wall() <= presented.link.until):
            return None
        return plain_page("This link has expired", LOG_IN, 410)

    async def act(self, change: Change) -> Page:
        """Carry out a form, once all is as it should be. Raises UsageError, UnmetError."""
        check_parameters(change.query, (PARAMETER,))
        incident = self._incident(change.path)
        submitted = pressed(change.headers, change.body)
        presented = self._presented(incident.id, change.query)
        expired = self._expired(change, presented)
        if expired is not None:
            return expired
        now = self._clock.wall()
        approvals, runner = self._approvals(), self._remedies()
        if runner is None or approvals is None:
            check_leads(self._refusal_of_hub())
            raise UnmetError("nothing is done here: there are no remedy.actions in hub.yaml")
        if not is_from_here(change.headers, self._external_url()):
            return plain_page("Refused", "The form came from a page that is not ours.", 403)
        if not approvals.signer.is_form(submitted.form, incident.id, holder_of(change), now):
            text = "This page has expired, or was made for somebody else. Open it again."
            return plain_page("Refused", text, 403)
        if submitted.verb is Verb.APPROVE:
            # An approval is of what is there now; a failed poll does not use up a link.
            problem = await runner.engine.poll_again(submitted.node)
            if problem:
                notice = Notice(text=f"Not now: {problem}.", tone="bad")
                return await self._page(change, (notice,), 503)
        return await self._decide(change, incident, submitted, runner, approvals)

    async def _decide(
        self,
        change: Change,
        incident: Incident,
        submitted: Pressed,
        runner: "RemedyRunner",
        approvals: Approvals,
    ) -> Page:
        """What was pressed counts, where whoever did so may. Raises UsageError, UnmetError."""
        presented = self._presented(incident.id, change.query)
        by_link = link_in_force(presented, submitted, change)
        if by_link is None:
            refusal = self._refusal(change, submitted, presented)
            if refusal:
                refused = (Notice(text=refusal, tone="bad"), *self._plan_changes(presented))
                return await self._page(change, refused, 403)
        command = self._command(submitted, change, by_link, runner, self._clock.wall())
        if by_link is not None:
            try:
                await approvals.used.spend(by_link.key, by_link.link, change.address)
            except UsedError:
                return await self._page(change, (), 409)
            except JournalError as error:
                notice = Notice(text=f"It does not count: {error}. {LOG_IN}", tone="bad")
                return await self._page(change, (notice,), 503)
        reply = await runner.submit_command(command, change.address, already_checked=True)
        notice, code = outcome(reply.problem, [note.text for note in reply.notes], command)
        return await self._page(change, (notice,), code)

    def _command(
        self,
        submitted: Pressed,
        change: Change,
        by_link: Presented | None,
        runner: "RemedyRunner",
        now: float,
    ) -> Command:
        """Raises UsageError, UnmetError."""
        if (
            submitted.node not in runner.engine.state.remedies
            and submitted.node not in self._fleet.nodes
        ):
            raise UnmetError(f"no node {submitted.node[:100]!r}")
        if submitted.verb is Verb.APPROVE and not submitted.plan:
            raise UsageError("plan: the form does not say which plan is approved")
        by = named(change.user, bool(change.user)) if by_link is None else by_link.link.actor
        until = None
        if submitted.verb is not Verb.APPROVE and submitted.lasts:
            until = now + durations.seconds_with_unit(submitted.lasts)
        return Command(
            verb=submitted.verb,
            by=by,
            at=now,
            node=submitted.node,
            reason=" ".join(submitted.reason.split())[:500] or "on the page of the incident",
            until=until,
            digest=submitted.plan if submitted.verb is Verb.APPROVE else "",
        )

    def _refusal(self, change: Change, submitted: Pressed, presented: Presented | None) -> str:
        """Why the user's role or link does not allow the command."""
        if change.guest or (presented is not None and not self._may_act()):
            dead = DEAD_LINKS.get(presented.status, "") if presented is not None else ""
            return dead or f"By this link {submitted.verb.value} is not possible here. {LOG_IN}"
        if not self._may_act():
            return "This hub is open to all; changing anything needs credentials."
        needed = NEEDED[submitted.verb]
        if not change.role.may(needed):
            who = change.user or "The holder of this token"
            return f"{who} may {change.role}, and this needs {needed}."
        return ""

    async def _page(
        self,
        visit: Visit | Change,
        notices: tuple[Notice, ...],
        code: int = 200,
    ) -> Page:
        async with self._turns.walk() as walk:
            graphs = await graphs_of(self._fleet, self._incident(visit.path), walk)
        # What is decided by is read after the last yield of control: all of it is as of one time.
        incident, rules = self._incident(visit.path), self._rules()
        presented = self._presented(incident.id, visit.query)
        runner, approvals, now = self._remedies(), self._approvals(), self._clock.wall()
        shown = Shown(
            incident=incident,
            now=now,
            notices=notices or self._of_link(presented),
            mute=None if rules is None else rules.mute_of(incident),
            graphs=graphs,
            who=visit.user,
        )
        if runner is None or approvals is None:
            why = "This hub acts on nothing: hub.yaml names no remedy.actions. What to do is below."
            if refusal := self._refusal_of_hub():
                why = f"Nothing is decided here: {refusal}."
            return incident_page(msgspec.structs.replace(shown, nothing=why), code)
        # What acts is loaded by those only who act.
        from accelwatch.fleet.incident_page.decisions import decisions_of, prevailing

        decisions = decisions_of(runner, incident, now)
        nothing = ""
        if not decisions:
            nothing = "It is over, and nothing is being done about it."
            if incident.is_open:
                nothing = "It is about no single node, so there is nothing to take out."
        action = PAGE + quote(incident.id, safe="") + query_text(visit.query)
        token = approvals.signer.form(incident.id, holder_of(visit), now + _FORM_S)
        of_role = self._verbs(visit)
        return incident_page(
            msgspec.structs.replace(
                shown,
                nothing=nothing,
                prevailing=prevailing(runner),
                decisions=tuple(
                    (
                        decision,
                        buttons(
                            decision,
                            of_role | verbs_by_link(presented, decision.node),
                            action,
                            token,
                        ),
                    )
                    for decision in decisions
                ),
            ),
            code,
        )

    def _of_link(self, presented: Presented | None) -> tuple[Notice, ...]:
        """Why a link counts no more, and what is new in the plan since it was sent."""
        if presented is None or presented.status is LinkStatus.GOOD:
            return ()
        return (
            Notice(text=DEAD_LINKS[presented.status], tone="bad"),
            *self._plan_changes(presented),
        )

    def _plan_changes(self, presented: Presented | None) -> tuple[Notice, ...]:
        approvals, runner = self._approvals(), self._remedies()
        if presented is None or approvals is None or runner is None:
            return ()
        if presented.status is not LinkStatus.CHANGED:
            return ()
        steps = [step.text for step in runner.plan(presented.link.node).steps]
        changes = approvals.shown.changes(presented.link.plan, steps)
        return tuple(Notice(text=f"{text}.") for text in changes)

    def _verbs(self, visit: Visit | Change) -> set[Verb]:
        """What somebody may do by what he is."""
        if visit.guest or not self._may_act():
            return set()
        return {verb for verb, needed in NEEDED.items() if visit.role.may(needed)}

    def _incident(self, path: str) -> Incident:
        rules, id_ = self._rules(), id_in(path)
        incident = None if rules is None else rules.incident(id_)
        if incident is None:
            raise UnmetError(f"no incident {id_[:100]!r}")
        return incident

    def _presented(self, incident: str, query: Query) -> Presented | None:
        token, approvals, runner = only(query, PARAMETER), self._approvals(), self._remedies()
        if not token or approvals is None or runner is None:
            return None
        return approvals.presented(token, incident, runner.engine.state, self._clock.wall())
