"""The switch that writes golden files anew: `pytest tests/golden --update`, then read the difference."""

import pytest

from support.machines.patient_commands import patient_commands

__all__ = ["patient_commands"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="write the golden files anew")


@pytest.fixture
def update(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--update", default=False))
