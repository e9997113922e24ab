"""A job is a session with all that were created for it later: their tags name the first one. Pure.

Facts on which this rests (26.1.0 and 26.9.6, seen on the real managers):
- a name is unique among the sessions of a user that have not ended: a second one is refused with 400 and
  `existingSessionId`, and where two requests race, the database refuses all but one of them (409);
- a session that has ended stays readable by its id.
"""

from collections.abc import Iterable

import msgspec

from accelwatch.action.intent import JobKey
from accelwatch_backendai.api.sessions import Session
from accelwatch_backendai.api.tags import first_of, tag_of
from accelwatch_backendai.sessions.states import is_finished


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
        """How often we restarted it."""
        return max(len(self.sessions) - 1, 0)


def key_of(cluster: str, session: Session) -> JobKey:
    """The job of a session; `cluster` is the action's name. Ids are never given again."""
    return JobKey(cluster, first_of(session), 0.0)


def lineage_of(first: str, sessions: Iterable[Session]) -> Lineage:
    """Those of some sessions that belong to the job of a first one."""
    ours = {session.id: session for session in sessions if first_of(session) == first}
    return Lineage(tuple(sorted(ours.values(), key=lambda each: (each.created, each.id))))


def is_successor(session: Session, predecessor: str) -> bool:
    """Whether we created a session to replace another, by that one's id."""
    return session.tag == tag_of(first_of(session), predecessor)
