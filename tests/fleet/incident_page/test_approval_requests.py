"""What a hub asks people about an incident, and who of them gets a link."""

from typing import Any

import msgspec
import pytest

from accelwatch.alerting.delivery.approval_requests import named
from accelwatch.fleet.approval.links import LinkStatus
from accelwatch.fleet.incident_page.approval_requests import HubApprovalRequests
from accelwatch.remediation.policy.guards.denial import Denial, DenialKind
from accelwatch.remediation.policy.state.model import Approval, Clocks, RemedyState
from accelwatch.remediation.policy.state.stage import Stage
from accelwatch.remediation.settings import ActionSettings, LinkSettings, RemedySettings
from fleet.incident_page.approval_hub import NOW, ApprovalHub
from support.incidents.incident_samples import over

URL = "https://hub.example.org/"


def approval_requests(
    hub: ApprovalHub, url: str = URL, sinks: tuple[str, ...] = ("oncall",)
) -> HubApprovalRequests:
    hub.runner.settings = RemedySettings(links=LinkSettings(sinks=sinks, expires_s=600.0))
    runner: Any = hub.runner
    return HubApprovalRequests(lambda: runner, lambda: hub.approvals, lambda: url)


def test_what_waits_is_a_request_with_its_steps() -> None:
    hub = ApprovalHub()
    (request,) = approval_requests(hub).requests_for(hub.incident)
    assert (request.node, request.plan, request.steps) == (
        "n12",
        "p1",
        ("take n12 out of the pool",),
    )
    assert (request.at, request.until, request.link) == (NOW - 60.0, NOW + 1740.0, "")


def test_a_sink_that_is_named_gets_a_link_that_is_good() -> None:
    hub = ApprovalHub()
    requests = approval_requests(hub).requests_for(hub.incident)
    (request,) = approval_requests(hub).linked("oncall", "i3", requests)
    address, _, token = request.link.partition("?link=")
    assert address == "https://hub.example.org/incidents/i3"
    presented = hub.approvals.presented(token, "i3", hub.runner.engine.state, NOW)
    assert presented is not None
    assert presented.status is LinkStatus.GOOD
    assert presented.link.until == NOW - 60.0 + 600.0


def test_a_plan_that_changes_while_it_waits_is_the_same_question_sent_as_it_is_now() -> None:
    hub = ApprovalHub()
    requests = approval_requests(hub).requests_for(hub.incident)
    changed = msgspec.structs.replace(
        hub.remedy, approval=msgspec.structs.replace(hub.remedy.approval, asked="p2")
    )
    hub.runner.engine.state = RemedyState(remedies={"n12": changed})
    hub.plan("p2", "take n12 out of the pool; job 18 of bob runs there until it ends")
    assert named(approval_requests(hub).requests_for(hub.incident)) == named(requests), (
        "it rings no bell"
    )
    (sent,) = approval_requests(hub).linked("oncall", "i3", requests)
    assert (sent.plan, "job 18 of bob" in sent.steps[0]) == ("p2", True)
    presented = hub.approvals.presented(
        sent.link.partition("?link=")[2], "i3", hub.runner.engine.state, NOW
    )
    assert presented is not None
    assert presented.status is LinkStatus.GOOD
    assert hub.approvals.shown.changes("p1", sent.steps) == (
        f"New: {sent.steps[0]}",
        "No more: take n12 out of the pool",
    )
    again = msgspec.structs.replace(
        changed, clocks=msgspec.structs.replace(changed.clocks, since=NOW)
    )
    hub.runner.engine.state = RemedyState(remedies={"n12": again})
    assert named(approval_requests(hub).requests_for(hub.incident)) != named(requests)


def test_what_starts_waits_only_for_rules_that_need_approval_where_somebody_acts() -> None:
    hub = ApprovalHub()
    runner: Any = hub.runner

    def waits(settings: RemedySettings, rule: str) -> float:
        hub.runner.settings = settings
        one = HubApprovalRequests(
            lambda: runner, lambda: None, lambda: URL, lambda id_: id_ == rule
        )
        return one.soon(hub.incident)

    acts = RemedySettings(ceiling="drain", actions=(ActionSettings(type="slurm"),))
    assert waits(acts, hub.incident.rule) > 0.0
    assert waits(acts, "another") == 0.0
    assert waits(RemedySettings(), hub.incident.rule) == 0.0
    nobody = HubApprovalRequests(lambda: None, lambda: None, lambda: URL, lambda _: True)
    assert nobody.soon(hub.incident) == 0.0


def test_who_is_not_named_gets_none() -> None:
    hub = ApprovalHub()
    requests = approval_requests(hub).requests_for(hub.incident)
    assert approval_requests(hub).linked("manager", "i3", requests)[0].link == ""
    assert approval_requests(hub, sinks=()).linked("oncall", "i3", requests)[0].link == ""
    assert approval_requests(hub, url="").linked("oncall", "i3", requests)[0].link == ""


@pytest.mark.parametrize(
    "fields",
    [
        {"stage": Stage.SUSPECT},
        {"clocks": Clocks(since=NOW, begun=NOW - 61.0)},
        {"approval": Approval()},
    ],
)
def test_what_waits_no_more_as_it_was_requested_is_no_request(fields: dict[str, Any]) -> None:
    hub = ApprovalHub()
    requests = approval_requests(hub).requests_for(hub.incident)
    remedy = msgspec.structs.replace(hub.remedy, **fields)
    hub.runner.engine.state = RemedyState(remedies={"n12": remedy})
    assert approval_requests(hub).linked("oncall", "i3", requests) == ()


def test_other_incidents_and_those_that_are_over_request_nothing() -> None:
    hub = ApprovalHub()
    other = msgspec.structs.replace(hub.incident, id="i4")
    assert approval_requests(hub).requests_for(other) == ()
    assert approval_requests(hub).requests_for(over(hub.incident, NOW)) == ()
    assert (
        HubApprovalRequests(lambda: None, lambda: None, lambda: URL).requests_for(hub.incident)
        == ()
    )


def test_it_is_decided_when_something_is_started_or_held_back() -> None:
    hub = ApprovalHub()
    one = approval_requests(hub)
    for fields, decided in (
        ({"stage": Stage.SUSPECT}, False),
        ({"stage": Stage.SUSPECT, "denial": Denial(why=DenialKind.BUDGET, text="x")}, True),
        ({"stage": Stage.QUARANTINING}, True),
        ({"stage": Stage.QUARANTINING, "incident": "i9"}, False),
    ):
        remedy = msgspec.structs.replace(hub.remedy, **fields)
        hub.runner.engine.state = RemedyState(remedies={"n12": remedy})
        assert one.decided(hub.incident) is decided, fields
    assert not HubApprovalRequests(lambda: None, lambda: None, lambda: URL).decided(hub.incident)


@pytest.mark.parametrize(
    ("fields", "works"),
    [
        ({"stage": Stage.VERIFYING}, True),
        ({"stage": Stage.VERIFYING, "approval": Approval(manual=True)}, False),
        ({"stage": Stage.SERVICE}, False),
        ({"stage": Stage.VERIFYING, "incident": "i9"}, False),
    ],
)
def test_what_goes_on_by_itself_is_worked_on(fields: dict[str, Any], works: bool) -> None:
    hub = ApprovalHub()
    remedy = msgspec.structs.replace(hub.remedy, **fields)
    hub.runner.engine.state = RemedyState(remedies={"n12": remedy})
    assert approval_requests(hub).works_on(hub.incident) is works
