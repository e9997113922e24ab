"""What all tests of a node's store share."""

import pytest

from support.processes.waiting import GUARD_S


@pytest.fixture(autouse=True)
def patient_close(monkeypatch: pytest.MonkeyPatch) -> None:
    """A store waits until its files are written, however slow the disk of the tests is."""
    monkeypatch.setattr("accelwatch.node.store.persistence.state_file._CLOSE_S", GUARD_S)
