"""In a container that sees the whole bus, cards that it was not given are excluded and none is lost."""

import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from accelwatch.base.errors import DevicePermission, ReadError
from backends.ascend.machines import staged as ascend
from backends.cambricon.machines import staged as cambricon
from backends.iluvatar.machines import staged as iluvatar
from backends.mthreads.machines import staged as mthreads
from backends.thead.machines import staged as thead
from support.machines.pci_nodes import bind, give
from support.machines.polling import Poll
from support.machines.staged_machines import Stage

PCI = "sys/bus/pci/devices"
# A card of the host that the vendor's command does not list in the container.
BESIDE = "0000:ee:00.0"

Staged = Callable[[Path, str], AbstractContextManager[Stage]]


@pytest.mark.parametrize(
    ("staged", "name", "driver", "node"),
    [
        (ascend, "910b4-x2", "devdrv_device_driver", "davinci{}"),
        (cambricon, "mlu370x8-x2", "cambricon-pci-drv", "cambricon_dev{}"),
        (mthreads, "s5000-x2", "mtgpu", "mtgpu.{}"),
        (iluvatar, "bi-v150-x2", "iluvatar", "iluvatar{}"),
        (thead, "zw810e-x2", "alixpu", "alixpu_ppu{}"),
    ],
)
@pytest.mark.parametrize(("nodes", "error"), [((4, 5), DevicePermission), ((3, 4, 5), ReadError)])
def test_a_card_without_a_node_of_ours(
    tmp_path: Path,
    staged: Staged,
    name: str,
    driver: str,
    node: str,
    nodes: tuple[int, ...],
    error: type[Exception],
) -> None:
    with staged(tmp_path, name) as machine:
        for path in (tmp_path / "dev").glob(node.format("*")):
            path.unlink()
        buses = sorted(path.name for path in (tmp_path / PCI).iterdir())
        shutil.copytree(tmp_path / PCI / buses[0], tmp_path / PCI / BESIDE)
        for bus in (*buses, BESIDE):
            bind(tmp_path, bus, driver)
        for number in nodes:
            give(tmp_path, node.format(number))
        backend = machine.backend()
        backend.open()
        errors = [polled.error for polled in Poll(machine.clock)(backend)]
    assert [type(one) for one in errors] == [type(None), type(None), error]
