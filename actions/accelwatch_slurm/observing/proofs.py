"""Proofs that nothing runs on a node that does not answer."""

import asyncio
from collections.abc import Sequence

from accelwatch.action.intent import Intent
from accelwatch.action.observed import Observed
from accelwatch.action.power_switch import PowerState
from accelwatch.base.clock import Clock
from accelwatch_slurm.commands.commands import Commands
from accelwatch_slurm.commands.options import SlurmOptions
from accelwatch_slurm.commands.reading import Reader
from accelwatch_slurm.observing.first_seen import FirstSeen
from accelwatch_slurm.proposals.fencing import Answered, is_out, is_set_down, proof_of
from accelwatch_slurm.texts.node_text import node_of
from accelwatch_slurm.texts.observed_context import ObservedContext, observed_context_of

# Of the controller's time-outs, on which it acts a little later.
_SLACK = 1.2


class NodeProofs:
    """Queries the site's own command for a node's power; remembers since when a slurmd answers."""

    def __init__(
        self, options: SlurmOptions, commands: Commands, reader: Reader, clock: Clock
    ) -> None:
        self._options = options
        self._commands = commands
        self._reader = reader
        self._clock = clock
        self._answering = FirstSeen[tuple[str, float | None]](clock)
        self._power = PowerState(
            options.power_state, options.power_timeout_s, self._has_no_power, clock
        )

    async def nodes_without_power(self, lines: str, *, lost: bool) -> list[str]:
        """The nodes of some lines that have no power.

        Only those that we set down are queried, and with `lost` silent ones that we hold.
        """
        if not self._options.power_state:
            return []
        nodes = [node for node in map(node_of, lines.splitlines()) if node is not None]
        is_eligible = is_out if lost else is_set_down
        eligible = [node.name for node in nodes if is_eligible(node)]
        off = await asyncio.gather(*map(self._power.is_off, eligible))
        return [name for name, is_off in zip(eligible, off, strict=True) if is_off]

    async def _has_no_power(self, argv: Sequence[str], timeout_s: float) -> bool:
        """Whether the site's own command ends with 0."""
        return (await self._commands.program(argv, timeout_s)).ok

    async def proof(self, intent: Intent, own: dict[str, str]) -> tuple[bool, str]:
        """Whether nothing runs on any bad node that does not answer, and why."""
        cluster = await self._reader.cluster()
        now = self._clock.wall()
        context = observed_context_of(Observed(time=now, own=own), self._options.mark)
        proofs = []
        for name in intent.may_run_on:
            node = context.bad.get(name)
            if node is None or (node.answering and not node.down and name != intent.node):
                continue
            answered = Answered(
                for_s=self._answered_s(context, name),
                silence_s=cluster.message_timeout_s * _SLACK,
                kill_s=cluster.kill_wait_s * _SLACK,
            )
            proofs.append(proof_of(context, name, answered))
        return bool(proofs) and all(proofs), "; ".join(filter(None, dict.fromkeys(proofs)))

    def _answered_s(self, context: ObservedContext, name: str) -> float:
        """Seconds for which a node has been seen to answer since its reason was set."""
        node = context.bad[name]
        key = name, node.set_at
        if not node.answering:
            self._answering.forget(key)
            return 0.0
        return self._answering.elapsed_s(key)
