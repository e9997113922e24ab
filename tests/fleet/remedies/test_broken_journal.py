"""A hub that acts, and whose journal is lost in one of five ways: people are notified once by every
sink, each new incident says that nothing is done about it, and nothing is.
"""

import asyncio
import contextlib
import sqlite3
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from accelwatch.alerting.evaluation.runner import RuleRunner
from accelwatch.alerting.evaluation.self_check import checks, own_problems
from accelwatch.alerting.incidents.journal.errors import JournalError
from accelwatch.alerting.incidents.journal.journal import Journal
from accelwatch.alerting.incidents.journal.records import Batch
from accelwatch.alerting.incidents.journal.sqlite import checking
from accelwatch.alerting.incidents.journal.sqlite import folder as journal_folder
from accelwatch.alerting.incidents.journal.sqlite.file import FILE
from accelwatch.alerting.incidents.journal.sqlite.schema import VERSION
from accelwatch.config.alerts import Alerts, QuietHours, Route, SinkSettings
from accelwatch.fleet.incident_page import approval_requests
from accelwatch.fleet.remedies.runner import RemedyRunner
from fleet.remedies.hub_site import HubSite, until
from remediation.fake_scheduler import FakeScheduler
from support.servers.receivers import Receiver, receiver

Break = Callable[[Path, pytest.MonkeyPatch], None]


def broken(folder: Path, _: pytest.MonkeyPatch) -> None:
    for file in folder.glob(f"{FILE}*"):
        file.write_bytes(b"not a database, " * 4096)
    (folder / FILE).write_bytes(b"not a database, " * 4096)


