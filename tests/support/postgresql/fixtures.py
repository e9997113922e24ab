"""Databases that keep a journal for tests which are not about its loss."""

import pytest

from accelwatch.alerting.incidents.journal.postgresql import connection, database
from support.processes.waiting import GUARD_S


@pytest.fixture
def patient_database(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests between whose steps this machine may stand still: nobody loses the lease by that."""
    for limit in ("ANSWER_S", "LEASE_S", "_CLOSE_S"):
        monkeypatch.setattr(connection, limit, GUARD_S)
    monkeypatch.setattr(database, "_SURE_S", GUARD_S)
