"""A journal that keeps nobody waiting: a late write is reported, and written later."""

import asyncio
import logging
import os
import threading
from collections.abc import Coroutine
from typing import NamedTuple

import msgspec

from accelwatch.alerting.incidents.journal.errors import JournalError, JournalRefusedError
from accelwatch.alerting.incidents.journal.location import JournalLocation
from accelwatch.alerting.incidents.journal.opening import open_journal
from accelwatch.alerting.incidents.journal.opening_result import OpeningResult
from accelwatch.alerting.incidents.journal.records import Batch, Loaded, Record, key_of
from accelwatch.alerting.incidents.journal.writer import JournalWriter
from accelwatch.alerting.incidents.model.incident import ENGINE

logger = logging.getLogger(__name__)

# Among the fingerprints: a row whose write proves that the disk accepts writes again.
_TRIAL = "\x1fcheck"
# How long a write may delay its notification; after that it is sent all the same.
COMMIT_WAIT_S = 2.0


class _Owed(msgspec.Struct):
    """What is not on the disk yet, and who did it."""

    record: Record
    actor: str
    # Whether it was tried; else it is just being written.
    failed: bool = False


class PatientJournal:
    """The journal of a location, once it is open; for one event loop."""

    def __init__(self) -> None:
        # Who writes it; None where there is none.
        self.writer: JournalWriter | None = None
        # Whether there is a location for it.
        self.is_configured = False
        self._lock: int | None = None
        self._unopened = ""
        self._unwritten = ""
        # Whether something was not written in time, and still is not.
        self._hangs = False
        # Records not on the disk, the newest of each key; written once the disk accepts writes.
        self._owed: dict[tuple[str, ...], _Owed] = {}

    async def open(self, location: JournalLocation | None, now: float) -> Loaded:
        """Open it; what it knows from before.

        Raises JournalError for a database that cannot be written, or that another process writes.
        """
        self.is_configured = location is not None
        loop = asyncio.get_running_loop()
        opening = loop.run_in_executor(None, open_journal, location, now)
        try:
            opened = await asyncio.shield(opening)
        except asyncio.CancelledError:
            # What is open by then would keep everybody else from writing; closing it blocks.
            opening.add_done_callback(
                lambda _: threading.Thread(target=_close, args=(opening,)).start()
            )
            raise
        self._unopened, self._lock = opened.problem, opened.lock
        if opened.file is not None:
            self.writer = JournalWriter(opened.file)
        return opened.loaded

    async def close(self) -> None:
        """Write what waits, and let go of it."""
        if self.writer is not None:
            await self.writer.close()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    @property
    def lost(self) -> str:
        """Why it has to be opened again before anything is written; empty while it need not."""
        return "" if self.writer is None else self.writer.lease.lost

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong with it; empty when all is well."""
        return tuple(text for text in (self._unopened, self._unwritten) if text)

    async def write(
        self,
        records: list[Record],
        now: float,
        fingerprints: dict[str, float] | None = None,
        actor: str = ENGINE,
    ) -> str:
        """Write records; a disk that hangs or is full keeps nobody waiting for long.

        What is wrong with the journal; empty when they are on the disk.
        """
        if self.writer is None:
            return self._unopened
        owed = self._owe(records, actor)
        batch = Batch(time=now, records=records, fingerprints=fingerprints or {}, actor=actor)
        return await self._done_in_time(self._commit(self.writer, batch, owed))

    def _owe(self, records: list[Record], actor: str) -> dict[tuple[str, ...], _Owed]:
        """Note records to be written, replacing earlier ones of the same key."""
        owed: dict[tuple[str, ...], _Owed] = {}
        for record in records:
            if key := key_of(record):
                before = self._owed.get(key)
                person = before.actor if before is not None and actor == ENGINE else actor
                self._owed[key] = owed[key] = _Owed(record, person)
        return owed

    async def _commit(
        self, writer: JournalWriter, batch: Batch, owed: dict[tuple[str, ...], _Owed]
    ) -> None:
        """Write it; what is on the disk, or never will be, is not owed any more. Raises JournalError."""
        try:
            await writer.commit(batch)
        except JournalRefusedError:
            self._settle(owed)
            raise
        except JournalError:
            for entry in owed.values():
                entry.failed = True
            raise
        self._settle(owed)

    def _settle(self, owed: dict[tuple[str, ...], _Owed]) -> None:
        for key, entry in owed.items():
            if self._owed.get(key) is entry:
                del self._owed[key]

    async def check(self, now: float) -> None:
        """Check that it can be written: on a quiet day nothing else would show it for hours.

        Nothing comes to the disk by that while all is well.
        """
        if self.writer is not None and not self._hangs:
            fingerprints = {_TRIAL: now} if self._unwritten else {}
            await self._done_in_time(self.writer.check(Batch(time=now, fingerprints=fingerprints)))
            if self._owed and not self._unwritten:
                await self._write_owed(self.writer, now)

    async def _write_owed(self, writer: JournalWriter, now: float) -> None:
        """Write what could not be written when it was so: a silence, the end of one, an incident."""
        failed = {key: entry for key, entry in self._owed.items() if entry.failed}
        for actor in dict.fromkeys(entry.actor for entry in failed.values()):
            owed = {key: entry for key, entry in failed.items() if entry.actor == actor}
            batch = Batch(time=now, records=[entry.record for entry in owed.values()], actor=actor)
            await self._done_in_time(self._commit(writer, batch, owed))

    async def _done_in_time(self, work: Coroutine[object, object, None]) -> str:
        writing = asyncio.ensure_future(work)
        # Also when the caller is cancelled meanwhile: asyncio reports errors that nobody has read.
        writing.add_done_callback(_retrieve_error)
        try:
            # `wait_for` of Python 3.11 forgets that it was cancelled when the disk answers just then.
            async with asyncio.timeout(COMMIT_WAIT_S):
                await asyncio.shield(writing)
        except (JournalError, TimeoutError) as error:
            problem = str(error) or f"the journal has not been written for {COMMIT_WAIT_S:g} s"
            self._hangs = not writing.done()
            if problem != self._unwritten:
                logger.error("%s", problem)
            self._unwritten = problem
            # Where nothing else is to be written, only this notices the recovery.
            writing.add_done_callback(self._written_late)
        else:
            self._unwritten = ""
        return self._unwritten

    def _written_late(self, writing: "asyncio.Future[None]") -> None:
        self._hangs = False
        error = None if writing.cancelled() else writing.exception()
        if not writing.cancelled():
            self._unwritten = "" if error is None else str(error)


def _close(opening: "asyncio.Future[OpeningResult]") -> None:
    """Close what was opened, if it was; for a thread without an event loop."""
    if opening.cancelled() or opening.exception() is not None:
        return
    opened = opening.result()
    if opened.file is not None:
        opened.file.close()
    if opened.lock is not None:
        os.close(opened.lock)


def _retrieve_error(writing: "asyncio.Future[None]") -> None:
    if not writing.cancelled():
        writing.exception()


class OpenJournal(NamedTuple):
    """A journal that is open, and what it knows from before."""

    journal: PatientJournal
    loaded: Loaded


async def open_patiently(location: JournalLocation | None, now: float) -> OpenJournal:
    """The journal of a location. Raises JournalError as `PatientJournal.open` does."""
    journal = PatientJournal()
    return OpenJournal(journal, await journal.open(location, now))
