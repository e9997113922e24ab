"""Which sessions wait for another one to succeed, in words. Pure."""

from collections.abc import Iterable

from accelwatch.base.untrusted_text import printable
from accelwatch_backendai.api.dependents import Dependent
from accelwatch_backendai.sessions.states import is_finished

_MOST_NAMED = 3
_UNNAMED = "other sessions, which this release does not name,"


def dependents_text(dependents: Iterable[Dependent]) -> str:
    """Those that have not ended; empty where there are none."""
    waiting = [each for each in dependents if not is_finished(each.status)]
    if not waiting:
        return ""
    if not all(each.id for each in waiting):
        return _UNNAMED
    names = sorted(f"{printable(each.name)} ({each.id})" for each in waiting)
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    kind = "session" if len(names) == 1 else "sessions"
    return f"{kind} {', '.join(names[:_MOST_NAMED])}{more}"
