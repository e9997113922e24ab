"""Writes to the journal with their start, so that a disk that does not answer is noticed."""

from accelwatch.alerting.incidents.journal.patient import COMMIT_WAIT_S
from accelwatch.alerting.incidents.journal.records import Batch
from accelwatch.base.clock import Clock
from accelwatch.remediation.execution.operations.ledger import Commit


class TimedCommit:
    """For one event loop."""

    def __init__(self, commit: Commit, clock: Clock) -> None:
        self._commit = commit
        self._clock = clock
        # When (monotonic seconds) each batch that is being written was handed over.
        self._started: dict[int, float] = {}

    async def __call__(self, batch: Batch) -> None:
        """Write a batch, however long it waits. Raises JournalError."""
        self._started[id(batch)] = self._clock.monotonic()
        try:
            await self._commit(batch)
        finally:
            del self._started[id(batch)]

    @property
    def hangs(self) -> bool:
        """Whether a batch has been waiting for the disk for longer than anybody waits."""
        now = self._clock.monotonic()
        return now - min(self._started.values(), default=now) > COMMIT_WAIT_S
