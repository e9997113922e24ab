"""Fixtures of the tests of the API's client."""

from pathlib import Path

import pytest

from support.servers.certificate_authority import Authority


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)
