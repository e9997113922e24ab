"""A journal in memory with the promises of the file, and moments at which everything may end."""

import asyncio
from collections.abc import Callable, Iterable

from accelwatch.alerting.incidents.journal.errors import JournalClaimedError, JournalError
from accelwatch.alerting.incidents.journal.records import Batch, Record, StateRecord


class MemoryJournal:
    """Keeps what was committed, whatever becomes of who committed it."""

    def __init__(self) -> None:
        self.written: list[Record] = []
        self._states: dict[tuple[str, str], StateRecord] = {}
        # Why nothing can be written.
        self.broken = ""
        # Seconds for which the disk does not answer.
        self.hangs_s: Callable[[Batch], float] = lambda _: 0.0
        self.before: Callable[[Batch], None] = lambda _: None
        self.after: Callable[[Batch], None] = lambda _: None

    async def commit(self, batch: Batch) -> None:
        if seconds := self.hangs_s(batch):
            await asyncio.sleep(seconds)
        if self.broken:
            raise JournalError(self.broken)
        self.before(batch)
        states = dict(self._states)
        for record in batch.records:
            if isinstance(record, StateRecord):
                _put(states, record)
        self._states = states
        self.written += batch.records
        self.after(batch)

    def take_up(self, states: Iterable[StateRecord]) -> None:
        """How things stood in another journal."""
        for state in states:
            _put(self._states, state)

    def states(self) -> list[StateRecord]:
        """How things stand, as an engine that begins would load them."""
        return list(self._states.values())


def _put(states: dict[tuple[str, str], StateRecord], record: StateRecord) -> None:
    key = record.kind, record.key
    if record.is_gone:
        states.pop(key, None)
        return
    if record.claim and any(one.claim == record.claim for at, one in states.items() if at != key):
        raise JournalClaimedError(f"something else holds {record.claim!r} already")
    states[key] = record
