"""What a link says, signed; and whether it still gives the right to decide. Pure.

A link is for one plan of one node, as it was requested at one time, and for one sink: the same
request has the same link, however often it is sent. Where it is shown or kept, it stands as a
fingerprint; the link itself is in messages only.
"""

import hashlib
from enum import StrEnum

import msgspec
from itsdangerous import BadSignature, URLSafeSerializer

from accelwatch.remediation.policy.state.model import RemedyState
from accelwatch.remediation.policy.state.stage import Stage

# Of the query in which it comes.
PARAMETER = "link"
_MOST = 2048
_SALT = "accelwatch.approval"
_FORM_SALT = "accelwatch.form"


class Link(msgspec.Struct, frozen=True, array_like=True):
    """The plan, the recipient, and until when a decision by this link counts."""

    sink: str
    incident: str
    node: str
    # Digest.
    plan: str
    # Unix seconds at which the node came to wait for an answer.
    requested_at: float
    # Unix seconds.
    until: float

    @property
    def actor(self) -> str:
        """Who acts by it, as the journal names him."""
        return f"link:{self.sink}"


class LinkStatus(StrEnum):
    """Whether a link gives any right."""

    GOOD = "good"
    EXPIRED = "expired"
    USED = "used"
    OTHER_INCIDENT = "other_incident"
    # What would be done is not what it was sent for.
    CHANGED = "changed"
    # Nothing waits for a yes any more.
    DECIDED = "decided"


class Signer:
    """Signs and reads links, and the forms of pages."""

    def __init__(self, key: bytes) -> None:
        options = {"digest_method": hashlib.sha256}
        self._links = URLSafeSerializer(key, salt=_SALT, signer_kwargs=options)
        self._forms = URLSafeSerializer(key, salt=_FORM_SALT, signer_kwargs=options)

    def link(self, link: Link) -> str:
        """The link's token."""
        return self._links.dumps(msgspec.to_builtins(link))

    def read(self, token: str) -> Link | None:
        """The link that a token is; None for one that we have not signed."""
        if not token or len(token) > _MOST or not token.isascii():
            return None
        try:
            return msgspec.convert(self._links.loads(token), Link)
        except (BadSignature, msgspec.ValidationError, ValueError):
            return None

    def form(self, incident: str, who: str, until: float) -> str:
        """What a form of a page carries: another site cannot know it."""
        return self._forms.dumps([incident, who, until])

    def is_form(self, token: str, incident: str, who: str, now: float) -> bool:
        """Whether a form was made by us for this incident and person, and not too long ago."""
        if not token or len(token) > _MOST or not token.isascii():
            return False
        try:
            of, by, until = msgspec.convert(self._forms.loads(token), tuple[str, str, float])
        except (BadSignature, msgspec.ValidationError, ValueError):
            return False
        return (of, by) == (incident, who) and now <= until


def fingerprint(link: Link) -> str:
    """By what a link is known where it is not to be shown.

    It is of what the link says: the same can be written in several ways that all read as signed by us.
    """
    return hashlib.sha256(msgspec.json.encode(link)).hexdigest()[:32]


def status_of(
    link: Link, incident: str, state: RemedyState, now: float, *, used: bool
) -> LinkStatus:
    """Whether a link gives the right to decide on an incident's plan; `now` in Unix seconds."""
    if link.incident != incident:
        return LinkStatus.OTHER_INCIDENT
    if used:
        return LinkStatus.USED
    if now > link.until:
        return LinkStatus.EXPIRED
    remedy = state.remedies.get(link.node)
    if remedy is None or remedy.stage is not Stage.AWAITING_APPROVAL:
        return LinkStatus.DECIDED
    if remedy.approval.asked != link.plan or remedy.clocks.since != link.requested_at:
        return LinkStatus.CHANGED
    return LinkStatus.GOOD
