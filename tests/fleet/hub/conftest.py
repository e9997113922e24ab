"""Fixtures of the hub's tests; what runs hubs and peers is in `hub_peers`."""

from pathlib import Path

import pytest

from support.postgresql.fixtures import patient_database
from support.servers.certificate_authority import Authority

__all__ = ["patient_database"]


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)
