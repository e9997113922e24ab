from pathlib import Path

import pytest


@pytest.fixture
def tests_path() -> str:
    """Where a child process finds the fakes."""
    return str(Path(__file__).resolve().parent.parent)
