"""A disk that is slow is told, and so is that it has caught up, though nothing else is to be written."""

import asyncio
import gc
import threading
from pathlib import Path

import pytest

from accelwatch.alerting.incidents.incident_store import IncidentStore
from accelwatch.alerting.incidents.journal import patient
from accelwatch.alerting.incidents.journal.errors import JournalError
from accelwatch.alerting.incidents.journal.journal import Journal
from accelwatch.alerting.incidents.journal.records import Batch
from accelwatch.alerting.incidents.model.incident import Facts
from accelwatch.alerting.rules.rule import RuleSet
from alerting.incidents.incident_rules import START
from support.processes.waiting import GUARD_S


@pytest.mark.parametrize("fails", [False, True])
def test_what_is_written_late_is_well_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, fails: bool
) -> None:
    disk = threading.Event()
    disk.set()
    write = Journal.write

    def slowly(file: Journal, batches: list[Batch]) -> None:
        disk.wait()
        if fails and batches[0].fingerprints:
            raise JournalError("the disk is full")
        write(file, batches)

    monkeypatch.setattr(Journal, "write", slowly)
    monkeypatch.setattr(patient, "COMMIT_WAIT_S", GUARD_S)

    async def scenario() -> None:
        incident_store = IncidentStore({}, lambda _: Facts())
        await incident_store.start(tmp_path, RuleSet(rules={}), START)
        monkeypatch.setattr(patient, "COMMIT_WAIT_S", 0.01)
        disk.clear()
        await incident_store.remember({"f": START + 60}, START)
        assert incident_store.problems == ("the journal has not been written for 0.01 s",)
        disk.set()
        expected = ("the disk is full",) if fails else ()
        while incident_store.problems != expected:
            await asyncio.sleep(0)
        await incident_store.stop()

    asyncio.run(asyncio.wait_for(scenario(), GUARD_S))


def test_a_write_that_fails_after_its_caller_was_cancelled_is_no_unhandled_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started, disk = threading.Event(), threading.Event()
    unhandled: list[object] = []

    def refuses(_: Journal, batches: list[Batch]) -> None:
        started.set()
        disk.wait(GUARD_S)
        raise JournalError("the disk is full")

    async def scenario() -> None:
        asyncio.get_running_loop().set_exception_handler(
            lambda _, context: unhandled.append(context["message"])
        )
        incident_store = IncidentStore({}, lambda _: Facts())
        await incident_store.start(tmp_path, RuleSet(rules={}), START)
        monkeypatch.setattr(Journal, "write", refuses)
        monkeypatch.setattr(patient, "COMMIT_WAIT_S", GUARD_S)
        writing = asyncio.create_task(incident_store.remember({"f": START + 60}, START))
        assert await asyncio.to_thread(started.wait, GUARD_S)
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)
        assert writing.cancelled()
        disk.set()
        await incident_store.stop()
        await asyncio.sleep(0)
        gc.collect()

    asyncio.run(asyncio.wait_for(scenario(), GUARD_S))
    gc.collect()
    assert unhandled == []
