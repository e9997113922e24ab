"""Keys of the tests of the manager's client."""

from pathlib import Path

import pytest

from support.backendai.fixtures import secret_key_file
from support.servers.certificate_authority import Authority

__all__ = ["secret_key_file"]


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)
