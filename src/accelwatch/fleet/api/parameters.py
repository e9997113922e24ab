"""Query parameters that several pages take."""

from accelwatch.errors import UsageError
from accelwatch.fleet.names import NodeState
from accelwatch.web.page import Query, many

_DEFAULT_LIMIT = 1000
_MAX_LIMIT = 20_000


def limit_of(query: Query) -> int:
    """Rows on a page. Raises UsageError."""
    text = only(query, "limit")
    if text is None:
        return _DEFAULT_LIMIT
    if not (text.isascii() and text.isdecimal()) or not 1 <= int(text[:9]) <= _MAX_LIMIT:
        raise UsageError(f"limit: a number from 1 to {_MAX_LIMIT}")
    return int(text)


def states_of(query: Query) -> set[str]:
    """States of nodes that are asked for; empty for all. Raises UsageError."""
    given = set(many(query, "state"))
    if "state" in query and not given:
        raise UsageError(f"state: one or more of {', '.join(NodeState)}, with commas")
    if unknown := given - set(NodeState):
        raise UsageError(f"state: {min(unknown)[:40]!r} is none of {', '.join(NodeState)}")
    return given


def only(query: Query, name: str) -> str | None:
    """The value of a parameter that stands once or not at all. Raises UsageError."""
    given = query.get(name)
    if not given:
        return None
    if len(given) > 1:
        raise UsageError(f"{name} is given twice")
    return given[0]
