"""What a notice says of the hub: where its incident is shown, and what is planned or asked."""

import pytest

from accelwatch.alerting.delivery.approval_requests import NoApprovalRequests
from accelwatch.alerting.delivery.formatting.own_problem import OwnProblem, incident_of
from accelwatch.alerting.delivery.formatting.person_call import call_of, entity_of
from accelwatch.alerting.delivery.notice_builder import NoticeBuilder
from accelwatch.alerting.incidents.model.incident import Facts, Incident
from accelwatch.alerting.sink import ApprovalRequest, Notice, NoticeKind, Planned
from accelwatch.config.alerts import Alerts
from support.incidents.incident_samples import START, incident, over
from support.incidents.notices import REQUEST

OPENED, REMINDER, UPDATED = NoticeKind.OPENED, NoticeKind.REMINDER, NoticeKind.UPDATED
REBOOT = Planned(node="n1", steps=("reboot n1",))
OWN = incident_of(OwnProblem(key="journal", title="t", text="x", what_to_do="y"), START)
CALL = call_of("spare n9 fails its test", entity_of("n9"), Facts(), START)


class OnePlan(NoApprovalRequests):
    """A reboot is planned; nothing is asked that is not answered by now."""

    def __init__(self, inactive_reason: str = "") -> None:
        self._inactive_reason = inactive_reason

    def plans(self, _incident: str, _nodes: tuple[str, ...], /) -> tuple[Planned, ...]:
        return (REBOOT,)

    def requests_for(self, _incident: Incident, /) -> tuple[ApprovalRequest, ...]:
        return (REQUEST,)

    def inactive_reason(self) -> str:
        return self._inactive_reason


def sent(about: Incident, kind: NoticeKind, requests: OnePlan) -> Notice:
    builder = NoticeBuilder(Alerts(), requests)
    return builder.linked("a", about.id, builder.notice(about, kind, 1))


@pytest.mark.parametrize("url", ["https://hub", "https://hub/"])
def test_a_notice_links_to_its_incident(url: str) -> None:
    builder = NoticeBuilder(Alerts(external_url=url), NoApprovalRequests())
    assert builder.notice(incident(1), OPENED, 1).link == "https://hub/v1/incidents/i1"


@pytest.mark.parametrize("about", [OWN, CALL])
def test_what_nobody_can_look_up_has_no_link(about: Incident) -> None:
    builder = NoticeBuilder(Alerts(external_url="https://hub"), NoApprovalRequests())
    assert builder.notice(about, OPENED, 1).link == ""


def test_without_an_address_of_the_hub_there_is_no_link() -> None:
    assert NoticeBuilder(Alerts(), NoApprovalRequests()).notice(incident(1), OPENED, 1).link == ""


@pytest.mark.parametrize(
    ("kind", "plans"), [(OPENED, (REBOOT,)), (REMINDER, (REBOOT,)), (UPDATED, ())]
)
def test_a_notice_that_opens_or_reminds_says_what_will_be_done(
    kind: NoticeKind, plans: tuple[Planned, ...]
) -> None:
    assert sent(incident(1), kind, OnePlan()).plans == plans


def test_of_what_is_over_or_where_nothing_is_done_no_plan_is_sent() -> None:
    assert sent(over(incident(1), START + 60), OPENED, OnePlan()).plans == ()
    assert sent(incident(1), OPENED, OnePlan("everything is stopped")).plans == ()


def test_a_question_that_was_answered_while_it_waited_is_an_update() -> None:
    notice = sent(incident(1), NoticeKind.APPROVAL, OnePlan())
    assert (notice.kind, notice.asks) == (UPDATED, ())
    assert sent(incident(1), OPENED, OnePlan()).kind is OPENED


def test_where_nobody_acts_nothing_waits_and_nothing_is_promised() -> None:
    nobody = NoApprovalRequests()
    assert nobody.soon(incident(1)) == 0.0
    assert not nobody.decided(incident(1))
    assert not nobody.works_on(incident(1))
    assert NoticeBuilder(Alerts(), nobody).notice(incident(1), OPENED, 1).not_done == ""
