"""A database that fails over in the middle of an operation: what it has lost is unknown, not undone."""

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator, Iterator

import msgspec
import pytest

from accelwatch.action.intent import IntentKind
from accelwatch.action.step import Step, StepKind
from accelwatch.alerting.incidents.journal.errors import JournalError
from accelwatch.alerting.incidents.journal.location import DatabaseLocation
from accelwatch.alerting.incidents.journal.opening import open_journal
from accelwatch.alerting.incidents.journal.writer import JournalWriter
from accelwatch.base.clock import SystemClock
from accelwatch.config.journal import PostgreSQL
from accelwatch.remediation.execution.operations.ledger import Ledger
from accelwatch.remediation.execution.operations.operation import Operation, OperationState
from remediation.bench import NAME, intent
from support.incidents.kept_journals import InPostgreSQL
from support.postgresql.server import Server, running_or_skip

STEP = Step(kind="reboot", arguments={"node": "n1"}, text="reboot n1")
KIND = StepKind(idempotent=False, reversible=False)


@pytest.fixture
def primary() -> Iterator[Server]:
    with running_or_skip("max_wal_senders=4") as server:
        yield server


@contextlib.asynccontextmanager
async def ledger_of(settings: PostgreSQL) -> AsyncIterator[Ledger]:
    """A ledger over the journal as it stands, as a hub that begins to lead has it."""
    opened = await asyncio.to_thread(open_journal, DatabaseLocation(settings=settings), 0.0)
    assert opened.file is not None
    writer = JournalWriter(opened.file)
    try:
        yield Ledger(writer.commit, SystemClock(), opened.loaded.states, token=writer.lease.token)
    finally:
        await writer.close()


async def open_operations(settings: PostgreSQL) -> list[Operation]:
    async with ledger_of(settings) as ledger:
        return list(ledger.open())


def test_a_start_that_was_lost_makes_what_is_reserved_unknown(primary: Server) -> None:
    """It was started, done, and the standby that is promoted knows of the reservation only."""
    kept = InPostgreSQL(primary)

    async def play(standby: Server, both: PostgreSQL) -> None:
        async with ledger_of(both) as ledger:
            operation = await ledger.reserve(NAME, intent(IntentKind.REBOOT), STEP, 1)
        (again,) = await open_operations(both)
        assert again.state is OperationState.RESERVED
        await asyncio.to_thread(standby.wait_for, primary)
        await asyncio.to_thread(standby.stop, signal.SIGINT)
        async with ledger_of(both) as ledger:
            started, _ = await ledger.start(operation, KIND, str)
            assert started.state is OperationState.STARTED
        await asyncio.to_thread(primary.stop, signal.SIGKILL)
        await asyncio.to_thread(standby.start)
        await asyncio.to_thread(standby.promote)
        for _ in range(2):  # it stays so when the hub is restarted before anybody has looked
            (left,) = await open_when_up(both)
            assert (left.id, left.state) == (operation.id, OperationState.UNKNOWN)
            assert not left.started_step.is_without_effect
            assert "failed over" in left.text

    with primary.standby() as standby:
        hosts = (f"{primary.folder}:{primary.port}", f"{standby.folder}:{standby.port}")
        asyncio.run(play(standby, msgspec.structs.replace(kept.settings, hosts=hosts)))


async def open_when_up(settings: PostgreSQL) -> list[Operation]:
    """As soon as the promotion is over."""
    async with asyncio.timeout(60):
        while True:
            with contextlib.suppress(JournalError):
                return await open_operations(settings)
            await asyncio.sleep(0.2)
