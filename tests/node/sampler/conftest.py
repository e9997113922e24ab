import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from node.sampler.rig import Rig
from support.processes.waiting import GUARD_S


@pytest.fixture(autouse=True)
def _fakes_are_found(monkeypatch: pytest.MonkeyPatch, tests_path: str) -> None:
    """By new interpreters too."""
    monkeypatch.setenv("PYTHONPATH", tests_path, prepend=os.pathsep)


@pytest.fixture
def tests_path() -> str:
    """Where a child process finds the fakes."""
    return str(Path(__file__).resolve().parents[2])


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Iterator[None]:
    """Fails when a backend's threads do not end once it is closed."""
    yield
    for rig in Rig.built:
        for gate in rig.gates:
            gate.set()
        rig.collector.close()
    Rig.built.clear()
    for thread in threading.enumerate():
        if thread.name == "turns" or thread.name.startswith("scripted"):
            thread.join(GUARD_S)
            assert not thread.is_alive()
