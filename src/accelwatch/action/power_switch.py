"""A site's own commands for the power of a node: one cuts it, the other reports whether it is off.

How a command runs is up to the action; what its result proves, and for how long, is decided here.
"""

import math
from collections.abc import Awaitable, Callable, Sequence

from accelwatch.action.step import StepKind
from accelwatch.base.clock import Clock
from accelwatch.base.errors import ConfigError

# Of `power_state`, whatever `power_timeout_s` is: a poll of the scheduler waits for it, and counts as no
# answer after 60 s, as does a step that needs the proof once more.
STATE_TIMEOUT_S = 40.0
# In a command, for the name of the node.
NODE = "{node}"
# How long a word of a power switch that a node is off counts: no machine boots within that.
OFF_VALID_S = 5.0

# More than the command's own time: to start it, and to read what it has said.
_BESIDE_COMMAND_S = 30.0
# Until a switch whose power was cut reports that it is off.
_SETTLE_S = 60.0

# Whether a command has ended with 0, within so many seconds.
Succeeds = Callable[[Sequence[str], float], Awaitable[bool]]


def check_power(power_off: Sequence[str], power_state: Sequence[str]) -> None:
    """Raises ConfigError for a switch without the command that proves that it has worked."""
    if power_off and not power_state:
        raise ConfigError("power_off: needs power_state beside it, which proves that it is off")


def power_off_kind(timeout_s: float) -> StepKind:
    """The kind of the step that powers a node off, where its command may take so many seconds."""
    return StepKind(
        idempotent=True,
        reversible=False,
        timeout_s=timeout_s + _BESIDE_COMMAND_S,
        settle_s=_SETTLE_S,
    )


def command_for(argv: Sequence[str], node: str) -> list[str]:
    """A command as it is run for a node."""
    return [argument.replace(NODE, node) for argument in argv]


class PowerState:
    """Which nodes have no power, as the site's command says; for one event loop."""

    def __init__(
        self, power_state: Sequence[str], timeout_s: float, succeeds: Succeeds, clock: Clock
    ) -> None:
        """Without a command nothing is known to be off; it has STATE_TIMEOUT_S at most."""
        self._argv = power_state
        self._timeout_s = min(timeout_s, STATE_TIMEOUT_S)
        self._succeeds = succeeds
        self._clock = clock
        # By node: monotonic seconds of the query to which its switch answered that it has no power.
        self._off: dict[str, float] = {}

    async def is_off(self, node: str) -> bool:
        """Whether a node has no power; a command that fails says nothing.

        Switches are slow: one that reported power off is not queried again for OFF_VALID_S.
        """
        if not self._argv:
            return False
        now = self._clock.monotonic()
        if now - self._off.get(node, -math.inf) < OFF_VALID_S:
            return True
        self._off.pop(node, None)
        off = await self._succeeds(command_for(self._argv, node), self._timeout_s)
        if off:
            self._off[node] = now
        return off
