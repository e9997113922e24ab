"""A journal in a database with standbys: whether a fail-over may lose what was committed, and why."""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from accelwatch.alerting.incidents.journal.errors import JournalError
from accelwatch.alerting.incidents.journal.journal import Journal
from accelwatch.alerting.incidents.journal.lease import lease_clock, timeline_of
from accelwatch.alerting.incidents.journal.postgresql.replication import Replication, loss_risk
from accelwatch.alerting.incidents.journal.records import Batch, NoteRecord
from alerting.incidents.incident_rules import START
from alerting.incidents.opened_journals import eventually_open, opens
from support.incidents.kept_journals import InPostgreSQL
from support.postgresql.server import Server, running_or_skip
from support.postgresql.slow_link import Link, link_to
from support.processes.waiting import wait_until


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running_or_skip("max_wal_senders=4") as server:
        yield server


@pytest.fixture
def primary(server: Server) -> Iterator[Server]:
    yield server
    for setting in ("synchronous_standby_names", "synchronous_commit"):
        server.sql(f"ALTER SYSTEM RESET {setting}")
    server.sql("SELECT pg_reload_conf()")


def set_to(server: Server, names: str) -> None:
    server.sql(f"ALTER SYSTEM SET synchronous_standby_names = '{names}'")
    server.sql("SELECT pg_reload_conf()")


def risk(journal: Journal) -> str:
    with contextlib.suppress(JournalError):
        journal.renew()
    return journal.lease.loss_risk


def test_a_single_server_loses_nothing(primary: Server) -> None:
    with contextlib.closing(opens(InPostgreSQL(primary).settings)) as journal:
        assert risk(journal) == ""


def test_a_standby_that_is_asynchronous_is_a_risk_until_it_is_synchronous(primary: Server) -> None:
    with (
        contextlib.closing(opens(InPostgreSQL(primary).settings)) as journal,
        primary.standby() as standby,
    ):
        wait_until(lambda: "set synchronous_standby_names" in risk(journal))
        set_to(primary, "*")
        wait_until(lambda: not risk(journal))
        journal.write([Batch(time=START, records=[NoteRecord("i1", "on both")])])
        set_to(primary, "another")
        wait_until(lambda: "has asynchronous standbys (walreceiver)" in risk(journal))
        set_to(primary, "")
        wait_until(lambda: "set synchronous_standby_names" in risk(journal))
        # One that is cut off may be promoted.
        standby.stop(signal.SIGINT)
        wait_until(lambda: primary.sql("SELECT count(*) FROM pg_stat_replication") == [(0,)])
        assert "set synchronous_standby_names" in risk(journal)


def test_a_commit_that_no_standby_confirms_is_none(primary: Server) -> None:
    """PostgreSQL ends the wait for it with a warning only, and would have it count."""
    with contextlib.closing(opens(InPostgreSQL(primary).settings)) as journal:
        set_to(primary, "one_that_is_away")
        wait_until(lambda: primary.sql("SHOW synchronous_standby_names") == [("one_that_is_away",)])
        with pytest.raises(JournalError, match="it has not answered for 2 s"):
            journal.write([Batch(time=START, records=[NoteRecord("i1", "on one only")])])


def test_a_commit_whose_wait_was_ended_is_none(primary: Server) -> None:
    """PostgreSQL only warns of it, and answers that it has committed."""
    kept = InPostgreSQL(primary)
    cancelling = threading.Thread(target=cancel_what_waits, args=(primary,))
    with contextlib.closing(opens(kept.settings)) as journal:
        set_to(primary, "one_that_is_away")
        wait_until(lambda: primary.sql("SHOW synchronous_standby_names") == [("one_that_is_away",)])
        cancelling.start()
        with pytest.raises(JournalError, match="the commit is not confirmed: "):
            journal.write([Batch(time=START, records=[NoteRecord("i1", "on one only")])])
    cancelling.join()


def cancel_what_waits(primary: Server) -> None:
    cancel = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
    wait_until(lambda: primary.sql(cancel))


def test_a_standby_that_has_a_slot_counts_before_it_connects(primary: Server) -> None:
    primary.sql("SELECT pg_create_physical_replication_slot('standby1')")
    try:
        with contextlib.closing(opens(InPostgreSQL(primary).settings)) as journal:
            assert "set synchronous_standby_names" in risk(journal)
    finally:
        primary.sql("SELECT pg_drop_replication_slot('standby1')")


def test_several_hosts_are_a_primary_and_its_standbys(primary: Server) -> None:
    settings = InPostgreSQL(primary).settings
    several = msgspec.structs.replace(settings, hosts=(*settings.hosts, "127.0.0.1:9"), tls=False)
    with contextlib.closing(opens(several)) as journal:
        assert "set synchronous_standby_names" in risk(journal)


