"""A disk that is slow is told, and so is that it has caught up, though nothing else is to be written."""

import asyncio
import threading
from pathlib import Path

import pytest

from accelwatch.incidents.incident import Facts
from accelwatch.incidents.journal import patient
from accelwatch.incidents.journal.file import JournalError, JournalFile
from accelwatch.incidents.journal.records import Batch
from accelwatch.incidents.register import Register
from accelwatch.rules.rule import RuleSet
from incidents.incident_rules import START


@pytest.mark.parametrize("fails", [False, True])
def test_what_is_written_late_is_well_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, fails: bool
) -> None:
    disk = threading.Event()
    disk.set()
    write = JournalFile.write

    def slowly(file: JournalFile, batches: list[Batch]) -> None:
        disk.wait()
        if fails and batches[0].seen:
            raise JournalError("the disk is full")
        write(file, batches)

    monkeypatch.setattr(JournalFile, "write", slowly)
    monkeypatch.setattr(patient, "COMMIT_WAIT_S", 0.01)

    async def story() -> None:
        register = Register({}, lambda _: Facts())
        await register.begin(tmp_path, RuleSet(rules={}), START)
        disk.clear()
        await register.remember({"f": START + 60}, START)
        assert register.problems == ("the journal has not been written for 0.01 s",)
        disk.set()
        expected = ("the disk is full",) if fails else ()
        while register.problems != expected:
            await asyncio.sleep(0)
        await register.end()

    asyncio.run(asyncio.wait_for(story(), 30))
