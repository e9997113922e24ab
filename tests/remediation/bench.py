"""A fake scheduler, a journal in memory and pursuits between them, on a virtual clock."""

import asyncio
import itertools
from collections.abc import Callable, Sequence

from accelwatch.action.intent import Intent, IntentKind, JobKey, OwnerAnnotation
from accelwatch.action.step import Step
from accelwatch.alerting.incidents.journal.records import StateRecord
from accelwatch.remediation.execution.operations.effect import Site
from accelwatch.remediation.execution.operations.lanes import Lanes
from accelwatch.remediation.execution.operations.ledger import Commit, Ledger
from accelwatch.remediation.execution.operations.operation import (
    KIND,
    Operation,
    OperationState,
    operation_of,
)
from accelwatch.remediation.execution.pursuits.pursuit import Pursuit
from accelwatch.remediation.policy.state.pursued import Pursued
from remediation.fake_scheduler import FakeAction, FakeScheduler
from remediation.memory_journal import MemoryJournal
from remediation.virtual_time import START, LoopClock, VirtualLoop

NAME = "fake"
MARK = OwnerAnnotation("i1", 1)


def intent(kind: IntentKind, node: str = "n1", **more: object) -> Intent:
    return Intent(
        kind=kind,
        mark=MARK,
        node=node,
        reason="accelwatch:i1:gpu.lost",
        deadline=more.pop("deadline", START + 600.0),  # type: ignore[arg-type]
        **more,  # type: ignore[arg-type]
    )


class Bench:
    """Begins with nodes n1 to n4 and the spare s1; a restart keeps world and journal."""

    def __init__(self, nodes: Sequence[str] = ("n1", "n2", "n3", "n4")) -> None:
        self.loop = VirtualLoop()
        self.clock = LoopClock(self.loop)
        self.world = FakeScheduler(self.clock, nodes, ["s1"])
        self.action = FakeAction(self.world)
        self.journal = MemoryJournal()
        # None: an engine without a journal, from the next restart on.
        self.commit: Commit | None = self.journal.commit
        self.stopped = ""
        self._planned = 0
        self.reported: list[Pursued] = []
        self._ids = map(str, itertools.count(1))
        self.restart()

    def restart(self) -> None:
        """What only lived in memory is gone."""
        self.ledger = Ledger(
            self.commit, self.clock, self.journal.states(), lambda: next(self._ids)
        )
        self.site = Site(
            NAME,
            self.action,
            self.ledger,
            Lanes(),
            lambda _: self.stopped,
            self.clock,
            jitter=lambda: 0.0,
        )

    def end_all(self) -> None:
        """What still runs on the loop is gone, as after a kill."""
        left = asyncio.all_tasks(self.loop)
        for task in left:
            task.cancel()
        self.loop.run_until_complete(asyncio.wait(left) if left else asyncio.sleep(0))

    def pursuit(self, wanted: Intent) -> Pursuit:
        return Pursuit(self.site, wanted, self.reported.append)

    def pursue(self, wanted: Intent, within_s: float = 3600.0) -> Pursued | None:
        """Carry out an intent to its end; None when it has none within that time."""

        async def play() -> None:
            async with asyncio.timeout(within_s):
                await self.pursuit(wanted).run()

        try:
            self.loop.run_until_complete(play())
        except TimeoutError:
            return None
        return self.reported[-1]

    def operations(self) -> list[Operation]:
        """As the journal has them."""
        return [operation_of(one) for one in self.journal.states() if one.kind == KIND]

    def lives(self) -> list[tuple[str, OperationState]]:
        """Each state that an operation came to, by the kind of its step, in the order of the journal."""
        records = [one for one in self.journal.written if isinstance(one, StateRecord)]
        known = [operation_of(one) for one in records if one.kind == KIND]
        return [(one.step.kind, one.state) for one in known]

    def apply_later(self, step: object) -> None:
        """The scheduler does the step now being done in a while, whether who asked is gone or not."""
        _, operation = self.action.performed[-1]
        assert isinstance(step, Step)
        self.world.after(5.0, lambda: self.action.apply(step, operation))

    def at(self, seconds: float, happen: Callable[[], None]) -> None:
        """Let something happen after so many seconds; what happens together does so in this order."""
        self._planned += 1
        self.loop.call_later(seconds + 1e-6 * self._planned, happen)

    def job(self, *nodes: str, **how: object) -> JobKey:
        return self.world.add_job("17", *nodes, **how).key