def test_who_may_not_see_whether_a_standby_is_synchronous_says_so(
    primary: Server, tmp_path: Path
) -> None:
    kept = InPostgreSQL(primary)
    primary.sql("CREATE ROLE keeper LOGIN PASSWORD 'swordfish'")
    primary.sql(f"ALTER DATABASE {kept.database} OWNER TO keeper")
    settings = msgspec.structs.replace(kept.settings, user="keeper")
    with contextlib.closing(opens(settings)) as journal, primary.standby():
        set_to(primary, "*")
        wait_until(lambda: "GRANT pg_read_all_stats" in risk(journal))
        primary.sql("GRANT pg_read_all_stats TO keeper")
        wait_until(lambda: not risk(journal))


@pytest.mark.parametrize("commit", ["off", "local", "remote_write"])
def test_a_commit_that_waits_for_no_standbys_disk_is_a_risk(commit: str) -> None:
    replication = Replication("*", commit, 0, 1, 0, "")
    assert f"synchronous_commit = {commit}" in loss_risk("db", replication, is_replicated=True)
    assert not loss_risk("db", replication._replace(synchronous_commit="on"), is_replicated=True)


def test_a_session_that_is_over_proves_no_lease(primary: Server) -> None:
    kept = InPostgreSQL(primary)
    with contextlib.closing(opens(kept.settings)) as journal:
        assert lease_clock() < journal.lease.valid_until < lease_clock() + 3.0
        assert not journal.lease.problem
        kept.server.sql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            f" WHERE datname = '{kept.database}' AND application_name = 'accelwatch'"
        )
        with contextlib.suppress(JournalError):
            journal.renew()
        with eventually_open(kept.settings):
            with pytest.raises(JournalError):
                journal.renew()
            assert "has written meanwhile" in journal.lease.lost
            assert journal.lease.problem == journal.lease.lost


def hung(target: Path) -> contextlib.AbstractContextManager[Link]:
    """A server that accepts and never answers."""
    return _link(target, hangs=True)


def closing(target: Path) -> contextlib.AbstractContextManager[Link]:
    """A server that accepts and closes at once, as a proxy of one that is gone."""
    return _link(target / "that_is_gone", hangs=False)


@contextlib.contextmanager
def _link(target: Path, *, hangs: bool) -> Iterator[Link]:
    with link_to(target) as link:
        if hangs:
            link.hang()
        yield link


@pytest.mark.parametrize("harm", [hung, closing])
@pytest.mark.parametrize("is_first", [True, False])
def test_a_host_that_accepts_and_is_no_use_keeps_nobody_from_the_primary(
    primary: Server,
    harm: Callable[[Path], contextlib.AbstractContextManager[Link]],
    *,
    is_first: bool,
) -> None:
    kept = InPostgreSQL(primary)
    with harm(primary.folder / f".s.PGSQL.{primary.port}") as link:
        hosts = (f"127.0.0.1:{link.port}", *kept.settings.hosts)
        several = msgspec.structs.replace(
            kept.settings, hosts=hosts if is_first else hosts[::-1], tls=False
        )
        with contextlib.closing(opens(several)) as journal:
            journal.write([Batch(time=START, records=[NoteRecord("i1", "on the primary")])])


@pytest.mark.parametrize("is_first", [True, False])
def test_of_two_primaries_the_one_that_was_promoted_later_counts(*, is_first: bool) -> None:
    """The other one was away, came back, and does not know that it is none any more."""
    with running_or_skip("max_wal_senders=4") as former:
        kept = InPostgreSQL(former)
        kept.open().close()
        with former.standby() as promoted:
            promoted.wait_for(former)
            promoted.promote()
            hosts = [f"{server.folder}:{server.port}" for server in (former, promoted)]
            ordered = tuple(hosts if is_first else hosts[::-1])
            settings = msgspec.structs.replace(kept.settings, hosts=ordered)
            with contextlib.closing(opens(settings)) as journal:
                assert timeline_of(journal.lease.token) == 2


def test_hosts_of_which_none_is_a_primary_are_reported_one_by_one(primary: Server) -> None:
    kept = InPostgreSQL(primary)
    with primary.standby() as standby:
        hosts = (f"{standby.folder}:{standby.port}", "127.0.0.1:9")
        settings = msgspec.structs.replace(kept.settings, hosts=hosts, tls=False)
        with pytest.raises(
            JournalError, match=r"no host is a primary: .*is a standby; 127.0.0.1:9: "
        ):
            opens(settings)
