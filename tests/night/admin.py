"""The one person of a night: drains a node himself, holds another, gives one back that is bad."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from accelwatch.remediation.policy.state.changes import Command, Verb
from night.scenario import Fault, Kind

if TYPE_CHECKING:
    from night.play import Night

NAME = "kim"
EARLIER_S = 90.0
REPAIRS_S = 2400.0
LOOKS_S = 120.0
# After it the storm of a rack is over, and he lets the breaker close.
CALM_S = 780.0
GIVES_BACK_S = 60.0


class Admin:
    """What he does besides sleeping."""

    def __init__(self, night: "Night") -> None:
        self._night = night
        self._commanding: set[asyncio.Task[object]] = set()

    def prepares(self, fault: Fault) -> None:
        """He was there before the fault."""
        if fault.kind is Kind.DRAINED_BY_ADMIN:
            self._night.at(fault.at - EARLIER_S, lambda: self._drains(fault))
        elif fault.kind is Kind.HELD:
            self._night.at(fault.at - EARLIER_S, lambda: self._holds(fault))

    def _free(self) -> tuple[str, ...]:
        return (self._night.rng.choice(self._night.free_nodes()),)

    def _drains(self, fault: Fault) -> None:
        fault.nodes = self._free()
        self._night.world.admin_drains(fault.nodes[0], "swap the riser")
        self._repairs(fault, lambda: self._night.world.admin_resumes(fault.nodes[0]))

    def _repairs(self, fault: Fault, done: Callable[[], None]) -> None:
        """Later he mends it, looks at it for a while, and says that he is done."""
        mended = EARLIER_S + REPAIRS_S
        self._night.after(mended, lambda: self._night.machines.cure(fault.nodes[0]))
        self._night.after(mended + LOOKS_S, done)

    def _holds(self, fault: Fault) -> None:
        fault.nodes = self._free()
        self._commands(Verb.HOLD, fault.nodes[0], "I look at it myself")
        self._repairs(
            fault, lambda: self._commands(Verb.UNHOLD, fault.nodes[0], "it was the cable")
        )

    def looks_at_storm(self) -> None:
        """A rack was out of order, and is not any more."""
        self._night.after(
            CALM_S, lambda: self._commands(Verb.RESET_BREAKER, "", "the switch was it")
        )

    def _commands(self, verb: Verb, node: str, reason: str) -> None:
        hub = self._night.hub
        if hub is None or hub.remedies is None:  # no hub answers: he asks again
            self._night.after(30.0, lambda: self._commands(verb, node, reason))
            return
        now = self._night.clock.wall()
        command = Command(verb=verb, by=NAME, at=now, node=node, reason=reason)
        task: asyncio.Task[object] = asyncio.create_task(
            hub.remedies.engine.submit_command(command)
        )
        self._commanding.add(task)
        task.add_done_callback(self._commanding.discard)

    def sees_drain(self, fault: Fault) -> None:
        """A node was taken out that he needs at once; he mends it later."""
        if fault.kind is Kind.GIVEN_BACK:
            node = fault.nodes[0]
            self._night.after(GIVES_BACK_S, lambda: self._night.world.admin_resumes(node))
            self._night.after(GIVES_BACK_S + REPAIRS_S, lambda: self._night.machines.cure(node))
