"""The thread that writes the journal: what waits is written together, so that one sync serves many."""

import asyncio
import contextlib
import logging
import queue
import threading
from collections.abc import Sequence

from accelwatch.alerting.incidents.journal.errors import JournalError, JournalRefusedError
from accelwatch.alerting.incidents.journal.journal import Journal
from accelwatch.alerting.incidents.journal.lease import Lease, lease_clock
from accelwatch.alerting.incidents.journal.records import Batch

logger = logging.getLogger(__name__)

# Batches of one transaction.
MOST_TOGETHER = 256

_Job = tuple[Batch, "asyncio.Future[None]"]


class JournalWriter:
    """Writes batches in their order; for one event loop.

    A batch that cannot be written is lost to the journal and `commit` raises; the next one is tried all
    the same, for a disk that was full may not be full any more.
    """

    def __init__(self, file: Journal) -> None:
        self._file = file
        self._loop = asyncio.get_running_loop()
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="journal", daemon=True)
        self._closed = False
        self._renewed = lease_clock()
        self._thread.start()

    @property
    def lease(self) -> Lease:
        """By which it writes."""
        return self._file.lease

    async def commit(self, batch: Batch) -> None:
        """Have a batch written; when this returns, it is on the disk. Raises JournalError."""
        if self._closed:
            raise JournalError("the journal is closed")
        done: asyncio.Future[None] = self._loop.create_future()
        self._jobs.put((batch, done))
        # A caller that is cancelled does not cancel the write.
        await asyncio.shield(done)

    async def check(self, batch: Batch) -> None:
        """See that the file can be read, and write a batch. Raises JournalError."""
        await asyncio.to_thread(self._file.check)
        await self.commit(batch)

    async def close(self) -> None:
        """Write what waits, and close the file."""
        if not self._closed:
            self._closed = True
            self._jobs.put(None)
            await asyncio.to_thread(self._thread.join)

    def _work(self) -> None:
        is_last = False
        while not is_last:
            jobs, is_last = self._waiting()
            if jobs:
                errors = self._write([batch for batch, _ in jobs])
                settled = [(done, error) for (_, done), error in zip(jobs, errors, strict=True)]
                with contextlib.suppress(RuntimeError):  # nobody waits in a loop that is closed
                    self._loop.call_soon_threadsafe(_settle, settled)
                self._renew_if_due()
        self._file.close()

    def _waiting(self) -> tuple[list[_Job], bool]:
        """What waits now, at least one, and whether that was the last."""
        jobs: list[_Job] = []
        job = self._next_job()
        while job is not None:
            jobs.append(job)
            if len(jobs) >= MOST_TOGETHER or self._jobs.empty():
                return jobs, False
            job = self._jobs.get()
        return jobs, True

    def _next_job(self) -> _Job | None:
        """The next job; meanwhile renews the writer's lease as often as the database requires."""
        while True:
            try:
                return self._jobs.get(timeout=self._file.renew_every_s)
            except queue.Empty:
                self._renew()

    def _renew_if_due(self) -> None:
        """Also while there is always something to be written."""
        every_s = self._file.renew_every_s
        if every_s is not None and lease_clock() - self._renewed > every_s:
            self._renew()

    def _renew(self) -> None:
        with contextlib.suppress(JournalError):  # the next write reports it, and so does the lease
            self._file.renew()
        self._renewed = lease_clock()

    def _write(self, batches: list[Batch]) -> list[JournalError | None]:
        error = self._try(batches)
        if not isinstance(error, JournalRefusedError) or len(batches) == 1:
            return [error] * len(batches)
        # A refused batch, such as a second claim, shall not fail the others with it.
        return [self._try([batch]) for batch in batches]

    def _try(self, batches: list[Batch]) -> JournalError | None:
        try:
            self._file.write(batches)
        except JournalError as error:
            return error
        except Exception as error:
            # A thread that dies would leave everybody waiting.
            logger.exception("the journal's thread met an unexpected error")
            return JournalError(f"the journal cannot be written: {error!r}")
        return None


def _settle(settled: Sequence[tuple["asyncio.Future[None]", JournalError | None]]) -> None:
    for done, error in settled:
        if done.done():
            continue
        if error is None:
            done.set_result(None)
        else:
            done.set_exception(error)
