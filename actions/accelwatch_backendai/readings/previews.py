"""What would become of the sessions of an agent, before anything is done."""

from accelwatch_backendai.api.answers import unavailable_if_unread
from accelwatch_backendai.api.dependents import dependents_of
from accelwatch_backendai.api.sessions import live_sessions
from accelwatch_backendai.rows import Access
from accelwatch_backendai.sessions.dependents import dependents_text
from accelwatch_backendai.sessions.leaving import stay_reason
from accelwatch_backendai.sessions.preview import preview_texts


async def drain_preview(access: Access, agent: str) -> list[str]:
    """Sentences for people. Raises ActionUnavailableError."""
    rules = access.options.sessions
    with unavailable_if_unread():
        sessions = [row.session for row in await live_sessions(access.client, agent)]
        release = await access.release.current()
        dependents = {
            session.id: dependents_text(await dependents_of(access.client, release, session.id))
            for session in sessions
            if not stay_reason(session, rules)
        }
        unspecified = {
            session.id: await access.specifications.missing(session)
            for session in sessions
            if not stay_reason(session, rules)
        }
    return list(preview_texts(sessions, rules, unspecified, dependents))
