"""A journal in each place where one can be kept."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from accelwatch.alerting.incidents.journal.journal import Journal
from support.incidents.kept_journals import InPostgreSQL, InSQLite, KeptJournal
from support.postgresql.fixtures import patient_database
from support.postgresql.server import Server, running_or_skip

__all__ = ["patient_database"]


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Server]:
    """A server, for all tests of a process."""
    with running_or_skip() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> KeptJournal:
    """Where a journal is kept, in a file and in a database."""
    if request.param == "sqlite":
        return InSQLite(tmp_path)
    request.getfixturevalue("patient_database")
    return InPostgreSQL(request.getfixturevalue("postgresql"))


@pytest.fixture
def journal(kept: KeptJournal) -> Iterator[Journal]:
    """A new journal, to be written."""
    journal = kept.open()
    yield journal
    journal.close()
