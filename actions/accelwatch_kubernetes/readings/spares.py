"""The spare of an intent that is about one."""

from collections.abc import Mapping

from accelwatch.action.intent import Intent
from accelwatch.action.kit.effects import Reading
from accelwatch_kubernetes.observed_context import SPARE
from accelwatch_kubernetes.rows import Access


async def read_spare(access: Access, intent: Intent, _: Mapping[str, str]) -> Reading:
    """Its node object. Raises ActionUnavailableError."""
    return Reading(own={SPARE: await access.nodes.text(intent.spare)} if intent.spare else {})
