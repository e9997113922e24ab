"""The notices of a dispatcher: of an incident as it stands, and with what holds when it is sent."""

import msgspec

from accelwatch.alerting.delivery.approval_requests import ApprovalRequests, named
from accelwatch.alerting.delivery.formatting.notice import notice_of
from accelwatch.alerting.delivery.formatting.own_problem import is_own
from accelwatch.alerting.delivery.formatting.person_call import is_call
from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.alerting.sink import Notice, NoticeKind, Planned
from accelwatch.config.alerts import Alerts

_WITH_PLANS = frozenset({NoticeKind.OPENED, NoticeKind.REMINDER})


class NoticeBuilder:
    """Knows the hub's name, where its incidents are shown, and the requests for approval."""

    def __init__(self, settings: Alerts, approval_requests: ApprovalRequests) -> None:
        self._settings = settings
        self._approval_requests = approval_requests

    def notice(self, incident: Incident, kind: NoticeKind, sequence: int) -> Notice:
        """The notice of an incident as it stands; it is kept until it has arrived."""
        return notice_of(
            incident,
            kind,
            sequence=sequence,
            hub=self._settings.hub,
            link=self._link(incident),
            requests=self._approval_requests.requests_for(incident),
            not_done="" if is_own(incident) else self._approval_requests.inactive_reason(),
        )

    def _link(self, incident: Incident) -> str:
        can_be_shown = not is_call(incident) and not is_own(incident)
        if not (self._settings.external_url and can_be_shown):
            return ""
        page = f"{self._approval_requests.page}{incident.id}"
        return f"{self._settings.external_url.rstrip('/')}{page}"

    def request_names(self, incident: Incident) -> str:
        """The open requests for approval of an incident, as one text; empty for none."""
        return named(self._approval_requests.requests_for(incident))

    def linked(self, sink: str, incident: str, notice: Notice) -> Notice:
        """A notice with what holds at the moment it is sent: plans, and the links to answer by.

        It is never kept: a link decides on what it names, for whoever has it.
        """
        requests = notice.asks
        if requests:
            requests = self._approval_requests.linked(sink, incident, requests)
        # Somebody has decided while it waited: there is nothing to approve any more.
        is_decided = notice.kind is NoticeKind.APPROVAL and not requests
        kind = NoticeKind.UPDATED if is_decided else notice.kind
        plans: tuple[Planned, ...] = ()
        is_opening = notice.closed is None and notice.kind in _WITH_PLANS
        if is_opening and not notice.not_done:
            plans = self._approval_requests.plans(incident, notice.nodes)
        return msgspec.structs.replace(notice, asks=requests, plans=plans, kind=kind)
