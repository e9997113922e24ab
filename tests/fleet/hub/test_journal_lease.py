"""A hub that waits for the journal says so once, starts when it is free and stops when it is lost."""

import asyncio
import logging
from pathlib import Path

import pytest

from accelwatch.alerting.incidents.journal.errors import JournalInUseError
from accelwatch.alerting.incidents.journal.location import DatabaseLocation
from accelwatch.config.journal import JournalSettings, PostgreSQL
from accelwatch.fleet.hub.leadership import journal_lease
from accelwatch.fleet.hub.leadership.journal_lease import JournalLease, location_of

HELD = "another hub writes there: the one on hub2"


class Rules:
    """What needs the lease: it starts unless `refused` says why not."""

    def __init__(self, refused: Exception | None = None) -> None:
        self.refused = refused
        self.lost: str | None = None
        self.calls: list[str] = []
        self.lease = JournalLease(self._start, self._stop, lambda: self.lost)

    async def _start(self) -> None:
        self.calls.append("start")
        if self.refused is not None:
            raise self.refused
        self.lost = ""

    async def _stop(self) -> None:
        self.calls.append("stop")
        self.lost = None

    def check(self) -> None:
        asyncio.run(self.lease.check())


def waiting_rules() -> Rules:
    rules = Rules(JournalInUseError(HELD))
    asyncio.run(rules.lease.try_start())
    return rules


def test_a_hub_that_waits_says_so_once_and_tries_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    waiting = waiting_rules()
    waiting.check()
    waiting.check()
    assert waiting.lease.waiting == HELD
    assert waiting.calls == ["start"] * 3
    assert caplog.messages == [f"no rules are evaluated here: {HELD}"]


def test_a_hub_that_gets_the_lease_starts_and_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    waiting = waiting_rules()
    caplog.clear()
    waiting.refused = None
    waiting.check()
    waiting.check()
    assert waiting.lease.waiting == ""
    assert waiting.calls == ["start", "start"]
    assert caplog.messages == ["rules are evaluated here from now on"]


def test_a_hub_that_has_the_lease_from_the_start_says_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    rules = Rules()
    asyncio.run(rules.lease.try_start())
    rules.check()
    assert rules.calls == ["start"]
    assert caplog.messages == []


def test_a_hub_without_rules_starts_nothing() -> None:
    rules = Rules()
    rules.check()
    assert rules.calls == []


def test_a_hub_that_has_lost_the_lease_stops_before_it_requests_it_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    rules = Rules()
    asyncio.run(rules.lease.try_start())
    rules.lost, rules.refused = "the hub on hub2 has written meanwhile", JournalInUseError(HELD)
    rules.check()
    assert rules.calls == ["start", "stop", "start"]
    assert rules.lease.waiting == HELD
    assert caplog.messages[0].endswith("any more: the hub on hub2 has written meanwhile")


@pytest.mark.parametrize("error", [ValueError("rule r1 is damaged"), TimeoutError()])
def test_what_cannot_be_started_is_tried_again_and_logged_once(
    error: Exception, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(journal_lease, "CHECK_EVERY_S", 0.0)
    rules = Rules(JournalInUseError(HELD))

    async def play() -> None:
        await rules.lease.try_start()
        rules.refused = error
        checking = asyncio.create_task(rules.lease.run())
        while len(rules.calls) < 4:
            await asyncio.sleep(0)
        assert rules.lease.waiting == (str(error) or "TimeoutError")
        rules.refused = None
        while rules.lease.waiting:
            await asyncio.sleep(0)
        checking.cancel()

    caplog.set_level(logging.ERROR)
    asyncio.run(play())
    assert caplog.messages == ["rules cannot be started"]


def test_a_database_is_opened_with_the_folder_that_remembers_how_far_it_had_come() -> None:
    folder, database = Path("/var/lib/accelwatch"), PostgreSQL(hosts=("db",))
    in_database = location_of(JournalSettings(postgresql=database), folder)
    assert in_database == DatabaseLocation(settings=database, folder=folder)
    assert location_of(JournalSettings(), folder) == folder
    assert location_of(JournalSettings(), None) is None
