"""`release --force` while the journal can take nothing: our own mark goes, nobody else's; the log has
who did it.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from accelwatch.alerting.incidents.journal.errors import JournalError
from accelwatch.alerting.incidents.journal.journal import Journal
from accelwatch.alerting.incidents.journal.sqlite.file import FILE
from accelwatch.fleet.api.incidents.remedy_pages import RemedyPages
from accelwatch.fleet.remedies.runner import RemedyRunner
from accelwatch.web.pages.page import Change
from accelwatch.web.pages.routes import RouteTable
from accelwatch.web.protection.roles import Role
from fleet.remedies.hub_site import HubSite, until
from remediation.fake_scheduler import FakeScheduler

JSON = {"Content-Type": "application/json"}
Play = Callable[[RemedyRunner], Awaitable[None]]


async def commanded(
    site: HubSite, runner: RemedyRunner, verb: str = "force_release"
) -> tuple[int, Any]:
    """What a person is answered by the hub."""
    pages = RouteTable(RemedyPages(lambda: runner, site.clock, lambda: {"a": 0}).routes())
    change = Change(
        method="POST",
        path=f"/v1/remedies/a/{verb}",
        query={},
        headers=JSON,
        body=msgspec.json.encode({"reason": "needed now"}),
        user="kim",
        role=Role.ADMIN,
        address="10.0.0.7",
    )
    page = await pages.act(change, True)
    is_json = page.headers.get("Content-Type", "").startswith("application/json")
    return page.code, msgspec.json.decode(page.body) if is_json else page.body.decode()


def held(site: HubSite) -> None:
    """A hub takes the node out, and ends."""

    async def scenario() -> None:
        async with site.running() as (_, remedies):
            site.watts = 100.0
            await until(lambda: site.quarantined("n1"))
            await until(lambda: any(one.hold for one in remedies.engine.state.remedies.values()))

    asyncio.run(scenario())


def broken(site: HubSite) -> None:
    (site.folder / FILE).write_bytes(b"not a database, " * 4096)


def again(site: HubSite, play: Play) -> None:
    """A hub that starts now, and has met the node's agent."""

    async def scenario() -> None:
        async with site.running() as (_, remedies):
            await until(lambda: any(node.devices for node in site.fleet.nodes.values()))
            await play(remedies)

    asyncio.run(scenario())


@pytest.fixture
def site(tmp_path: Path, fake_plugin: list[FakeScheduler]) -> HubSite:
    made = HubSite(tmp_path)
    fake_plugin.append(made.world)
    return made


def test_a_node_of_ours_is_given_back_and_the_log_has_who_did_it(
    site: HubSite, caplog: pytest.LogCaptureFixture
) -> None:
    held(site)
    broken(site)

    async def play(remedies: RemedyRunner) -> None:
        code, answer = await commanded(site, remedies, "release")
        assert code == 503
        assert "--force" in answer
        assert site.quarantined("n1")
        with caplog.at_level(logging.WARNING):
            code, answer = await commanded(site, remedies)
        assert code == 200
        (note,) = answer["notes"]
        assert "it is not in the journal" in note["text"]
        assert not site.quarantined("n1")

    again(site, play)
    (line,) = (one.getMessage() for one in caplog.records if "audit" in one.getMessage())
    for word in ("force_release", "node=a", "by=kim", "10.0.0.7", "needed now"):
        assert word in line
    assert [one.operation for one in site.world.effects if one.kind == "undrain"] == ["by-hand"]


def test_what_an_administrator_holds_stays_and_that_is_reported(
    site: HubSite, caplog: pytest.LogCaptureFixture
) -> None:
    held(site)
    broken(site)
    site.world.admin_drains("n1", "swap the riser")

    async def play(remedies: RemedyRunner) -> None:
        code, answer = await commanded(site, remedies)
        assert code == 503
        assert "n1 is foreign (swap the riser), not held by us" in answer

    again(site, play)
    assert site.world.nodes["n1"].reason == "swap the riser"
    assert "undrain" not in {one.kind for one in site.world.effects}
    assert any("not done" in one.getMessage() for one in caplog.records)


def test_a_node_of_which_nothing_proves_which_it_is_stays(site: HubSite) -> None:
    held(site)
    broken(site)
    site.settings = msgspec.structs.replace(site.settings, nodes={})
    site.world.nodes["n1"].boot_id = "another"

    async def play(remedies: RemedyRunner) -> None:
        code, answer = await commanded(site, remedies)
        assert code == 503
        assert "it is not proven which machine a is" in answer

    again(site, play)
    assert site.quarantined("n1")


def test_a_scheduler_that_does_not_answer_is_reported(site: HubSite) -> None:
    held(site)
    broken(site)
    site.world.unavailable = "connection refused"

    async def play(remedies: RemedyRunner) -> None:
        code, answer = await commanded(site, remedies)
        assert code == 503
        assert "does not answer: connection refused" in answer

    again(site, play)


def test_a_node_that_takes_work_needs_nothing(site: HubSite) -> None:
    broken(site)

    async def play(remedies: RemedyRunner) -> None:
        code, answer = await commanded(site, remedies)
        assert code == 200
        assert "n1 takes work already" in answer["notes"][0]["text"]

    again(site, play)
    assert site.world.effects == []


def test_a_journal_that_fails_at_that_very_time_keeps_nobody_from_it(
    site: HubSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        async with site.running() as (_, remedies):
            site.watts = 100.0
            await until(lambda: any(one.hold for one in remedies.engine.state.remedies.values()))

            def refuses(*_: object) -> None:
                raise JournalError("the journal cannot be written: database or disk is full")

            monkeypatch.setattr(Journal, "write", refuses)
            code, answer = await commanded(site, remedies)
            assert code == 200
            assert "database or disk is full" in answer["notes"][0]["text"]
            assert not site.quarantined("n1")

    asyncio.run(scenario())


def test_with_a_journal_it_is_written_there_as_ever(
    site: HubSite, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        async with site.running() as (_, remedies):
            site.watts = 100.0
            await until(lambda: any(one.hold for one in remedies.engine.state.remedies.values()))
            code, _ = await commanded(site, remedies)
            assert code == 200
            await until(lambda: not site.quarantined("n1"))

    asyncio.run(scenario())
    assert "by-hand" not in {one.operation for one in site.world.effects}
    assert not any("audit" in one.getMessage() for one in caplog.records)
