"""A configuration file."""

from pathlib import Path

import pytest

from config.loading import Write


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def _write(text: str | bytes) -> Path:
        path = tmp_path / "agent.yaml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return _write
