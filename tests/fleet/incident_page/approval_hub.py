"""The pages of incidents over a state that a test sets, without an engine: what is asked is noted."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode

from accelwatch.action.intent import IntentKind
from accelwatch.alerting.incidents.journal.errors import JournalError
from accelwatch.alerting.incidents.journal.records import Batch
from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.base.clock import ManualClock
from accelwatch.fleet.approval.approvals import Approvals
from accelwatch.fleet.approval.links import Link, Signer
from accelwatch.fleet.approval.shown import ShownPlans
from accelwatch.fleet.approval.used import UsedLinks
from accelwatch.fleet.incident_page.pages import IncidentVisits
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.remediation.execution.inbox import Reply
from accelwatch.remediation.policy.plan.model import Plan, PlanStep, Price
from accelwatch.remediation.policy.state.changes import Command, Verb
from accelwatch.remediation.policy.state.model import Approval, Clocks, Remedy, RemedyState
from accelwatch.remediation.policy.state.stage import Stage
from accelwatch.remediation.settings import RemedySettings
from accelwatch.web.pages.page import Change, Page, Visit
from accelwatch.web.protection.roles import Role
from support.fleet.manual_fleet import THRESHOLDS
from support.incidents.incident_samples import incident

NOW = 1_795_000_000.0
KEY = b"k" * 32
FORM = {"Content-Type": "application/x-www-form-urlencoded", "Host": "hub.example.org"}


class ApprovalEngine:
    """Takes every word."""

    def __init__(self, state: RemedyState) -> None:
        self.state = state
        self.doing: dict[str, str] = {}
        self.commands: list[tuple[Command, str]] = []
        self.reply = Reply()
        # Why nobody can look now.
        self.unseen = ""
        # Called while it looks.
        self.looking: Callable[[], None] = lambda: None

    async def poll_again(self, _: str) -> str:
        self.looking()
        return self.unseen

    async def submit_command(
        self, command: Command, address: str = "", *, already_checked: bool = False
    ) -> Reply:
        assert already_checked or command.verb is not Verb.APPROVE
        self.commands.append((command, address))
        return self.reply


class ApprovalRunner:
    """A plan for whoever asks."""

    def __init__(self, state: RemedyState) -> None:
        self.engine = ApprovalEngine(state)
        self.settings = RemedySettings(ceiling="resume")
        self.plan_of: dict[str, Plan] = {}

    async def submit_command(
        self, command: Command, address: str = "", *, already_checked: bool = False
    ) -> Reply:
        return await self.engine.submit_command(command, address, already_checked=already_checked)

    def plan(self, node: str) -> Plan:
        return self.plan_of.get(node) or Plan(node=node, stage=Stage.HEALTHY, text="it is well")


class ApprovalRules:
    """Knows one incident."""

    def __init__(self, incident: Incident) -> None:
        self._incident = incident

    def incident(self, id_: str) -> Incident | None:
        return self._incident if id_ == self._incident.id else None

    def mute_of(self, _incident: Incident) -> None:
        return None


class ApprovalHub:
    """One incident of node n12 that waits for a yes to the plan `p1`."""

    def __init__(self, *, may_act: bool = True, acts: bool = True, **facts: Any) -> None:
        self.clock = ManualClock(wall=NOW)
        self.fleet = Fleet(self.clock, THRESHOLDS, None)
        self.incident: Incident = incident(3, at=NOW - 61.0, node="n12", **facts)
        self.remedy = Remedy(
            node="n12",
            stage=Stage.AWAITING_APPROVAL,
            clocks=Clocks(since=NOW - 60.0, begun=NOW - 61.0, due=NOW + 1740.0),
            incident="i3",
            approval=Approval(asked="p1"),
        )
        self.runner = ApprovalRunner(RemedyState(remedies={"n12": self.remedy}))
        self.plan("p1", "take n12 out of the pool")
        self.batches: list[Batch] = []
        self.broken = ""
        self.signer = Signer(KEY)
        self.approvals = Approvals(self.signer, UsedLinks(self._commit, self.clock), ShownPlans())
        runner: Any = self.runner
        rules: Any = ApprovalRules(self.incident)
        self.visits = IncidentVisits(
            self.fleet,
            self.clock,
            rules=lambda: rules,
            remedies=lambda: runner if acts else None,
            approvals=lambda: self.approvals,
            may_act=lambda: may_act,
            external_url=lambda: "https://hub.example.org",
        )

    def plan(self, digest: str, text: str) -> None:
        """What would be done now."""
        steps = (PlanStep(kind=IntentKind.QUARANTINE, text=text),)
        self.runner.plan_of["n12"] = Plan(
            node="n12",
            stage=Stage.AWAITING_APPROVAL,
            incident="i3",
            digest=digest,
            steps=steps,
            price=Price(saved=12.0, lost=2.5),
        )

    async def _commit(self, batch: Batch) -> None:
        if self.broken:
            raise JournalError(self.broken)
        self.batches.append(batch)

    def link(self, **other: Any) -> str:
        """A link to the plan that waits, or to another one."""
        form = {
            "sink": "oncall",
            "incident": "i3",
            "node": "n12",
            "plan": "p1",
            "requested_at": self.remedy.clocks.since,
            "until": NOW + 1740.0,
        }
        return self.signer.link(Link(**{**form, **other}))

    def show(self, token: str = "", path: str = "/incidents/i3", **visit: Any) -> Page:
        """What somebody sees; with nothing said an administrator."""
        return asyncio.run(self.visited(token, path, **visit))

    async def visited(self, token: str = "", path: str = "/incidents/i3", **visit: Any) -> Page:
        """The same, for those who have a loop."""
        return await self.visits.show(
            Visit(path=path, query=_query(token), headers={}, **{**_ADMIN, **visit})
        )

    async def press(
        self,
        token: str = "",
        fields: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        **change: Any,
    ) -> Page:
        """What comes of a form: of approving as the page offers it, unless said otherwise."""
        who = {**_ADMIN, **change}
        shown = await self.visited(
            token, **{key: who[key] for key in ("user", "role", "guest") if key in who}
        )
        form = {
            "form": _form_in(shown.body.decode()),
            "node": "n12",
            "plan": "p1",
            "verb": "approve",
            **(fields or {}),
        }
        return await self.visits.act(
            Change(
                method="POST",
                path="/incidents/i3",
                query=_query(token),
                headers={**FORM, **(headers or {})},
                body=urlencode(form).encode(),
                address="10.0.0.7",
                **who,
            )
        )

    @property
    def commands(self) -> list[Command]:
        """What the engine was asked for."""
        return [command for command, _ in self.runner.engine.commands]


_ADMIN: dict[str, Any] = {"user": "kim", "role": Role.ADMIN}
GUEST: dict[str, Any] = {"user": "link:oncall", "role": Role.READ, "guest": True}


def _query(token: str) -> dict[str, list[str]]:
    return {"link": [token]} if token else {}


def _form_in(html: str) -> str:
    _, found, rest = html.partition('name="form" value="')
    return rest.partition('"')[0] if found else ""
