"""A vendor's table that is cut short ends with status 0: the first one proves no loss."""

import shutil
from pathlib import Path

import pytest

from accelwatch.backend.kit.unlisted import RUNS
from accelwatch.base.errors import DeviceLost, ReadError
from support.machines.fixture_machines import MACHINES
from support.machines.pci_nodes import bind
from support.machines.polling import Poll
from support.machines.staged_machines import FixtureMachine, Stage

_NAMES = (
    "ascend-910b4-x2",
    "cambricon-mlu370x8-x2",
    "furiosa-rngd-x2",
    "gaudi-gaudi2-x2",
    "hygon-k100ai-x2",
    "iluvatar-bi-v150-x2",
    "metax-c500-x2",
    "mthreads-s5000-x2",
    "qualcomm-ai100-x2",
    "rebellions-atom-x2",
    "thead-zw810e-x2",
)
_CHOSEN = [machine for machine in MACHINES if machine.name in _NAMES]
_BUS = "sys/bus/pci/devices"


def cut(stage: Stage, root: Path) -> str:
    """The command lists the last card no more, which stays on the bus; its PCI id."""
    backend = stage.backend()
    backend.open()
    last = Poll(stage.clock)(backend)[-1].found
    backend.close()
    assert stage.remove is not None
    assert last.pci_bus_id is not None
    shutil.copytree(root / "sys", root / "kept", symlinks=True)
    stage.remove(last)
    shutil.rmtree(root / "sys")
    (root / "kept").rename(root / "sys")
    return last.pci_bus_id


def rounds(stage: Stage, bus: str) -> list[ReadError | None]:
    """Why the card was not read, in each of as many answers as make a loss."""
    backend = stage.backend()
    backend.open()
    errors = []
    for _ in range(RUNS):
        polls = {polled.found.pci_bus_id: polled for polled in Poll(stage.clock)(backend)}
        assert [other.error for at, other in polls.items() if at != bus] == [None] * (
            len(polls) - 1
        )
        errors.append(polls[bus].error)
        stage.clock.advance(10.0)
    backend.close()
    return errors


@pytest.mark.parametrize("machine", _CHOSEN, ids=lambda machine: machine.name)
def test_the_first_look_at_a_cut_table_loses_no_card(
    machine: FixtureMachine, tmp_path: Path
) -> None:
    with machine.stage(tmp_path) as stage:
        errors = rounds(stage, cut(stage, tmp_path))
    assert [type(error) for error in errors] == [ReadError] * (RUNS - 1) + [DeviceLost]
    assert "does not list the" in str(errors[0])
    assert str(errors[0]).endswith("in this run")


@pytest.mark.parametrize("machine", _CHOSEN, ids=lambda machine: machine.name)
def test_a_card_that_the_driver_gave_up_is_lost_at_the_first_look(
    machine: FixtureMachine, tmp_path: Path
) -> None:
    with machine.stage(tmp_path) as stage:
        gone = cut(stage, tmp_path)
        for folder in (tmp_path / _BUS).iterdir():
            if (folder / "driver").is_symlink():
                (folder / "driver").unlink()
            if folder.name != gone:
                bind(tmp_path, folder.name, "vendor")
        errors = rounds(stage, gone)
    assert [type(error) for error in errors] == [DeviceLost] * RUNS


def test_every_vendor_with_a_table_is_tried() -> None:
    assert {machine.name for machine in _CHOSEN} == set(_NAMES)
