from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _fakes_are_found(monkeypatch: pytest.MonkeyPatch, tests_path: str) -> None:
    """By new interpreters too."""
    monkeypatch.setenv("PYTHONPATH", tests_path)


@pytest.fixture
def tests_path() -> str:
    """Where a child process finds the fakes."""
    return str(Path(__file__).resolve().parent.parent)
