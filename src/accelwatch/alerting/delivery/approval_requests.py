"""The requests for approval of an incident, and the page that answers them."""

from typing import Protocol

from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.alerting.sink import ApprovalRequest, Planned


class ApprovalRequests(Protocol):
    """Whoever knows what waits for a person."""

    # Where incidents are shown, below the external URL: the path before their id.
    page: str

    def requests_for(self, incident: Incident, /) -> tuple[ApprovalRequest, ...]:
        """What waits for a yes now; without links."""
        ...

    def soon(self, incident: Incident, /) -> float:
        """Seconds within which actions or requests are decided: an opening notice waits so long."""
        ...

    def decided(self, incident: Incident, /) -> bool:
        """Whether the actions on an incident are decided."""
        ...

    def plans(self, incident: str, nodes: tuple[str, ...], /) -> tuple[Planned, ...]:
        """What will be done about an incident, by its id, on its nodes."""
        ...

    def works_on(self, incident: Incident, /) -> bool:
        """Whether something is done about an incident that comes to its end by itself."""
        ...

    def linked(
        self, sink: str, incident: str, requests: tuple[ApprovalRequest, ...], /
    ) -> tuple[ApprovalRequest, ...]:
        """Those that still wait, with a sink's link where its messages have one."""
        ...

    def inactive_reason(self) -> str:
        """Why nothing is done about any incident now, where something may be; else empty."""
        ...


class NoApprovalRequests:
    """No actions, so no requests."""

    page = "/v1/incidents/"

    def requests_for(self, _incident: Incident, /) -> tuple[ApprovalRequest, ...]:
        """Nothing."""
        return ()

    def soon(self, _incident: Incident, /) -> float:
        """At no time."""
        return 0.0

    def decided(self, _incident: Incident, /) -> bool:
        """Nothing is decided."""
        return False

    def plans(self, _incident: str, _nodes: tuple[str, ...], /) -> tuple[Planned, ...]:
        """Nothing."""
        return ()

    def works_on(self, _incident: Incident, /) -> bool:
        """Nobody does anything."""
        return False

    def linked(
        self, _sink: str, _incident: str, _requests: tuple[ApprovalRequest, ...], /
    ) -> tuple[ApprovalRequest, ...]:
        """Nothing waits any more."""
        return ()

    def inactive_reason(self) -> str:
        """Nobody expects anything to be done."""
        return ""


def named(requests: tuple[ApprovalRequest, ...]) -> str:
    """One text for the open requests, another for another request.

    A plan that changes while it waits, such as by each job on a shared node, is no new question.
    """
    return " ".join(f"{request.node}@{request.at!r}" for request in requests)
