"""A GPU that is lost when its agent is restarted is counted once, whoever it turns out to be."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from accelwatch.base.absence import Absence
from accelwatch.node.store.persistence.identity_file import IdentityFile
from accelwatch.node.usage.ledger import By, Ledger
from accelwatch.node.usage.ledger_file import FILE
from accelwatch.node.usage.observation import observations_of
from accelwatch.node.usage.report import report
from accelwatch.schema.snapshot import Snapshot
from node.store.reporting import Node, device, power
from node.usage.test_retention import kept, loaded

SLOT = device(5, id="nvidia:5")


class Machine:
    """One GPU, and what is kept of it in a folder over restarts."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.seconds = 0.0
        self.shots: list[Snapshot] = []
        self.ledger = Ledger(gap_limit_s=30.0)
        self.start()

    def start(self) -> None:
        """Begin an agent, which finds the place before anything is told there."""
        self.node = Node(identity_file=IdentityFile(self._folder))
        self.node.clock.advance(self.seconds)
        self.node.slots(SLOT)
        self.look()

    def restart(self) -> None:
        self.node.store.close()
        kept(self._folder / FILE, self.ledger)
        self.ledger = loaded(self._folder / FILE, self.node.clock.wall())
        self.start()

    def identify(self, uuid: str) -> None:
        self.node.identified(SLOT.id, device(5, id=f"nvidia:{uuid}", uuid=uuid))
        self.node.read(SLOT.id, power(f"nvidia:{uuid}"))
        self.look()

    def is_lost(self) -> None:
        self.node.failed(SLOT.id, Absence.LOST)
        self.look()

    def look(self) -> None:
        self.node.clock.advance(5.0)
        self.seconds += 5.0
        shot = self.node.store.snapshot()
        self.shots.append(shot)
        self.ledger.add(shot.time, observations_of(shot))

    def counted(self) -> tuple[str, ...]:
        total = report(self.ledger, By.USER, 3600.0).total
        assert total is not None
        assert total.devices == len(total.device_names)
        return total.device_names


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    """An agent that saw a GPU, lost it, and was begun again while it was lost."""
    machine = Machine(tmp_path)
    machine.ledger = Ledger(gap_limit_s=30.0)
    machine.identify("GPU-a")
    machine.is_lost()
    machine.restart()
    machine.is_lost()
    yield machine
    machine.node.store.close()


def test_one_that_is_lost_at_a_restart_is_counted_once(machine: Machine) -> None:
    assert machine.counted() == ("nvidia5",)


def test_one_that_comes_back_as_it_was_is_counted_once(machine: Machine) -> None:
    machine.identify("GPU-a")
    assert machine.counted() == ("nvidia5",)


def test_one_that_was_exchanged_counts_as_another(machine: Machine) -> None:
    machine.identify("GPU-b")
    assert machine.counted() == ("nvidia5", "nvidia5")


def test_every_document_of_a_restart_reports_one_device_by_one_id(machine: Machine) -> None:
    assert [[view.device.id for view in shot.devices] for shot in machine.shots[1:]] == [
        ["nvidia:GPU-a"]
    ] * 4
