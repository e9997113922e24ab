"""Polls all nodes of each scheduler, every few seconds."""

import asyncio
import logging
from collections.abc import Callable, Mapping

from accelwatch.action.contract import (
    Action,
    ActionUnavailableError,
    FindsLimits,
    HasController,
    KeepsReservations,
    NeedsOptions,
    QuarantinesDevices,
)
from accelwatch.action.intent import IntentKind
from accelwatch.base.clock import Clock
from accelwatch.remediation.policy.plan.escalation import INTENTS
from accelwatch.remediation.policy.state.pursued import Poll

logger = logging.getLogger(__name__)

POLL_EVERY_S = 5.0
# Between two looks, however much is done.
LEAST_PAUSE_S = 0.25
MOST_PAUSE_S = 2.0
# The first is often too early: a cluster is being listed, a controller starts.
_OUTAGE_POLLS = 2
# A slower poll counts as failed.
_WITHIN_S = 60.0


async def polled(name: str, action: Action, clock: Clock) -> Poll:
    """One poll; it carries its own failure."""
    # What was read is as old as the question.
    requested_at = clock.wall()
    try:
        async with asyncio.timeout(_WITHIN_S):
            nodes = tuple(await action.observe_all())
            kept = await action.reservations() if isinstance(action, KeepsReservations) else ()
            probes = IntentKind.PROBE in action.intents
            boot = action.controller_boot if isinstance(action, HasController) else ""
            return Poll(
                action=name,
                time=requested_at,
                nodes=nodes,
                reservations=tuple(kept),
                probes=probes,
                quarantines_devices=isinstance(action, QuarantinesDevices)
                and action.quarantines_devices,
                controller_boot=boot,
                impossible=_impossible(action),
            )
    except ActionUnavailableError as error:
        why = str(error)
    except TimeoutError:
        why = f"no answer within {_WITHIN_S:g} s"
    except Exception as error:
        logger.exception("an action failed to poll all nodes action=%s", name)
        why = f"looking failed: {error!r}"
    return Poll(action=name, time=requested_at, unavailable=why or "it does not answer")


def _impossible(action: Action) -> dict[IntentKind, str]:
    """Which remedies and tests an action can do to no node, and why; as of its latest poll."""
    reasons = dict(action.impossible) if isinstance(action, FindsLimits) else {}
    for kind in (*INTENTS.values(), IntentKind.TEST):
        if kind not in action.intents:
            reasons[kind] = "no action can do it"
        elif isinstance(action, NeedsOptions) and (lacks := action.needs(kind)):
            reasons[kind] = lacks
    return reasons


class Poller:
    """Polls every scheduler, each at its own pace; for one event loop."""

    def __init__(
        self, actions: Mapping[str, Action], clock: Clock, on_poll: Callable[[Poll], None]
    ) -> None:
        self._actions = actions
        self._clock = clock
        self._on_poll = on_poll
        self._requested = {name: asyncio.Event() for name in actions}
        # By action: polls in a row that its scheduler has not answered.
        self._unanswered = dict.fromkeys(actions, 0)

    def refresh(self) -> None:
        """Look again at once: something was done, and what was seen before is out of date."""
        for event in self._requested.values():
            event.set()

    async def run(self) -> None:
        """Look until this is cancelled."""
        async with asyncio.TaskGroup() as group:
            for name in self._actions:
                group.create_task(self._follow(name))

    def _log_outage(self, poll: Poll) -> None:
        """Once for an outage: nothing is done about its nodes, and maybe no incident says so."""
        before = self._unanswered[poll.action]
        count = self._unanswered[poll.action] = before + 1 if poll.unavailable else 0
        if count == _OUTAGE_POLLS:
            logger.warning("%s does not answer: %s", poll.action, poll.unavailable)
        elif not count and before >= _OUTAGE_POLLS:
            logger.info("%s answers again", poll.action)

    async def _follow(self, name: str) -> None:
        requested = self._requested[name]
        while True:
            requested.clear()
            started_at = self._clock.monotonic()
            poll = await polled(name, self._actions[name], self._clock)
            self._log_outage(poll)
            self._on_poll(poll)
            # Ends that come together are polled together; a scheduler that is slow to list all nodes
            # has at least as much time for what is done to its nodes.
            duration_s = self._clock.monotonic() - started_at
            pause = min(max(LEAST_PAUSE_S, duration_s), MOST_PAUSE_S)
            await asyncio.sleep(pause)
            try:
                async with asyncio.timeout(POLL_EVERY_S - pause):
                    await requested.wait()
            except TimeoutError:
                continue
