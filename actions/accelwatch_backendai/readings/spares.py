"""The spare of an intent that is about one."""

from collections.abc import Mapping

from accelwatch.action.intent import Intent, IntentKind
from accelwatch.action.kit.effects import Reading
from accelwatch_backendai.api.answers import unavailable_if_unread
from accelwatch_backendai.api.sessions import session_by_id
from accelwatch_backendai.observed_context import GROUP, SPARE, text_of
from accelwatch_backendai.reader import read_agent
from accelwatch_backendai.rows import Access


async def read_spare(access: Access, intent: Intent, _: Mapping[str, str]) -> Reading:
    """Its agent, and the group of the job that needs it. Raises ActionUnavailableError."""
    if not intent.spare:
        return Reading()
    spare = await read_agent(access, intent.spare)
    return Reading(own={SPARE: text_of(spare), GROUP: await _group(access, intent)})


async def _group(access: Access, intent: Intent) -> str:
    """Of the job's first session; all that are created for it later are in the same."""
    if intent.kind is not IntentKind.DRAW_SPARE or intent.job is None:
        return ""
    with unavailable_if_unread():
        owned = await session_by_id(access.client, intent.job.id)
    return "" if owned is None else owned.session.resource_group
