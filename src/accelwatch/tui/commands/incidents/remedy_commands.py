"""Keys for a hub that acts: approve, deny, hold, quarantine, release, STOP; all with confirmation."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from accelwatch.base.errors import AccelwatchError
from accelwatch.fleet.picture.remedies import RESET_BREAKER, START, STOP, Command
from accelwatch.fleet.wire import IncidentNow
from accelwatch.tui.commands.incidents.remedy_requests import RemedyRequests
from accelwatch.tui.commands.registry import Handlers
from accelwatch.tui.context import DashboardContext
from accelwatch.tui.incidents.remedy_facts import price_of
from accelwatch.tui.state import fleet_actions
from accelwatch.tui.state.action import FLEET, INCIDENT, INCIDENTS

if TYPE_CHECKING:
    from accelwatch.fleet.picture.remedies import RemedySource
    from accelwatch.remediation.policy.plan.model import Plan
    from accelwatch.tui.feeds.fleet_controller import FleetController

# Stages in which nothing has been done yet.
_DENIABLE = frozenset({"suspect", "awaiting_approval", "unreachable"})
_DENIED = {"1h": "an hour", "4h": "4 hours", "1d": "a day"}
_VETO_SPANS = {
    "1h": "for an hour",
    "4h": "for 4 hours",
    "1d": "for a day",
    "": "until it is removed",
}
_BACK = {
    "release": "release it once fresh data shows it healthy",
    "recovered": "it is repaired: evidence until now no longer counts",
    "retry": "you have checked the node: retry what failed or is unknown",
    "force_release": "release it without any check",
    "forget": "stop managing it; its mark at the scheduler stays",
}


class RemedyCommands:
    """One handler per action; False means that it is nothing for the present screen."""

    def __init__(
        self,
        app: DashboardContext,
        controller: "FleetController",
        current: Callable[[], IncidentNow | None],
    ) -> None:
        """`current` gives the incident that the keys are about."""
        self._app = app
        self._controller = controller
        self._board = controller.board.remedies
        self._current = current
        self._requests = RemedyRequests(app, controller)

    def handlers(self) -> Handlers:
        """What each action does here."""
        return {
            fleet_actions.APPROVE: self.do_approve,
            fleet_actions.DENY: self.do_deny,
            fleet_actions.HOLD: self.do_hold,
            fleet_actions.RELEASE: self.do_release,
            fleet_actions.QUARANTINE: self.do_quarantine,
            fleet_actions.BREAKER: self.do_breaker,
            fleet_actions.STOP: self.do_stop,
        }

    def _on(self, *screens: str) -> bool:
        return self._app.view_name in screens

    def _node(self) -> str:
        """The selected node; a message says where there is none."""
        current = self._current()
        if current is None:
            self._app.show_message("choose an incident")
            return ""
        incident = current.incident
        node = incident.node or (incident.nodes[0] if len(incident.nodes) == 1 else "")
        if not node:
            many = f"{incident.id} is about {current.nodes_total or 'no'} nodes"
            self._app.show_message(f"{many}: open one of its members (Space unfolds them)")
        return node

    def _about_node(self, act: "Callable[[str, RemedySource], None]") -> bool:
        if not self._on(INCIDENTS, INCIDENT):
            return False
        source = self._requests.source()
        node = self._node() if source is not None else ""
        if source is not None and node:
            act(node, source)
        return True

    def do_approve(self) -> bool:
        """Show the hub's present plan, and prompt for an approval."""
        return self._about_node(self._approve)

    def _approve(self, node: str, source: "RemedySource") -> None:
        async def request_plan() -> None:
            try:
                plan = await source.plan(node)
            except AccelwatchError as error:
                self._requests.show_notice(f"No plan for {node}", [str(error)])
                return
            if self._app.view is None:
                return  # a dialog has come in between
            self._confirm_plan(node, plan)

        self._app.show_message(f"asking the hub what it would do with {node}")
        self._controller.aside(request_plan())

    def _confirm_plan(self, node: str, plan: "Plan") -> None:
        stage = plan.stage.replace("_", " ")
        if not plan.digest or not plan.steps:
            self._requests.show_notice(
                f"Nothing to approve on {node}", [plan.text or f"it is {stage}"]
            )
            return
        if plan.stage != "awaiting_approval":
            text = [f"nothing waits for a yes: {node} is {stage}", *effects(plan)]
            self._requests.show_notice(f"Nothing to approve on {node}", text)
            return
        page = self._board.page
        by = f" in {', '.join(page.actions)}" if page is not None and page.actions else ""
        text = [f"With a yes this is done{by}, for {plan.incident} (rule {plan.rule}):"]
        command = Command(verb="approve", node=node, reason="", plan=plan.digest)
        label = f"approve plan {plan.digest[:8]} for {node}"
        self._requests.choose(f"Approve for {node}", [*text, *effects(plan)], [(label, command)])

    def do_deny(self) -> bool:
        """Prompt for how long the denial lasts."""
        return self._about_node(self._deny)

    def _deny(self, node: str, _: "RemedySource") -> None:
        remedy = self._board.of_node(node)
        if remedy is not None and remedy.stage not in _DENIABLE:
            stage = remedy.stage.replace("_", " ")
            text = [f"{node} is {stage}: that is not undone by a no; R gives the node back."]
            self._requests.show_notice(f"Nothing to deny on {node}", text)
            return
        rule = f" for rule {remedy.rule}" if remedy is not None and remedy.rule else ""
        text = [
            f"{node} stays in the pool, and approval is not requested again{rule} "
            "until the time is over."
        ]
        commands = [
            (
                f"no, {node} stays as it is for {long}",
                Command(verb="deny", node=node, reason="", lasts=lasts),
            )
            for lasts, long in _DENIED.items()
        ]
        self._requests.choose(f"Deny for {node}", text, commands)

    def do_hold(self) -> bool:
        """Prompt for how long nothing is to be done to the node."""
        return self._about_node(self._veto)

    def _veto(self, node: str, _: "RemedySource") -> None:
        text = [f"Nothing new is done to {node} meanwhile, whatever the rules say."]
        commands = [
            (
                f"leave {node} alone {long}",
                Command(verb="hold", node=node, reason="", lasts=lasts),
            )
            for lasts, long in _VETO_SPANS.items()
        ]
        veto = self._board.veto_of(node)
        if veto is not None:
            text = [f"{node} is on hold: {veto.by}: {veto.reason}"]
            commands.insert(
                0,
                (
                    f"remove the hold: rules may act on {node} again",
                    Command(verb="unhold", node=node, reason=""),
                ),
            )
        self._requests.choose(f"Hold {node}", text, commands)

    def do_release(self) -> bool:
        """Prompt for how the node is to come back."""
        return self._about_node(self._release)

    def _release(self, node: str, _: "RemedySource") -> None:
        remedy = self._board.of_node(node)
        if remedy is None:
            text = [f"Nothing is being done about {node}."]
        elif remedy.quarantine is None:
            text = [f"{node} is {remedy.stage.replace('_', ' ')}; it has no mark of ours."]
        else:
            annotation = f"our mark on {remedy.target or node}"
            text = [f"{node} is {remedy.stage.replace('_', ' ')}; {annotation} would be removed."]
        commands = [
            (label, Command(verb=verb, node=node, reason="")) for verb, label in _BACK.items()
        ]
        self._requests.choose(f"Give back {node}", text, commands)

    def do_quarantine(self) -> bool:
        """Confirm that the node is to be quarantined by hand."""
        return self._about_node(self._quarantine)

    def _quarantine(self, node: str, _: "RemedySource") -> None:
        page = self._board.page
        by = f" in {', '.join(page.actions)}" if page is not None and page.actions else ""
        text = [
            f"{node} is drained{by}: no new work comes to it, what runs there runs on.",
            "Only a person gives it back.",
        ]
        command = Command(verb="quarantine", node=node, reason="")
        self._requests.choose(f"Take out {node}", text, [(f"take {node} out of the pool", command)])

    def do_breaker(self) -> bool:
        """Confirm that the breaker is to be closed."""
        if not self._on(INCIDENTS, INCIDENT, FLEET):
            return False
        page = self._board.page
        if self._requests.source() is not None and page is not None:
            why = f": {page.breaker_why}" if page.breaker_why else ""
            text = [f"It is {page.breaker.replace('_', ' ')}{why}"]
            command = Command(verb=RESET_BREAKER, reason="")
            self._requests.choose("The breaker", text, [("close it: rules may act again", command)])
        return True

    def do_stop(self) -> bool:
        """Have STOP typed, or START where everything is stopped."""
        if not self._on(INCIDENTS, INCIDENT, FLEET):
            return False
        page = self._board.page
        if self._requests.source() is None or page is None:
            return True
        if page.stopped_by:
            meaning = f"remedies start again; {page.stopped_by} stopped them"
            self._requests.confirm_typed("START", meaning, Command(verb=START, reason=""))
        else:
            meaning = "no new remedies are started on any node"
            self._requests.confirm_typed("STOP", meaning, Command(verb=STOP, reason=""))
        return True


def effects(plan: "Plan") -> list[str]:
    """The steps with what keeps each from being done, what the scheduler says, price, past failures."""
    text = []
    for number, step in enumerate(plan.steps, 1):
        text.append(f"{number}. {step.text}")
        text += [
            f"   held back all the same: {denial.text}"
            for denial in step.in_the_way
            if not denial.why.lifted_by_approval
        ]
    text += [f"scheduler: {answer}" for answer in plan.preview]
    return [*text, *filter(None, (price_of(plan), plan.record))]
