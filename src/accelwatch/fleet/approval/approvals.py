"""A hub's parts for decisions by link: its signer, and the used links."""

from typing import NamedTuple

from accelwatch.fleet.approval.links import Link, LinkStatus, Signer, fingerprint, status_of
from accelwatch.fleet.approval.shown import ShownPlans
from accelwatch.fleet.approval.used import UsedLinks
from accelwatch.remediation.policy.state.model import RemedyState


class Presented(NamedTuple):
    """A link that somebody came with, and how it stands."""

    link: Link
    status: LinkStatus
    # Its fingerprint.
    key: str


class Approvals(NamedTuple):
    """For the hub's event loop."""

    signer: Signer
    used: UsedLinks
    shown: ShownPlans

    def presented(
        self, token: str, incident: str, state: RemedyState, now: float
    ) -> Presented | None:
        """What a token is for an incident; None for one that we have not signed."""
        link = self.signer.read(token)
        if link is None:
            return None
        key = fingerprint(link)
        status = status_of(link, incident, state, now, used=key in self.used)
        return Presented(link, status, key)
