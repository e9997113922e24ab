"""Machines with Intel cards: recorded, composed, and with files that fail."""

from collections.abc import Callable
from pathlib import Path

import pytest

from accelwatch.base.absence import Absence
from accelwatch.system.kernel import sysfs
from support.machines.intel_machines import Composed, Machine, lay_out_card
from support.machines.level_zero import Scenario, build_level_zero
from support.machines.packed_trees import composed_machines, recorded_cards


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.fixture
def recorded(machine: Machine) -> Callable[[str], Machine]:
    return recorded_cards(machine, "intel", lay_out_card)


@pytest.fixture
def composed(machine: Machine) -> Composed:
    return composed_machines(machine, "intel")


@pytest.fixture
def fail(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Absence], None]:
    """Makes reads of files whose path ends so fail with a reason, whoever runs the test."""
    reasons: dict[str, Absence] = {}
    really = sysfs.read_bytes

    def read_bytes(path: Path) -> bytes | Absence:
        for end, reason in reasons.items():
            if str(path).endswith(end):
                return reason
        return really(path)

    def add(end: str, reason: Absence) -> None:
        reasons[end] = reason

    monkeypatch.setattr(sysfs, "read_bytes", read_bytes)
    return add


@pytest.fixture
def library() -> Path:
    """The stand-in Level Zero loader."""
    return build_level_zero()


@pytest.fixture
def scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scenario:
    """What the stand-in loader is to answer; empty as yet."""
    path = tmp_path / "scenario"
    monkeypatch.setenv("ACCELWATCH_ZE_SCENARIO", str(path))
    return Scenario(path)


@pytest.fixture
def sysman(composed: Composed, scenario: Scenario, library: Path) -> Callable[[str, str], Machine]:
    """Lays out a composed machine whose Sysman answers as a scenario says."""

    def lay_out(name: str, answers: str) -> Machine:
        scenario.load(answers)
        machine = composed(name)
        machine.options = {"level_zero_library": str(library)}
        return machine

    return lay_out


@pytest.fixture
def max1550(sysman: Callable[[str, str], Machine]) -> Machine:
    return sysman("max1550-two-tiles", "max1550")


@pytest.fixture
def b580(sysman: Callable[[str, str], Machine]) -> Machine:
    return sysman("arc-b580", "b580")
