"""A STOP counts for whatever has not been begun, however many wait for a scheduler that is slow."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import pytest

from accelwatch.action.intent import Intent, IntentKind
from accelwatch.remediation.execution.engine import Engine
from accelwatch.remediation.execution.operations.operation import OperationState
from accelwatch.remediation.execution.stop_file import CHECK_EVERY_S, StopFile
from accelwatch.remediation.policy.context.outcome import Outcome
from accelwatch.remediation.policy.context.records import StartedRecord, StopRecord
from accelwatch.remediation.policy.context.records import StateRecord as PureRecord
from accelwatch.remediation.policy.guards.denial import PERMIT
from accelwatch.remediation.policy.state.changes import (
    Change,
    Command,
    Started,
    Verb,
    WorldObservation,
)
from accelwatch.remediation.policy.state.model import RemedyState
from accelwatch.remediation.policy.state.orders import Stop
from remediation.bench import NAME, Bench, intent
from remediation.virtual_time import START

NODES = tuple(f"n{at}" for at in range(40))
CALL_S = 0.3
STOP_AT_S = 2.0
LATE_S = 1.0


class Queue:
    """Forty nodes are to be drained at once by a scheduler that does one call after another."""

    def __init__(self, folder: Path, kind: IntentKind = IntentKind.QUARANTINE) -> None:
        self.bench = Bench(NODES)
        self.bench.action.call_s = CALL_S
        self.kind = kind
        self.stop = folder / "STOP"
        self.file = StopFile(self.stop, self.bench.clock)
        self.file.start = self.file.check  # type: ignore[method-assign]
        self.engine = Engine(
            self.decide,
            {NAME: self.bench.action},
            self.bench.journal.commit,
            self.bench.clock,
            self.file,
            may_start=lambda _: PERMIT,
        )

    def decide(
        self,
        state: RemedyState,
        changes: Sequence[Change],
        observations: Sequence[WorldObservation],
        now: float,
    ) -> Outcome:
        """Everything is wanted at the start; what people say is kept, and takes nothing back."""
        records: list[PureRecord] = []
        after = state
        pursue: tuple[Intent, ...] = ()
        for change in changes:
            match change:
                case Started(token=token, at=at):
                    records.append(StartedRecord(token=token, at=at))
                    pursue = tuple(intent(self.kind, node) for node in NODES)
                case Command(verb=Verb.STOP):
                    stop = Stop(by=change.by, at=now, reason=change.reason)
                    records.append(StopRecord(stop=stop))
                    after = msgspec.structs.replace(after, stop=stop)
                case Command(verb=Verb.START):
                    records.append(StopRecord(stop=None))
                    after = msgspec.structs.replace(after, stop=None)
        return Outcome(state=after, records=tuple(records), pursue=pursue)

    def run(self, happen: Callable[[], object], seconds: float = 30.0) -> None:
        async def whole() -> None:
            await self.engine.start(self.bench.journal.states())
            asyncio.get_running_loop().call_later(STOP_AT_S, happen)
            await asyncio.sleep(seconds)
            await self.engine.stop()

        try:
            self.bench.loop.run_until_complete(whole())
        finally:
            self.bench.loop.close()

    def by_file(self) -> None:
        self.stop.touch()
        self.bench.loop.call_later(CHECK_EVERY_S, self.file.check)

    def send(self, verb: Verb, by: str = "ada") -> None:
        command = Command(verb=verb, by=by, at=START, reason="rack 7 is being moved")
        self.commanding = asyncio.ensure_future(self.engine.submit_command(command))

    @property
    def late(self) -> list[str]:
        """What was done later than a second after the STOP."""
        at = START + STOP_AT_S + LATE_S
        return [one.target for one in self.bench.world.effects if one.time > at]


def reasons(queue: Queue) -> set[str]:
    """Why the journal says that something was cancelled which was written down as started."""
    lives: dict[str, list[OperationState]] = {}
    texts: set[str] = set()
    for operation in queue.bench.operations():
        lives.setdefault(operation.id, []).append(operation.state)
        if operation.started is not None and operation.state is OperationState.CANCELLED:
            texts.add(operation.text)
    return texts


@pytest.mark.parametrize("way", ["file", "command"])
def test_with_forty_waiting_nothing_starts_after_a_stop(tmp_path: Path, way: str) -> None:
    queue = Queue(tmp_path)
    queue.run(queue.by_file if way == "file" else lambda: queue.send(Verb.STOP))
    assert 0 < len(queue.bench.world.effects) < len(NODES)
    assert queue.late == []
    states = {one.state for one in queue.bench.operations()}
    assert states == {OperationState.OBSERVED, OperationState.CANCELLED}
    why = f"the file {queue.stop} is there" if way == "file" else "by ada"
    assert {why in text for text in reasons(queue)} == {True}


def test_a_stop_by_command_waits_for_no_disk(tmp_path: Path) -> None:
    queue = Queue(tmp_path)

    def hang() -> None:
        queue.bench.journal.hangs_s = lambda _: 3600.0
        # A decision is being written, and that takes for ever.
        queue.engine.submit_changes([Started(token=2, at=START)])
        queue.bench.loop.call_later(0.1, lambda: queue.send(Verb.STOP))
        queue.bench.loop.call_later(
            0.1, lambda: setattr(queue.bench.journal, "hangs_s", lambda _: 0.0)
        )

    queue.run(hang)
    assert queue.late == []


def test_a_start_that_is_answered_takes_no_later_stop_with_it(tmp_path: Path) -> None:
    queue = Queue(tmp_path)

    def both() -> None:
        queue.bench.journal.hangs_s = lambda batch: 5.0 if batch.actor == "ada" else 0.0
        queue.send(Verb.START, "bob")
        queue.send(Verb.STOP)

    queue.run(both)
    assert queue.late == []


def test_what_we_did_is_still_undone(tmp_path: Path) -> None:
    queue = Queue(tmp_path, IntentKind.RELEASE)
    for node in NODES:
        queue.bench.world.nodes[node].mark = intent(IntentKind.RELEASE).mark
    queue.run(queue.by_file)
    assert [node.mark for node in queue.bench.world.nodes.values()] == [None] * (len(NODES) + 1)
