"""A look at a scheduler that a person's yes waits for: what is approved is what is there by then."""

import asyncio
from collections.abc import Callable, Mapping

from accelwatch.action.contract import Action
from accelwatch.base.clock import Clock
from accelwatch.remediation.execution.inbox import Inbox
from accelwatch.remediation.execution.surveying import surveyed
from accelwatch.remediation.policy.state.model import RemedyState
from accelwatch.remediation.policy.state.pursued import Surveyed

WITHIN_S = 10.0
"""A person who says yes waits no longer for it."""


class FreshLooks:
    """For one event loop."""

    def __init__(
        self,
        actions: Mapping[str, Action],
        clock: Clock,
        inbox: Inbox,
        state: Callable[[], RemedyState],
    ) -> None:
        """What is seen goes into `inbox`; `state` is what has been decided by now."""
        self._actions = actions
        self._clock = clock
        self._inbox = inbox
        self._state = state
        self._news = asyncio.Event()

    def decided(self) -> None:
        """Something was decided: whoever waits for that looks whether it was his look."""
        self._news.set()
        self._news.clear()

    async def of(self, node: str) -> str:
        """Look at the scheduler of a node, and wait until that is decided upon; else why not."""
        state = self._state()
        remedy = state.remedies.get(node)
        target = node if remedy is None else remedy.target or node
        known = state.world.seen_by.get(target, "")
        for name in [known] if known in self._actions else list(self._actions):
            problem = await self._at(name)
            if problem:
                text = f"the plan for {node} keeps waiting; try again in a moment"
                return f"cannot see what is running on {node}: {problem}; {text}"
        return ""

    async def _at(self, name: str) -> str:
        try:
            async with asyncio.timeout(WITHIN_S):
                look = await surveyed(name, self._actions[name], self._clock)
                if look.unavailable:
                    return f"{name} does not answer: {look.unavailable}"
                self._inbox.hear([look])
                while not self._has(look):
                    await self._news.wait()
        except TimeoutError:
            return f"{name} does not answer within {WITHIN_S:g} s"
        return ""

    def _has(self, look: Surveyed) -> bool:
        scheduler = self._state().world.schedulers.get(look.action)
        return scheduler is not None and scheduler.time >= look.time
