"""A hub's requests for approval of actions on incidents, and the links that answer them."""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

import msgspec

from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.alerting.sink import ApprovalRequest, Planned
from accelwatch.fleet.incident_page.door import PAGE

if TYPE_CHECKING:
    # What acts, and what signs, is loaded by those only who act.
    from accelwatch.fleet.approval.approvals import Approvals
    from accelwatch.fleet.remedies.runner import RemedyRunner
    from accelwatch.remediation.policy.state.model import Remedy

# Until the engine has decided, which is far quicker.
_SOON_S = 2.0
# Nodes of one incident with a request in a message.
MAX_REQUESTS = 3


class HubApprovalRequests:
    """For the hub's event loop."""

    page = PAGE

    def __init__(
        self,
        remedies: "Callable[[], RemedyRunner | None]",
        approvals: "Callable[[], Approvals | None]",
        external_url: Callable[[], str],
        acts: Callable[[str], bool] = lambda _: False,
    ) -> None:
        """Who acts, what links are signed with, and where people reach the hub; as it is now.

        `acts`: whether a rule, by its id, wants an action, with or without approval.
        """
        self._acts = acts
        self._remedies = remedies
        self._approvals = approvals
        self._external_url = external_url

    def requests_for(self, incident: Incident) -> tuple[ApprovalRequest, ...]:
        """The plans of its nodes that wait for a yes, without links."""
        runner = self._remedies()
        if runner is None or not incident.is_open:
            return ()
        remedies = self._of(runner, incident.id, (incident.entity.node, *incident.nodes))
        waiting = [remedy for remedy in remedies if _waits(remedy)]
        return tuple(self._request_for(runner, remedy) for remedy in waiting[:MAX_REQUESTS])

    def _request_for(self, runner: "RemedyRunner", remedy: "Remedy") -> ApprovalRequest:
        plan, approvals = runner.plan(remedy.node), self._approvals()
        steps = tuple(step.text for step in plan.steps)
        if approvals is not None:
            approvals.shown.store(remedy.approval.asked, steps)
        return ApprovalRequest(
            node=remedy.node,
            plan=remedy.approval.asked,
            steps=steps,
            at=remedy.clocks.since,
            until=remedy.clocks.due,
            as_of=plan.as_of,
        )

    def soon(self, incident: Incident) -> float:
        """How long an incident that begins waits for what is decided about it."""
        runner = self._remedies()
        acts = runner is not None and runner.settings.acts
        acts = acts and any(map(self._acts, incident.rules or (incident.rule,)))
        return _SOON_S if acts else 0.0

    def decided(self, incident: Incident) -> bool:
        """Whether the engine knows an incident, and has started an intent or is held back."""
        from accelwatch.fleet.approval.announcing import is_decided

        runner = self._remedies()
        return runner is not None and any(
            is_decided(remedy) for remedy in self._of(runner, incident.id, incident.nodes)
        )

    def plans(self, incident: str, nodes: tuple[str, ...]) -> tuple[Planned, ...]:
        """What will be done about an incident without an approval."""
        from accelwatch.fleet.approval.announcing import planned

        runner = self._remedies()
        if runner is None:
            return ()
        remedies = list(islice(self._of(runner, incident, nodes), MAX_REQUESTS))
        now = runner.now
        plans = (planned(runner.plan(remedy.node), remedy, now) for remedy in remedies)
        return tuple(plan for plan in plans if plan is not None)

    def works_on(self, incident: Incident) -> bool:
        """Whether something is done about it that comes to its end by itself."""
        from accelwatch.fleet.approval.announcing import works

        runner = self._remedies()
        return runner is not None and works(self._of(runner, incident.id, incident.nodes))

    def _of(
        self, runner: "RemedyRunner", incident: str, nodes: tuple[str, ...]
    ) -> "Iterator[Remedy]":
        remedies = runner.engine.state.remedies
        for node in dict.fromkeys(nodes):
            remedy = remedies.get(node)
            if remedy is not None and remedy.incident == incident:
                yield remedy

    def linked(
        self, sink: str, incident: str, requests: tuple[ApprovalRequest, ...]
    ) -> tuple[ApprovalRequest, ...]:
        """Those that still wait, as planned now, with a link where a sink's messages have one."""
        runner = self._remedies()
        if runner is None:
            return ()
        remedies = runner.engine.state.remedies
        pairs = ((request, remedies.get(request.node)) for request in requests)
        still = [
            remedy
            for request, remedy in pairs
            if remedy and _waits(remedy) and remedy.clocks.since == request.at
        ]
        return tuple(
            msgspec.structs.replace(
                self._request_for(runner, remedy), link=self._link(runner, sink, incident, remedy)
            )
            for remedy in still
        )

    def inactive_reason(self) -> str:
        """Why nothing is done about any incident now, where something may be; else empty."""
        runner = self._remedies()
        return "" if runner is None else runner.stalled

    def _link(self, runner: "RemedyRunner", sink: str, incident: str, remedy: "Remedy") -> str:
        from accelwatch.fleet.approval.links import PARAMETER, Link

        settings, approvals, base = runner.settings.links, self._approvals(), self._external_url()
        if sink not in settings.sinks or approvals is None or not base:
            return ""
        link = Link(
            sink=sink,
            incident=incident,
            node=remedy.node,
            plan=remedy.approval.asked,
            requested_at=remedy.clocks.since,
            until=remedy.clocks.since + settings.expires_s,
        )
        query = urlencode({PARAMETER: approvals.signer.link(link)})
        return f"{base.rstrip('/')}{PAGE}{quote(incident, safe='')}?{query}"


def _waits(remedy: "Remedy") -> bool:
    from accelwatch.remediation.policy.state.stage import Stage

    return remedy.stage is Stage.AWAITING_APPROVAL and bool(remedy.approval.asked)
