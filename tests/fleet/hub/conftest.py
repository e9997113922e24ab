"""Fixtures of the hub's tests; what runs hubs and peers is in `hub_peers`."""

from pathlib import Path

import pytest

from accelwatch.alerting.incidents.journal.postgresql import connection, database
from support.servers.certificate_authority import Authority


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
def long_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    """No hub loses the journal in PostgreSQL because the machine stands still for some seconds."""
    monkeypatch.setattr(connection, "LEASE_S", 60.0)
    monkeypatch.setattr(connection, "ANSWER_S", 60.0)
    monkeypatch.setattr(database, "_SURE_S", 59.5)
