"""A hub that leads and is cut off from the database: whether it goes on depends on the others."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from accelwatch.alerting.incidents.journal.lease import NEVER, Lease
from accelwatch.alerting.incidents.journal.shared import HubEntry
from accelwatch.base.clock import SystemClock
from accelwatch.config.journal import JournalSettings, PostgreSQL
from accelwatch.config.model import RuleSettings, Web
from accelwatch.fleet.hub.foreign import foreign_reader
from accelwatch.fleet.hub.hub import Hub
from accelwatch.fleet.hub.leadership.cut_off import CutOffCheck, ask, leader_among
from accelwatch.fleet.hub.model import DetectorSettings, HubSettings
from accelwatch.fleet.hub.server import HubServer
from accelwatch.fleet.scrape_settings import Scrape, TlsConfig
from accelwatch.web.protection.web_config import Protection, load_protection
from support.incidents.kept_journals import InPostgreSQL
from support.postgresql.server import running_or_skip
from support.postgresql.slow_link import Link, link_to
from support.servers.certificate_authority import Authority
from support.servers.ports import free_port

_OPEN, _SYSTEM = Protection(), TlsConfig()


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
async def a_hub(
    postgresql: PostgreSQL,
    folder: Path,
    protection: Protection = _OPEN,
    tls: TlsConfig = _SYSTEM,
) -> AsyncIterator[Hub]:
    """A hub behind a protection; `tls` is that of its scrape section."""
    folder.mkdir()
    settings = HubSettings(
        scrape=Scrape(tls_config=tls),
        rules=RuleSettings(packs=("storage",)),
        detector=DetectorSettings(enabled=False),
        journal=JournalSettings(postgresql=postgresql),
        state_dir=str(folder),
        web=Web(listen_address=(f"127.0.0.1:{free_port()}",)),
    )
    hub = Hub(settings, SystemClock(), foreign_reader, folder)
    server = HubServer(hub, SystemClock(), protection, web=settings.web, interval_s=1.0)
    await server.start()
    try:
        yield hub
    finally:
        await server.stop()


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


def behind_tls(authority: Authority, *, client_certificates: bool) -> Protection:
    """A hub that asks for a password, over TLS."""
    certificate, key = authority.issue("hub")
    served = {"cert_file": str(certificate), "key_file": str(key)}
    if client_certificates:
        served |= {"client_auth_type": "RequireAndVerifyClientCert"}
        served |= {"client_ca_file": str(authority.file)}
    users = {"ana": "$2y$10$" + "." * 53}
    web = authority.folder / "web.json"
    web.write_text(json.dumps({"tls_server_config": served, "basic_auth_users": users}))
    return load_protection(web)


async def until(true: Callable[[], object]) -> None:
    async with asyncio.timeout(60):
        while not true():
            await asyncio.sleep(0.05)


def by(link: Link, database: InPostgreSQL) -> PostgreSQL:
    hosts = (f"127.0.0.1:{link.port}",)
    return msgspec.structs.replace(database.settings, hosts=hosts, tls=False)


@pytest.mark.parametrize("is_behind_tls", [False, True])
def test_a_hub_that_is_cut_off_stops_when_another_leads(
    database: InPostgreSQL, link: Link, tmp_path: Path, authority: Authority, is_behind_tls: bool
) -> None:
    door, tls = _OPEN, _SYSTEM
    if is_behind_tls:
        door = behind_tls(authority, client_certificates=False)
        # Hubs have names of their own, whatever name the certificates of agents have.
        tls = TlsConfig(ca_file=str(authority.file), server_name="agents.example.org")

    async def main() -> None:
        async with (
            a_hub(by(link, database), tmp_path / "a", door, tls) as first,
            a_hub(database.settings, tmp_path / "b", door, tls) as second,
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
    for tls in (None, TlsConfig()):
        assert leader_among(asyncio.run(ask([entry], tls))) == ""


def answer_of(protection: Protection, folder: Path, tls: TlsConfig | None) -> str:
    """What a hub that leads is understood to say."""

    async def main() -> str:
        async with a_hub(PostgreSQL(), folder, protection) as hub:
            entry = msgspec.structs.replace(hub.status.own_entry(), name="b")
            return leader_among(await ask([entry], tls))

    return asyncio.run(main())


def test_a_hub_behind_tls_is_believed_by_its_certificate_alone(
    tmp_path: Path, authority: Authority
) -> None:
    door = behind_tls(authority, client_certificates=False)
    (tmp_path / "other").mkdir()
    stranger = Authority(tmp_path / "other")
    trusting = TlsConfig(ca_file=str(authority.file))
    assert answer_of(door, tmp_path / "1", trusting) == "b"
    assert answer_of(door, tmp_path / "2", TlsConfig(ca_file=str(stranger.file))) == ""
    assert answer_of(door, tmp_path / "3", TlsConfig(ca_file=str(tmp_path / "none"))) == ""
    assert answer_of(door, tmp_path / "4", None) == ""
    assert answer_of(_OPEN, tmp_path / "5", trusting) == ""


def test_a_hub_that_requests_a_client_certificate_is_shown_the_one_for_targets(
    tmp_path: Path, authority: Authority
) -> None:
    door = behind_tls(authority, client_certificates=True)
    certificate, key = map(str, authority.issue("client"))
    trusting = TlsConfig(ca_file=str(authority.file))
    shown = msgspec.structs.replace(trusting, cert_file=certificate, key_file=key)
    assert answer_of(door, tmp_path / "1", shown) == "b"
    assert answer_of(door, tmp_path / "2", trusting) == ""


def test_a_hub_that_cannot_be_queried_is_logged_once_with_why(
    tmp_path: Path, authority: Authority, caplog: pytest.LogCaptureFixture
) -> None:
    """People are notified by both until somebody mends it."""
    entry = HubEntry(id="b", name="b", address="127.0.0.1:1", version="9", rules_digest="", rules=0)
    lease = Lease(valid_until=NEVER)

    async def main() -> None:
        check = CutOffCheck(lambda: lease, lambda: [entry], lambda: None)
        for _ in range(3):
            await check.check()

    asyncio.run(main())
    (record,) = caplog.records
    assert "the hub b at 127.0.0.1:1 cannot be asked whether it leads: " in record.getMessage()
    assert not lease.lost
