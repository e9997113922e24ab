"""The site's commands for the power of a node, run off the loop."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from accelwatch.action.power_switch import PowerState, command_for
from accelwatch.action.step import Report, ReportStatus
from accelwatch.base.clock import Clock
from accelwatch.base.untrusted_text import printable
from accelwatch.system.processes.command import CommandResult, run

# Switches that are queried together: each may use its whole timeout.
_AT_ONCE = 8
_MOST_TEXT = 200


class PowerSwitch:
    """For one event loop."""

    def __init__(
        self, power_off: Sequence[str], power_state: Sequence[str], timeout_s: float, clock: Clock
    ) -> None:
        """The two commands of an action's options; without them nothing is switched, or known off."""
        self._power_off = power_off
        self._timeout_s = timeout_s
        self._pool = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="power")
        self._state = PowerState(power_state, timeout_s, self._succeeds, clock)

    async def is_off(self, node: str) -> bool:
        """Whether the site's command says that a node has no power; without one it is not known."""
        return await self._state.is_off(node)

    async def turn_off(self, node: str) -> Report:
        """What the command has come to; a failure of it proves nothing, so it is not known."""
        result = await self._run(command_for(self._power_off, node), self._timeout_s)
        if result.ok:
            return Report(status=ReportStatus.DONE)
        text = result.failure or f"ended with {result.status}"
        errors = printable(result.errors.decode("utf-8", "replace").strip())[:_MOST_TEXT]
        detail = f": {errors}" if errors else ""
        return Report(status=ReportStatus.UNKNOWN, text=f"power_off: {text}{detail}")

    async def _succeeds(self, argv: Sequence[str], timeout_s: float) -> bool:
        return (await self._run(argv, timeout_s)).ok

    async def _run(self, argv: Sequence[str], timeout_s: float) -> CommandResult:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pool, lambda: run(argv, timeout_s=timeout_s))

    def close(self) -> None:
        """Run no more; what runs ends by its own deadline."""
        self._pool.shutdown(wait=False, cancel_futures=True)
