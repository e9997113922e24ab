"""Fixtures of the discoveries' tests."""

from pathlib import Path

import pytest

from support.backendai.clusters import cluster, real_servers, stand_in
from support.servers.certificate_authority import Authority

__all__ = ["cluster", "real_servers", "stand_in"]


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)
