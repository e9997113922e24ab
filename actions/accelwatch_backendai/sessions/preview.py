"""What would leave a quarantined agent, and what would stay, in words. Pure."""

from collections.abc import Iterator, Mapping, Sequence

from accelwatch_backendai.api.sessions import Session
from accelwatch_backendai.sessions.job_view import named
from accelwatch_backendai.sessions.leaving import stay_reason
from accelwatch_backendai.settings.session_rules import SessionRule

# Sessions that are named one by one.
_MOST_NAMED = 10


def preview_texts(
    sessions: Sequence[Session],
    rules: Sequence[SessionRule],
    unspecified: Mapping[str, str],
    dependents: Mapping[str, str],
) -> Iterator[str]:
    """How many would be moved, and each reason with the sessions that stay by it.

    `unspecified` says by the id of a session why nobody could create it anew, where nobody could;
    `dependents` which sessions depend on it, where some do.
    """
    stays: dict[str, list[str]] = {}
    moved = 0
    for session in sessions:
        missing = unspecified.get(session.id, "")
        waiting = dependents.get(session.id, "")
        reason = stay_reason(session, rules, dependents=waiting) or (
            missing and f"it is not resumed by us: {missing}"
        )
        if reason:
            stays.setdefault(reason, []).append(named(session))
        else:
            moved += 1
    if moved:
        yield f"{moved} {'session' if moved == 1 else 'sessions'} would be ended and created again"
    for reason, names in stays.items():
        more = len(names) - _MOST_NAMED
        which = ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
        yield f"stays: {which}: {reason}"
