"""Tags of sessions that were created to replace others: each names the first one of its job. Pure.

A tag has at most 64 characters (a longer one is answered with 500) and stays when its session ends.
"""

import uuid

from accelwatch_backendai.api.sessions import Session

# Characters that a tag can have: column `tag` of table `sessions`.
MOST_TAG = 64
_PREFIX = "accelwatch:"
# The last group of a UUID: random in all versions that managers give (4 and 7).
_SHORT = 12


def tag_of(first: str, predecessor: str) -> str:
    """The tag of the session that is created after another one of its job; both by their ids.

    A session has one successor at most, whichever incident it is for: so the tag goes by
    the session that it replaces, and a request that is sent again after a crash has the same one.
    """
    return f"{_PREFIX}{first}:{predecessor[-_SHORT:]}"


def first_of(session: Session) -> str:
    """The id of the first session of the job that a session belongs to."""
    first, _, short = session.tag.removeprefix(_PREFIX).partition(":")
    is_ours = session.tag.startswith(_PREFIX) and _is_id(first) and len(short) == _SHORT
    return first if is_ours else session.id


def _is_id(text: str) -> bool:
    """Whether it can be an id in a query: users write into tags whatever they like."""
    try:
        return str(uuid.UUID(text)) == text
    except ValueError:
        return False
