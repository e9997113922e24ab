"""Keys of the tests of the manager's client."""

from pathlib import Path

import pytest

from support.backendai.signed_api import SECRET_KEY
from support.servers.certificate_authority import Authority


@pytest.fixture
def secret_key_file(tmp_path: Path) -> Path:
    file = tmp_path / "secret"
    file.write_text(SECRET_KEY + "\n")
    file.chmod(0o600)
    return file


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)
