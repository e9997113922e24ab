"""A poll of a scheduler that precedes an approval: a person approves what is there by then."""

import asyncio
from collections.abc import Callable, Mapping

from accelwatch.action.contract import Action
from accelwatch.base.clock import Clock
from accelwatch.remediation.execution.inbox import Inbox
from accelwatch.remediation.execution.polling import polled
from accelwatch.remediation.policy.state.model import RemedyState
from accelwatch.remediation.policy.state.pursued import Poll

# A person who says yes waits no longer for it.
WITHIN_S = 10.0


class FreshPolls:
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
        self._decision_made = asyncio.Event()

    def decided(self) -> None:
        """Something was decided: whoever waits for that looks whether it was his look."""
        self._decision_made.set()
        self._decision_made.clear()

    async def of(self, node: str) -> str:
        """Poll the scheduler of a node, and wait until that is decided upon; else why not."""
        state = self._state()
        remedy = state.remedies.get(node)
        target = node if remedy is None else remedy.scheduler_name
        shown_by = state.world.shown_by.get(target, "")
        for name in [shown_by] if shown_by in self._actions else list(self._actions):
            problem = await self._at(name)
            if problem:
                text = f"the plan for {node} keeps waiting; try again in a moment"
                return f"cannot see what is running on {node}: {problem}; {text}"
        return ""

    async def _at(self, name: str) -> str:
        try:
            async with asyncio.timeout(WITHIN_S):
                poll = await polled(name, self._actions[name], self._clock)
                if poll.unavailable:
                    return f"{name} does not answer: {poll.unavailable}"
                self._inbox.add_observations([poll])
                while not self._has(poll):
                    await self._decision_made.wait()
        except TimeoutError:
            return f"{name} does not answer within {WITHIN_S:g} s"
        return ""

    def _has(self, poll: Poll) -> bool:
        scheduler = self._state().world.schedulers.get(poll.action)
        return scheduler is not None and scheduler.time >= poll.time