def full(_: Path, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(checking, "room", lambda _: 0)


def gone(folder: Path, _: pytest.MonkeyPatch) -> None:
    (folder / journal_folder.MARKER_FILE).touch()
    for file in folder.glob(f"{FILE}*"):
        file.unlink()


def newer(folder: Path, _: pytest.MonkeyPatch) -> None:
    with sqlite3.connect(folder / FILE) as database:
        database.execute(f"PRAGMA user_version={VERSION + 1}")
    database.close()


def read_only(_: Path, patch: pytest.MonkeyPatch) -> None:
    """As a disk that was mounted anew does it: what is open can be read, and refuses what is written."""
    write = Journal.write

    def refuses(file: Journal, batches: list[Batch]) -> None:
        if any(batch.records or batch.fingerprints or batch.outbox for batch in batches):
            raise JournalError(
                "the journal cannot be written: attempt to write a readonly database"
            )
        write(file, batches)

    patch.setattr(Journal, "write", refuses)


def unlockable(_: Path, patch: pytest.MonkeyPatch) -> None:
    """As a folder that may not be written makes it at the start."""

    def refuses(_: Path) -> int:
        raise PermissionError(13, "Permission denied")

    patch.setattr(journal_folder, "lock_file", refuses)


BEFORE: dict[str, tuple[Break, str]] = {
    "broken": (broken, "it is left as it is"),
    "gone": (gone, "is gone"),
    "newer": (newer, f"written by another version ({VERSION + 1})"),
    "read-only": (unlockable, "nothing can be kept here: Permission denied"),
    "full": (full, "is full"),
}
IN_USE: dict[str, tuple[Break, str]] = {
    "broken": (broken, "not a database"),
    "gone": (gone, "is gone"),
    "newer": (newer, "start the newer version"),
    "read-only": (read_only, "attempt to write a readonly database"),
    "full": (full, "is full; free space there"),
}


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks and waits are shorter than half a minute."""
    monkeypatch.setattr(checks, "CHECK_EVERY_S", 0.2)
    monkeypatch.setattr(own_problems, "NOTIFIED_AFTER_S", 0.5)


@pytest.fixture
def undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages wait for a decision as briefly as can be: without a journal there is none."""
    monkeypatch.setattr(approval_requests, "_SOON_S", 0.0)


class Notified:
    """What two sinks got: one is notified of incidents, one by its routes of nothing."""

    def __init__(self, chat: Receiver, nobody: Receiver) -> None:
        self.chat = chat
        self.nobody = nobody

    def alerts(self) -> Alerts:
        sinks = tuple(
            SinkSettings(name=name, type="webhook", options={"url": f"{there.base}/x"})
            for name, there in (("chat", self.chat), ("nobody", self.nobody))
        )
        never = QuietHours(start="00:00", end="23:59", below="critical")
        routes = (
            Route(sinks=("chat",)),
            Route(sinks=("nobody",), match=("node=other",), quiet=never),
        )
        return Alerts(sinks=sinks, routes=routes, storm_wait_s=0.0)

    @staticmethod
    def _of(there: Receiver, *, own: bool) -> list[dict[str, Any]]:
        sent = [request.json() for request in there.requests]
        rules = [(request, request["data"]["rule"]) for request in sent]
        if own:
            # A busy machine may evaluate rules late, of which people are notified as well.
            return [request for request, rule in rules if rule == "accelwatch.own.journal"]
        return [request for request, rule in rules if not rule.startswith("accelwatch.own")]

    def about_us(self) -> list[list[dict[str, Any]]]:
        return [self._of(there, own=True) for there in (self.chat, self.nobody)]

    def incidents(self) -> list[dict[str, Any]]:
        assert self._of(self.nobody, own=False) == []
        return self._of(self.chat, own=False)


@contextlib.asynccontextmanager
async def running(site: HubSite) -> AsyncIterator[tuple[RuleRunner, RemedyRunner, Notified]]:
    async with receiver() as chat, receiver() as nobody:
        notified = Notified(chat, nobody)
        site.alerts = notified.alerts()
        async with site.running() as (rules, remedies):
            yield rules, remedies, notified


async def _nothing_is_done_and_that_is_notified(
    site: HubSite, notified: Notified, text: str
) -> None:
    await until(lambda: all(notified.about_us()))
    site.watts = 100.0
    await until(lambda: bool(notified.incidents()))
    await asyncio.sleep(1.5)
    for (notice,) in notified.about_us():
        assert notice["type"] == "incident.opened"
        assert notice["data"]["title"] == "nothing is done about incidents"
        assert text in notice["data"]["evidence"][0]
        assert "accelwatch remedy release NODE --force" in notice["data"]["what_to_do"]
    (incident,) = notified.incidents()
    assert text in incident["data"]["not_done"]
    assert site.world.effects == []


@pytest.mark.usefixtures("undecided")
@pytest.mark.parametrize("how", BEFORE)
def test_a_hub_that_starts_without_its_journal(
    tmp_path: Path,
    fake_plugin: list[FakeScheduler],
    monkeypatch: pytest.MonkeyPatch,
    how: str,
) -> None:
    breaks, text = BEFORE[how]
    site = HubSite(tmp_path)
    fake_plugin.append(site.world)
    breaks(tmp_path, monkeypatch)

    async def scenario() -> None:
        async with running(site) as (_, _, notified):
            await _nothing_is_done_and_that_is_notified(site, notified, text)

    asyncio.run(scenario())


@pytest.mark.usefixtures("undecided")
@pytest.mark.parametrize("how", IN_USE)
def test_a_hub_that_loses_its_journal_while_nothing_happens(
    tmp_path: Path,
    fake_plugin: list[FakeScheduler],
    monkeypatch: pytest.MonkeyPatch,
    how: str,
) -> None:
    breaks, text = IN_USE[how]
    site = HubSite(tmp_path)
    fake_plugin.append(site.world)

    async def scenario() -> None:
        async with running(site) as (rules, _, notified):
            await until(lambda: rules.evaluated_age_s is not None)
            breaks(tmp_path, monkeypatch)
            if how == "read-only":  # found by the next that is written
                await rules.incident_store.remember(
                    {"f": site.clock.wall() + 60.0}, site.clock.wall()
                )
            await _nothing_is_done_and_that_is_notified(site, notified, text)

    asyncio.run(scenario())


def test_what_has_room_again_acts_again_and_that_is_notified(
    tmp_path: Path, fake_plugin: list[FakeScheduler], monkeypatch: pytest.MonkeyPatch
) -> None:
    site = HubSite(tmp_path)
    fake_plugin.append(site.world)

    async def scenario() -> None:
        async with running(site) as (_, _, notified):
            with monkeypatch.context() as patch:
                patch.setattr(own_problems, "NOTIFIED_AFTER_S", 0.5)
                full(tmp_path, patch)
                await until(lambda: all(notified.about_us()))
            await until(lambda: all(len(sent) == 2 for sent in notified.about_us()))
            assert [one["type"] for one in notified.about_us()[1]] == [
                "incident.opened",
                "incident.closed",
            ]
            site.watts = 100.0
            # The node is drained and people are notified by two tasks, in either order.
            await until(lambda: bool(site.quarantined("n1") and notified.incidents()))
            assert not notified.incidents()[0]["data"].get("not_done")

    asyncio.run(scenario())
