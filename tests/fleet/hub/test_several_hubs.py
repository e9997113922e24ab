"""Several hubs with one journal in PostgreSQL: one evaluates rules, the others serve and wait."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from accelwatch.alerting.incidents.model.silence import Silence, matchers
from accelwatch.base.clock import SystemClock
from accelwatch.base.errors import ConfigError
from accelwatch.config.alerts import Alerts, SinkSettings
from accelwatch.config.journal import JournalSettings, mistakes
from accelwatch.config.journal import PostgreSQL as Database
from accelwatch.config.model import RuleSettings
from accelwatch.fleet.hub.hub import Hub
from accelwatch.fleet.hub.model import HubSettings
from accelwatch.fleet.rules import evaluator
from accelwatch.fleet.rules.evaluator import FleetEvaluator
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.remediation.settings import ActionSettings, LinkSettings, RemedySettings
from support.fleet.hub_peers import served_hub
from support.incidents.kept_journals import InPostgreSQL
from support.postgresql.server import running_or_skip

pytestmark = pytest.mark.usefixtures("patient_database")
RULES = RuleSettings(packs=("nvidia",))


@pytest.fixture(scope="module")
def database() -> Iterator[InPostgreSQL]:
    with running_or_skip() as server:
        yield InPostgreSQL(server)


@contextlib.asynccontextmanager
async def a_hub(database: InPostgreSQL, folder: Path) -> AsyncIterator[Hub]:
    folder.mkdir(exist_ok=True)
    settings = HubSettings(
        rules=RULES, journal=JournalSettings(postgresql=database.settings), state_dir=str(folder)
    )
    async with served_hub(
        settings, interval_s=1.0, state_dir=folder, clock=SystemClock()
    ) as running_hub:
        yield running_hub.hub


async def until(true: Callable[[], object]) -> None:
    async with asyncio.timeout(60):
        while not true():
            await asyncio.sleep(0.05)


def test_one_evaluates_and_the_next_goes_on_from_its_journal(
    database: InPostgreSQL, tmp_path: Path
) -> None:
    async def play() -> None:
        async with a_hub(database, tmp_path / "a") as first, contextlib.AsyncExitStack() as stack:
            assert first.rules is not None
            second = await stack.enter_async_context(a_hub(database, tmp_path / "b"))
            assert second.rules is None
            assert "another hub writes there: the one on" in second.lease.waiting
            await until(lambda: second.status.follows)
            assert second.fleet.lacking() == ()
            store = first.rules.incident_store
            now = first.fleet.clock.wall()
            silence = Silence(
                id=store.next_id("s"),
                matchers=matchers("node=n1"),
                starts=now,
                ends=now + 3600,
                by="anna",
                reason="swap",
            )
            assert await store.mutes.mute(silence) == ""
            await first.stop()
            await until(lambda: second.rules is not None)
            assert second.rules is not None
            assert second.rules.incident_store.muting.silences == [silence]
            assert not second.lease.waiting

    asyncio.run(play())


def test_a_hub_that_loses_the_lease_stops_and_starts_again_from_the_journal(
    database: InPostgreSQL, tmp_path: Path
) -> None:
    async def play() -> None:
        async with a_hub(database, tmp_path / "a") as hub:
            before = hub.rules
            assert before is not None
            await asyncio.to_thread(
                database.change, "UPDATE writer SET token = token + 1, holder = 'another'"
            )
            await until(lambda: hub.rules is not before)
            await until(lambda: hub.rules is not None)
            assert not hub.lease.waiting

    asyncio.run(play())


def settings_of(database: InPostgreSQL, *, key_file: Path, url_file: Path) -> HubSettings:
    """Of a hub that sends to a receiver, and acts."""
    sink = SinkSettings(name="phone", type="slack", options={"url_file": str(url_file)})
    remedy = RemedySettings(
        actions=(ActionSettings(name="slurm", type="slurm"),),
        links=LinkSettings(sinks=("phone",), key_file=str(key_file)),
    )
    journal = JournalSettings(postgresql=database.settings)
    return HubSettings(rules=RULES, alerts=Alerts(sinks=(sink,)), journal=journal, remedy=remedy)


@pytest.mark.parametrize("missing", ["url_file", "key_file"])
def test_a_hub_that_cannot_start_to_lead_leaves_the_lease_and_tries_again_whole(
    database: InPostgreSQL, tmp_path: Path, missing: str
) -> None:
    files = {"url_file": tmp_path / "url", "key_file": tmp_path / "key"}
    settings = settings_of(database, **files)

    def write(name: str) -> None:
        files[name].touch(mode=0o600)
        files[name].write_text(
            "https://hooks.slack.com/services/T/B/0123456789abcdef0123456789abcdef"
        )

    async def play() -> None:
        for name in files.keys() - {missing}:
            write(name)
        hub = Hub(settings, SystemClock(), None, tmp_path)
        with pytest.raises(ConfigError, match=str(files[missing])):
            await hub.lease.try_start()
        assert hub.rules is None
        async with a_hub(database, tmp_path / "b") as another:
            assert another.rules is not None
        write(missing)
        await hub.lease.try_start()
        assert hub.rules is not None
        assert hub.remedies is not None
        await hub.stop()

    asyncio.run(play())


def test_without_the_database_nothing_is_evaluated_and_that_is_reported(tmp_path: Path) -> None:
    settings = HubSettings(
        rules=RULES,
        journal=JournalSettings(postgresql=Database(hosts=("127.0.0.1:9",), tls=False)),
    )

    async def play() -> None:
        async with served_hub(settings, interval_s=1.0, state_dir=tmp_path) as running_hub:
            assert running_hub.hub.rules is None
            assert "PostgreSQL accelwatch on 127.0.0.1:9" in running_hub.hub.lease.waiting

    asyncio.run(play())


def hub_without_database(folder: Path, rules: RuleSettings) -> Hub:
    journal = JournalSettings(postgresql=Database(hosts=("127.0.0.1:9",), tls=False))
    return Hub(HubSettings(rules=rules, journal=journal), SystemClock(), None, folder)


def test_a_hub_that_waits_builds_its_rules_once_and_then_only_polls(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    built: list[Fleet] = []

    class Counted(FleetEvaluator):
        def __init__(self, fleet: Fleet, *detector: Any) -> None:
            built.append(fleet)
            super().__init__(fleet, *detector)

    monkeypatch.setattr(evaluator, "FleetEvaluator", Counted)

    async def play() -> None:
        hub = hub_without_database(tmp_path, RULES)
        await hub.lease.try_start()
        assert len(built) == 1
        for _ in range(3):
            await hub.lease.check()
        assert "PostgreSQL accelwatch on 127.0.0.1:9" in hub.lease.waiting
        assert len(built) == 1
        await hub.stop()

    asyncio.run(play())


def test_a_hub_that_will_wait_refuses_rules_that_it_could_not_evaluate(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text("version: 1\nrules: [{id: odd}]\n")

    async def play() -> None:
        hub = hub_without_database(tmp_path, RuleSettings(files=(str(file),)))
        with pytest.raises(ConfigError, match=str(file)):
            await hub.lease.try_start()

    asyncio.run(play())


@pytest.mark.parametrize(
    ("settings", "key", "text"),
    [
        (Database(user="me"), "postgresql.hosts", "name the host"),
        (Database(hosts=("db:0",)), "postgresql.hosts", "'db:0' is not a host"),
        (Database(hosts=("db:many",)), "postgresql.hosts", "'db:many' is not a host"),
        (Database(hosts=(":5432",)), "postgresql.hosts", "':5432' is not a host"),
        (Database(hosts=("db",), database=""), "postgresql.database", "is empty"),
        (Database(hosts=("db",), user=""), "postgresql.user", "is empty"),
    ],
)
def test_settings_that_do_not_fit_are_reported(settings: Database, key: str, text: str) -> None:
    ((found, message),) = mistakes(JournalSettings(postgresql=settings))
    assert found == key
    assert text in message


@pytest.mark.parametrize("host", ["db", "db:5433", "2001:db8::7", "[2001:db8::7]:5433", "/run/pg"])
def test_hosts_that_fit(host: str) -> None:
    assert list(mistakes(JournalSettings(postgresql=Database(hosts=(host,))))) == []
