"""A hub that leads and is cut off from the database: whether it goes on depends on the others."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from accelwatch.alerting.incidents.journal.shared import HubEntry
from accelwatch.base.clock import SystemClock
from accelwatch.config.journal import JournalSettings, PostgreSQL
from accelwatch.config.model import RuleSettings, Web
from accelwatch.fleet.hub.foreign import foreign_reader
from accelwatch.fleet.hub.hub import Hub
from accelwatch.fleet.hub.leadership.cut_off import other_leader
from accelwatch.fleet.hub.model import DetectorSettings, HubSettings
from accelwatch.fleet.hub.server import HubServer
from accelwatch.web.protection.web_config import Protection
from support.incidents.kept_journals import InPostgreSQL
from support.postgresql.server import running_or_skip
from support.postgresql.slow_link import Link, link_to
from support.servers.prometheus_servers import free_port


@pytest.fixture
def database() -> Iterator[InPostgreSQL]:
    with running_or_skip() as server:
        yield InPostgreSQL(server)


@pytest.fixture
def link(database: InPostgreSQL) -> Iterator[Link]:
    """The way of the first hub to the database."""
    server = database.server
    with link_to(server.folder / f".s.PGSQL.{server.port}") as link:
        yield link


@contextlib.asynccontextmanager
async def a_hub(postgresql: PostgreSQL, folder: Path) -> AsyncIterator[Hub]:
    folder.mkdir()
    settings = HubSettings(
        rules=RuleSettings(packs=("storage",)),
        detector=DetectorSettings(enabled=False),
        journal=JournalSettings(postgresql=postgresql),
        state_dir=str(folder),
        web=Web(listen_address=(f"127.0.0.1:{free_port()}",)),
    )
    hub = Hub(settings, SystemClock(), foreign_reader, folder)
    server = HubServer(hub, SystemClock(), Protection(), web=settings.web, interval_s=1.0)
    await server.start()
    try:
        yield hub
    finally:
        await server.stop()


async def until(true: Callable[[], object]) -> None:
    async with asyncio.timeout(60):
        while not true():
            await asyncio.sleep(0.05)


def by(link: Link, database: InPostgreSQL) -> PostgreSQL:
    hosts = (f"127.0.0.1:{link.port}",)
    return msgspec.structs.replace(database.settings, hosts=hosts, tls=False)


def test_a_hub_that_is_cut_off_stops_when_another_leads(
    database: InPostgreSQL, link: Link, tmp_path: Path
) -> None:
    async def main() -> None:
        async with (
            a_hub(by(link, database), tmp_path / "a") as first,
            a_hub(database.settings, tmp_path / "b") as second,
        ):
            assert first.rules is not None
            await until(
                lambda: first.status.watch.shared and len(first.status.watch.shared.hubs) == 2
            )
            link.hang()
            await until(lambda: second.rules is not None)
            await until(lambda: first.rules is None)
            assert "no rules are evaluated here" in " ".join(first.fleet.lacking())
            # It has read nothing of what the other has written: no list is better than an empty one.
            assert first.incidents is None
            link.go_on()
            await until(lambda: first.status.follows and first.incidents)
            assert second.rules is not None

    asyncio.run(main())


def test_a_hub_goes_on_notifying_while_no_other_leads(
    database: InPostgreSQL, link: Link, tmp_path: Path
) -> None:
    """The database is away for all hubs: somebody has to evaluate and notify."""

    async def main() -> None:
        settings = by(link, database)
        async with (
            a_hub(settings, tmp_path / "a") as first,
            a_hub(settings, tmp_path / "b") as second,
        ):
            await until(
                lambda: first.status.watch.shared and len(first.status.watch.shared.hubs) == 2
            )
            # On a busy machine the lease may have changed hands by now.
            await until(lambda: first.rules or second.rules)
            leader, other = (first, second) if first.rules else (second, first)
            link.hang()
            rules = leader.rules
            await until(
                lambda: leader.status.leader_status == "leads, and has not renewed its lease"
            )
            for _ in range(3):
                await leader.status.cut_off.check()
            assert leader.rules is rules is not None
            assert not rules.incident_store.lost
            assert other.rules is None
            link.go_on()

    asyncio.run(main())


@pytest.mark.parametrize(
    "address", ["host:99999", "host:x", "[::1:1", "::::", "a b", "127.0.0.1:1"]
)
def test_a_hub_with_an_address_that_is_none_says_nothing(address: str) -> None:
    entry = HubEntry(id="b", name="b", address=address, version="9", rules_digest="", rules=0)
    assert asyncio.run(other_leader([entry])) == ""
