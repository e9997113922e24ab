"""What a link to an incident's page gives the right to, and what came of pressing a button."""

import hashlib
from urllib.parse import urlencode, urlsplit

from accelwatch.fleet.approval.approvals import Presented
from accelwatch.fleet.approval.links import PARAMETER, LinkStatus
from accelwatch.fleet.incident_page.forms import Pressed
from accelwatch.fleet.incident_page.render import Notice
from accelwatch.remediation.policy.state.changes import Command, Verb
from accelwatch.web.pages.page import Change, Headers, Query, Visit, only
from accelwatch.web.protection.roles import Role

_BY_LINK = (Verb.APPROVE, Verb.DENY)
LOG_IN = "Log in to the hub, or use accelwatch remedy plan and accelwatch remedy approve."
DEAD_LINKS = {
    LinkStatus.EXPIRED: "This link has expired.",
    LinkStatus.USED: "This link was used already; it counts once.",
    LinkStatus.CHANGED: "The plan is another one than when this link was sent: it approves nothing.",
    LinkStatus.DECIDED: "Nothing waits for this link any more.",
    LinkStatus.OTHER_INCIDENT: "This link is for another incident.",
}


def query_text(query: Query) -> str:
    """The link of a page, as its own forms carry it on."""
    token = only(query, PARAMETER)
    return f"?{urlencode({PARAMETER: token})}" if token else ""


def holder_of(visit: Visit | Change) -> str:
    """For whom a form is made: who he has proved to be, and the link that he came by."""
    token = only(visit.query, PARAMETER)
    user = "" if visit.guest else visit.user
    return f"{user}\n{hashlib.sha256(token.encode()).hexdigest() if token else ''}"


def link_in_force(
    presented: Presented | None, submitted: Pressed, change: Change
) -> Presented | None:
    """The link, where it is what gives the right: for its own plan, while nobody with a name may."""
    if presented is None or presented.status is not LinkStatus.GOOD:
        return None
    if submitted.verb not in _BY_LINK or submitted.node != presented.link.node:
        return None
    if submitted.verb is Verb.APPROVE and submitted.plan != presented.link.plan:
        return None
    by_role = bool(change.user) and not change.guest and change.role.may(Role.APPROVE)
    return None if by_role else presented


def verbs_by_link(presented: Presented | None, node: str) -> set[Verb]:
    """What a link gives the right to."""
    good = presented is not None and presented.status is LinkStatus.GOOD
    return set(_BY_LINK) if good and presented.link.node == node else set()  # type: ignore[union-attr]


def is_from_here(headers: Headers, external_url: str) -> bool:
    """Whether a form may have come from a page of ours.

    Under our own `Referrer-Policy: no-referrer` a browser calls the origin of our forms `null`, so that
    says nothing; where it sends `Sec-Fetch-Site`, that does. What our form carries decides in any case.
    """
    if headers.get("Sec-Fetch-Site", "same-origin") != "same-origin":
        return False
    origin = headers.get("Origin", "null")
    ours = {headers.get("Host", ""), urlsplit(external_url).netloc} - {""}
    return origin == "null" or urlsplit(origin).netloc in ours


def outcome(problem: str, notes: list[str], command: Command) -> tuple[Notice, int]:
    """The notice after a form was sent, and the status code."""
    if problem:
        return Notice(text=f"It does not count: {problem}. {LOG_IN}", tone="bad"), 503
    vain = [note for note in notes if "changes nothing" in note]
    if vain:
        return Notice(text=f"Nothing was done: {vain[0]}.", tone="bad"), 409
    done = {
        Verb.APPROVE: f"Approved. {command.node} is taken out as soon as nothing is in the way.",
        Verb.DENY: f"Denied. Nothing is done to {command.node} for it.",
        Verb.HOLD: f"Held. Nothing is done to {command.node}.",
    }
    return Notice(text=done[command.verb], tone="good"), 200
