"""Several hubs with one journal: each says which leads, and how far behind its own copy is."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from accelwatch.base.clock import SystemClock
from accelwatch.config.journal import JournalSettings
from accelwatch.config.model import RuleSettings, Web
from accelwatch.fleet.documents.hubs import HubsPage
from accelwatch.fleet.hub.leadership.journal_watch import JournalWatch
from accelwatch.fleet.hub.model import DetectorSettings, HubSettings
from support.fleet.hub_peers import Running, served_hub
from support.incidents.kept_journals import InPostgreSQL
from support.postgresql.server import Server, running_or_skip

pytestmark = pytest.mark.usefixtures("patient_database")
RULES = RuleSettings(packs=("storage",))


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running_or_skip() as server:
        yield server


@pytest.fixture
def database(server: Server) -> InPostgreSQL:
    return InPostgreSQL(server)


@contextlib.asynccontextmanager
async def a_hub(
    database: InPostgreSQL, folder: Path, rules: RuleSettings = RULES
) -> AsyncIterator[Running]:
    folder.mkdir(exist_ok=True)
    settings = HubSettings(
        rules=rules,
        detector=DetectorSettings(enabled=False),
        journal=JournalSettings(postgresql=database.settings),
        state_dir=str(folder),
        web=Web(listen_address=(f"127.0.0.1:{9400 + len(folder.name)}",)),
    )
    async with served_hub(
        settings, interval_s=1.0, state_dir=folder, clock=SystemClock()
    ) as running_hub:
        yield running_hub


async def page_of(one: Running) -> HubsPage:
    return msgspec.convert(await one.get("/v1/hubs"), HubsPage)


async def polled(*hubs: Running) -> None:
    """All have said that they are there, and have seen each other."""
    for _ in range(2):
        for one in hubs:
            await one.hub.status.check_rules()
            await one.hub.status.watch.poll()


def test_each_hub_says_which_leads_and_which_others_there_are(
    database: InPostgreSQL, tmp_path: Path
) -> None:
    async def play() -> None:
        async with (
            a_hub(database, tmp_path / "a") as first,
            a_hub(database, tmp_path / "bb") as second,
        ):
            await polled(first, second)
            ours, theirs = await page_of(first), await page_of(second)
            assert (ours.leads, theirs.leads) == (True, False)
            assert (ours.waiting, ours.problems, theirs.problems) == ("", (), ())
            assert "another hub writes there" in theirs.waiting
            assert ours.token == theirs.token == (1 << 32) + 1
            assert theirs.timeline == 1
            assert ours.leader == theirs.leader == "127.0.0.1:9401"  # both are on one host
            assert ours.since == theirs.since is not None
            assert theirs.database_reachable
            assert theirs.late_s is not None
            assert theirs.auto_allowed
            by_address = {hub.address: hub for hub in theirs.hubs}
            assert [by_address[f"127.0.0.1:940{n}"].leads for n in (1, 2)] == [True, False]
            assert [by_address[f"127.0.0.1:940{n}"].is_this for n in (1, 2)] == [False, True]
            assert all(hub.has_rules_of_leader and hub.rules for hub in theirs.hubs)
            note = second.hub.fleet.leader_note()
            assert note is not None
            assert (note.name, note.is_this) == ("127.0.0.1:9401", False)
            assert second.hub.fleet.lacking() == ()
            assert "127.0.0.1:9401 has led since" in await second.get("/")
            assert "This hub has led since" in await first.get("/")

    asyncio.run(play())


@pytest.mark.parametrize("leads", [True, False])
def test_metrics_say_who_leads_and_how_old_lease_and_copy_are(
    database: InPostgreSQL, tmp_path: Path, *, leads: bool
) -> None:
    async def play() -> None:
        async with (
            a_hub(database, tmp_path / "a") as first,
            a_hub(database, tmp_path / "bb") as second,
        ):
            one = first if leads else second
            await polled(first, second)
            text = await one.get("/metrics")
            assert f"accel_fleet_hub_leads {int(leads)}\n" in text
            assert "accel_fleet_journal_read_age_seconds " in text
            assert ("\naccel_fleet_lease_age_seconds " in text) == leads

    asyncio.run(play())


def test_a_hub_with_other_rule_files_is_a_problem_on_both(
    database: InPostgreSQL, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    other = RuleSettings(packs=("storage", "nvidia"))

    async def play() -> None:
        async with (
            a_hub(database, tmp_path / "a") as first,
            a_hub(database, tmp_path / "bb", other) as second,
        ):
            await polled(first, second)
            count = first.hub.rules and len(first.hub.rules.rules.rules)
            problem = (
                "127.0.0.1:9402 has other rule files than 127.0.0.1:9401, which leads:"
                f" the {count} rules of 127.0.0.1:9401 count"
            )
            for one in (first, second):
                assert (await page_of(one)).problems == (problem,)
                assert problem in one.hub.fleet.lacking()
            await polled(first, second)
            assert [record.getMessage() for record in caplog.records].count(problem) == 2
            by_address = {hub.address: hub for hub in (await page_of(first)).hubs}
            assert by_address["127.0.0.1:9402"].has_rules_of_leader is False

    asyncio.run(play())


def test_a_database_that_goes_away_is_reported_and_the_copy_grows_old(
    database: InPostgreSQL, tmp_path: Path
) -> None:
    async def play() -> None:
        async with (
            a_hub(database, tmp_path / "a") as first,
            a_hub(database, tmp_path / "bb") as second,
        ):
            await polled(first, second)
            await first.hub.leader.stop()
            kick = f"ALTER DATABASE {database.database} ALLOW_CONNECTIONS false"
            await asyncio.to_thread(database.server.sql, kick)
            await asyncio.to_thread(disconnect, database)
            await second.hub.status.watch.poll()
            page = await page_of(second)
            assert page.database_reachable is False
            assert page.auto_allowed is None
            assert any("the journal cannot be read" in text for text in page.problems)

    asyncio.run(play())


def read_only(database: InPostgreSQL) -> None:
    database.server.sql(
        f"ALTER DATABASE {database.database} SET default_transaction_read_only = on"
    )
    disconnect(database)


def full(database: InPostgreSQL) -> None:
    database.change(
        "CREATE FUNCTION full_disk() RETURNS trigger AS $$ BEGIN"
        " RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$ LANGUAGE plpgsql"
    )
    database.change("CREATE TRIGGER t BEFORE INSERT OR UPDATE ON hub EXECUTE FUNCTION full_disk()")


def disconnect(database: InPostgreSQL) -> None:
    database.server.sql(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        f" WHERE datname = '{database.database}'"
    )


@pytest.mark.parametrize(
    ("harm", "text"), [(read_only, "it is read-only"), (full, "its disk is full; free space there")]
)
def test_a_hub_that_cannot_write_its_row_still_follows_and_says_why(
    database: InPostgreSQL, tmp_path: Path, harm: Callable[[InPostgreSQL], None], text: str
) -> None:
    async def play() -> None:
        async with (
            a_hub(database, tmp_path / "a") as first,
            a_hub(database, tmp_path / "bb") as second,
        ):
            await polled(first, second)
            await asyncio.to_thread(harm, database)
            watch = second.hub.status.watch
            async with asyncio.timeout(60):
                while text not in watch.unannounced:
                    await watch.poll()
            page = await page_of(second)
            assert page.database_reachable
            assert any(text in problem for problem in page.problems)
            assert watch.is_current

    asyncio.run(play())


def test_a_hub_of_before_the_table_of_hubs_leads_and_is_followed(
    database: InPostgreSQL, tmp_path: Path
) -> None:
    """As during an update of the hubs, one after the other."""

    async def play() -> None:
        async with (
            a_hub(database, tmp_path / "a") as first,
            a_hub(database, tmp_path / "bb") as second,
        ):
            await asyncio.to_thread(database.change, "DROP TABLE hub")
            for one in (first, second):
                await one.hub.status.watch.poll()
                page = await page_of(one)
                assert (page.database_reachable, page.hubs) == (True, ())
                assert any("is older and keeps no list of hubs" in why for why in page.problems)

    asyncio.run(play())


def test_a_hub_with_a_file_of_its_own_leads_alone(tmp_path: Path) -> None:
    async def play() -> None:
        settings = HubSettings(rules=RULES, detector=DetectorSettings(enabled=False))
        async with served_hub(settings, interval_s=1.0, state_dir=tmp_path) as one:
            page = await page_of(one)
            assert (page.leads, page.shared, page.hubs) == (True, False, ())
            assert page.journal == f"a file in {tmp_path}"
            assert one.hub.fleet.leader_note() is None
            assert "fleet_hub_leads" not in await one.get("/metrics")

    asyncio.run(play())


def test_what_was_read_while_the_token_could_not_be_kept_is_read_again(
    database: InPostgreSQL, tmp_path: Path
) -> None:
    """As with a full disk: the copy must not lack what came meanwhile."""

    async def play() -> None:
        async with a_hub(database, tmp_path / "a") as first:
            journal, folder = JournalSettings(postgresql=database.settings), tmp_path / "later"
            own = msgspec.structs.replace(first.hub.status.own_entry(), id="c", token=0)
            folder.write_text("no folder")
            watch = JournalWatch(journal, folder, SystemClock(), lambda: own)
            await watch.poll()
            assert ("journal.token cannot be" in watch.problem, watch.is_copied) == (True, False)
            folder.unlink()
            folder.mkdir()
            await watch.poll()
            assert (watch.problem, watch.is_copied) == ("", True)
            await watch.stop()

    asyncio.run(play())


def test_a_hub_remembers_the_greatest_token_that_it_has_seen(
    database: InPostgreSQL, tmp_path: Path
) -> None:
    """So that it does not lead on a database that was put back, though it never led before."""

    async def play() -> None:
        async with (
            a_hub(database, tmp_path / "a") as first,
            a_hub(database, tmp_path / "bb") as second,
        ):
            await polled(first, second)
            assert (tmp_path / "bb" / "journal.token").read_text() == str((1 << 32) + 1)
        await asyncio.to_thread(database.change, "UPDATE writer SET token = 0")
        async with a_hub(database, tmp_path / "bb") as again:
            assert "it was restored or is another" in again.hub.lease.waiting

    asyncio.run(play())
