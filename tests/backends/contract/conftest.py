"""Every test that takes a machine, or something of one, runs over all fixture machines.

With `--machines MODULE` over those of that module: a backend's author runs the suite from outside.
"""

import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from accelwatch.backend import Backend
from support.machines.fixture_machines import MACHINES
from support.machines.polling import Poll, Polled, PolledMachine
from support.machines.staged_machines import FixtureMachine, Stage


@pytest.fixture(scope="session")
def machine(request: pytest.FixtureRequest) -> FixtureMachine:
    found: FixtureMachine = request.param
    return found


# Many tests look at the same answers. A machine is staged and polled once for all of them; what changes
# a machine, or asks in another way, stages its own.
@pytest.fixture(scope="session")
def polled_machine(
    machine: FixtureMachine, tmp_path_factory: pytest.TempPathFactory
) -> PolledMachine:
    with machine.stage(tmp_path_factory.mktemp("machine")) as staged:
        backend, poll = staged.backend(), Poll(staged.clock)
        backend.open()
        try:
            return PolledMachine(backend.name, [poll(backend) for _ in range(4)])
        finally:
            backend.close()


@pytest.fixture
def rounds(polled_machine: PolledMachine) -> list[list[Polled]]:
    """Four rounds of one backend, a second after each other."""
    return polled_machine.rounds


@pytest.fixture
def polled(rounds: list[list[Polled]]) -> list[Polled]:
    """The first round."""
    return rounds[0]


@pytest.fixture
def stage(machine: FixtureMachine, tmp_path: Path) -> Iterator[Stage]:
    with machine.stage(tmp_path) as staged:
        yield staged


@pytest.fixture
def backend(stage: Stage) -> Iterator[Backend]:
    opened = stage.backend()
    opened.open()
    yield opened
    opened.close()


@pytest.fixture
def poll(stage: Stage) -> Poll:
    return Poll(stage.clock)


def _machines(config: pytest.Config) -> tuple[FixtureMachine, ...]:
    module = config.getoption("--machines")
    if module is None:
        return MACHINES
    found: tuple[FixtureMachine, ...] = importlib.import_module(module).MACHINES
    return found


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    marks = metafunc.definition.iter_markers("parametrize")
    chosen = any("machine" in str(mark.args[0]) for mark in marks)
    if "machine" in metafunc.fixturenames and not chosen:
        needs = {mark.args[0] for mark in metafunc.definition.iter_markers("needs")}
        fit = [machine for machine in _machines(metafunc.config) if needs <= machine.traits]
        metafunc.parametrize("machine", fit, ids=lambda one: one.name, indirect=True)
