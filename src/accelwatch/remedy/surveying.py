"""Looking at all nodes of each scheduler, every few seconds."""

import asyncio
import logging
from collections.abc import Callable, Mapping

from accelwatch.action.contract import Action, ActionUnavailableError
from accelwatch.clock import Clock
from accelwatch.remedy.pursued import Surveyed

logger = logging.getLogger(__name__)

SURVEY_EVERY_S = 5.0
_WITHIN_S = 60.0
"""A survey that takes longer is none."""


async def surveyed(name: str, action: Action, clock: Clock) -> Surveyed:
    """One look; what goes wrong is told."""
    # What was read is as old as the question.
    asked = clock.wall()
    try:
        async with asyncio.timeout(_WITHIN_S):
            return Surveyed(action=name, time=asked, nodes=tuple(await action.survey()))
    except ActionUnavailableError as error:
        why = str(error)
    except TimeoutError:
        why = f"no answer within {_WITHIN_S:g} s"
    except Exception as error:
        logger.exception("an action failed to look at all nodes action=%s", name)
        why = f"looking failed: {error!r}"
    return Surveyed(action=name, time=asked, unavailable=why or "it does not answer")


async def keep_surveying(
    actions: Mapping[str, Action], clock: Clock, hear: Callable[[Surveyed], None]
) -> None:
    """Look at all of them, each in its own time, until this is cancelled."""

    async def follow(name: str, action: Action) -> None:
        while True:
            hear(await surveyed(name, action, clock))
            await asyncio.sleep(SURVEY_EVERY_S)

    async with asyncio.TaskGroup() as group:
        for name, action in actions.items():
            group.create_task(follow(name, action))
