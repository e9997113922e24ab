"""Where messages are kept until they have arrived: in the journal, or in memory where there is none."""

from collections.abc import Iterable, Mapping
from typing import Protocol

from accelwatch.alerting.delivery.messages.message import Key, decoded
from accelwatch.alerting.incidents.journal.records import Batch
from accelwatch.base.clock import Clock


class Outbox(Protocol):
    """Rows by incident and sink."""

    def rows(self) -> Iterable[bytes]:
        """What an earlier process left."""
        ...

    async def save(self, changes: Mapping[Key, bytes | None]) -> None:
        """Write rows, and remove those that are None. Raises JournalError."""
        ...


class _Writer(Protocol):
    async def commit(self, batch: Batch) -> None: ...


class JournalOutbox:
    """The table `outbox` in the journal's file."""

    def __init__(self, writer: _Writer, clock: Clock, rows: Iterable[bytes] = ()) -> None:
        """`rows` is `outbox` of what the journal has loaded."""
        self._writer = writer
        self._clock = clock
        self._memory = MemoryOutbox(rows)

    def rows(self) -> Iterable[bytes]:
        """What was saved before, by this process or an earlier one."""
        return self._memory.rows()

    async def save(self, changes: Mapping[Key, bytes | None]) -> None:
        """Write rows, and remove those that are None. Raises JournalError."""
        # In memory first: `rows` has what was saved also while the journal cannot be written.
        await self._memory.save(changes)
        await self._writer.commit(Batch(time=self._clock.wall(), outbox=dict(changes)))


class MemoryOutbox:
    """Rows that do not outlive the process."""

    def __init__(self, rows: Iterable[bytes] = ()) -> None:
        self.kept: dict[Key, bytes] = {}
        for row in rows:
            message = decoded(row)
            if message is not None:
                self.kept[message.key] = row

    def rows(self) -> Iterable[bytes]:
        """What was saved before."""
        return list(self.kept.values())

    async def save(self, changes: Mapping[Key, bytes | None]) -> None:
        """Keep rows, and remove those that are None."""
        for key, row in changes.items():
            if row is None:
                self.kept.pop(key, None)
            else:
                self.kept[key] = row
