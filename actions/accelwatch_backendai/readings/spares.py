"""The spare of an intent that is about one."""

from collections.abc import Mapping

from accelwatch.action.intent import Intent
from accelwatch_backendai.reader import read_agent
from accelwatch_backendai.rows import Access, Reading
from accelwatch_backendai.scene import SPARE, text_of


async def read_spare(access: Access, intent: Intent, _: Mapping[str, str]) -> Reading:
    """Its agent. Raises ActionUnavailableError."""
    if not intent.spare:
        return Reading()
    return Reading(own={SPARE: text_of(await read_agent(access, intent.spare))})
