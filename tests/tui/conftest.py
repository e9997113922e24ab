"""Local time is UTC, and `pytest tests/tui --update` writes the pictures anew."""

import time
from collections.abc import Iterator

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    try:
        parser.addoption("--update", action="store_true", help="write the golden files anew")
    except ValueError:
        return


@pytest.fixture
def update(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--update", default=False))


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.delenv("NO_COLOR", raising=False)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.fixture(autouse=True)
def typing_without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long the machine takes between two keys, it is not taken for a pause."""
    monkeypatch.setattr("accelwatch.tui.commands.fleet.filter_commands._TYPING_S", 3600.0)
