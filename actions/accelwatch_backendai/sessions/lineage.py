"""A job is a session with all that were created for it later: their tags name the first one. Pure.

Facts on which this rests (26.1.0 and 26.9.6, seen on the real managers):
- a session's tag has at most 64 characters (a longer one is answered with 500) and stays when it ends;
- a name is unique among the sessions of a user that have not ended: a second one is refused with 400 and
  `existingSessionId`, and where two requests race, the database refuses all but one of them (409);
- a session that has ended stays readable by its id.
"""

import uuid
from collections.abc import Iterable

import msgspec

from accelwatch.action.intent import JobKey
from accelwatch_backendai.api.sessions import Session
from accelwatch_backendai.sessions.states import is_finished

# Characters that a tag can have: column `tag` of table `sessions`.
MOST_TAG = 64
_PREFIX = "accelwatch:"
# The last group of a UUID: random in all versions that managers give (4 and 7).
_SHORT = 12


class Lineage(msgspec.Struct, frozen=True):
    """The sessions of one job, the oldest first; none where the manager knows none of it."""

    sessions: tuple[Session, ...] = ()

    @property
    def head(self) -> Session | None:
        """The session that was created last: the others have ended, or should have."""
        return self.sessions[-1] if self.sessions else None

    @property
    def live(self) -> tuple[Session, ...]:
        """Those that have not ended."""
        return tuple(session for session in self.sessions if not is_finished(session.status))

    @property
    def users_tag(self) -> str | None:
        """The tag that the user gave it; None where no session of the job is there."""
        return self.sessions[0].tag if self.sessions else None

    @property
    def restarts(self) -> int:
        """How often it was begun anew by us."""
        return max(len(self.sessions) - 1, 0)


def tag_of(first: str, predecessor: str) -> str:
    """The tag of the session that is created after another one of its job; both by their ids.

    A session has one successor at most, whoever makes it for whichever incident: so the tag goes by
    the session that it replaces, and a request that is sent again after a crash has the same one.
    """
    return f"{_PREFIX}{first}:{predecessor[-_SHORT:]}"


def first_of(session: Session) -> str:
    """The id of the first session of the job that a session belongs to."""
    first, _, short = session.tag.removeprefix(_PREFIX).partition(":")
    is_ours = session.tag.startswith(_PREFIX) and _is_id(first) and len(short) == _SHORT
    return first if is_ours else session.id


def _is_id(text: str) -> bool:
    """Whether the manager can be asked for it: users write into tags whatever they like."""
    try:
        return str(uuid.UUID(text)) == text
    except ValueError:
        return False


def key_of(cluster: str, session: Session) -> JobKey:
    """The job of a session; `cluster` is the action's name. Ids are never given again."""
    return JobKey(cluster, first_of(session), 0.0)


def lineage_of(first: str, sessions: Iterable[Session]) -> Lineage:
    """Those of some sessions that belong to the job of a first one."""
    ours = {session.id: session for session in sessions if first_of(session) == first}
    return Lineage(tuple(sorted(ours.values(), key=lambda each: (each.created, each.id))))


def is_successor(session: Session, predecessor: str) -> bool:
    """Whether a session was created by us in the place of another, by that one's id."""
    return session.tag == tag_of(first_of(session), predecessor)
