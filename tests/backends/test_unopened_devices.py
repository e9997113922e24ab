"""A backend that cannot be opened names the devices that the bus or the kernel shows all the same."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from accelwatch.backend import Backend, Context
from accelwatch.backend.errors import BackendUnavailable
from accelwatch_accel import AccelBackend
from accelwatch_amd import AmdBackend
from accelwatch_apple import AppleBackend
from accelwatch_apple.system import System
from accelwatch_furiosa import FuriosaBackend
from accelwatch_gaudi import GaudiBackend
from accelwatch_hygon import HygonBackend
from accelwatch_intel import IntelBackend
from accelwatch_jetson import JetsonBackend
from accelwatch_neuron import NeuronBackend
from accelwatch_tenstorrent import TenstorrentBackend
from accelwatch_tpu import TpuBackend
from backends.neuron.machines import TRN1
from support.machines.packed_trees import FakeTree

BUSES = ("0000:c1:00.0", "0000:c2:00.0")
BAD_PACE = {"pace_s": 0}


class Case(msgspec.Struct, frozen=True):
    """A vendor's two devices on the bus, and options with which the backend does not open."""

    backend: Callable[[Context], Backend]
    vendor: str
    device: str
    code: str
    ids: str
    options: dict[str, object] = {}
    files: dict[str, str] = {}


NEURON = Case(NeuronBackend, "0x1d0f", "0x7164", "0x088000", "neuron")
GAUDI = Case(GaudiBackend, "0x1da3", "0x1020", "0x120000", "habana")
FURIOSA = Case(FuriosaBackend, "0x1ed2", "0x0001", "0x120000", "furiosa")
TENSTORRENT = Case(TenstorrentBackend, "0x1e52", "0x401e", "0x120000", "tenstorrent")
TPU = Case(TpuBackend, "0x1ae0", "0x0063", "0x120000", "tpu")
HYGON = Case(HygonBackend, "0x1d94", "0x54b7", "0x120000", "hygon")
CASES = {
    "neuron without its driver": NEURON,
    "gaudi without driver, library and command": GAUDI,
    "gaudi without the library it must have": msgspec.structs.replace(
        GAUDI, options={"source": "hlml"}
    ),
    "furiosa without its command": FURIOSA,
    "tenstorrent without its driver": TENSTORRENT,
    "tenstorrent of another source": msgspec.structs.replace(
        TENSTORRENT, options={"source": "xml"}
    ),
    "tpu of a port that is none": msgspec.structs.replace(TPU, options={"port": 0}),
    "tpu of a pace that is none": msgspec.structs.replace(TPU, options=BAD_PACE),
    "hygon of a pace that is none": msgspec.structs.replace(
        HYGON, options=BAD_PACE, files={"opt/hyhal/bin/hy-smi": "#!/bin/sh\nexit 1\n"}
    ),
}


def lay_out(root: Path, case: Case) -> None:
    tree = FakeTree(root)
    for bus in BUSES:
        folder = f"sys/bus/pci/devices/{bus}"
        for name, text in (("vendor", case.vendor), ("device", case.device), ("class", case.code)):
            tree.write(f"{folder}/{name}", f"{text}\n")
    for path, text in case.files.items():
        tree.write(path, text)
        (root / path).chmod(0o755)


def refusal(backend: Backend) -> BackendUnavailable:
    assert backend.probe().present
    with pytest.raises(BackendUnavailable) as raised:
        backend.open()
    return raised.value


@pytest.mark.parametrize("name", CASES)
def test_a_refusal_names_the_devices_on_the_bus(tmp_path: Path, name: str) -> None:
    case = CASES[name]
    lay_out(tmp_path, case)
    refused = refusal(case.backend(Context(root=tmp_path, options=case.options)))
    assert [device.id for device in refused.devices] == [f"{case.ids}:{bus}" for bus in BUSES]
    assert [device.pci_bus_id for device in refused.devices] == [*BUSES]
    assert len({device.name for device in refused.devices}) == 2


@pytest.mark.parametrize("case", [NEURON, GAUDI, FURIOSA, TENSTORRENT], ids=lambda case: case.ids)
def test_a_device_that_a_guest_has_is_not_named(tmp_path: Path, case: Case) -> None:
    lay_out(tmp_path, case)
    driver = tmp_path / "sys/bus/pci/drivers/vfio-pci"
    driver.mkdir(parents=True)
    (tmp_path / "sys/bus/pci/devices" / BUSES[1] / "driver").symlink_to(driver)
    refused = refusal(case.backend(Context(root=tmp_path, options=case.options)))
    assert [device.pci_bus_id for device in refused.devices] == [BUSES[0]]


def test_a_tpu_of_another_container_is_not_named(tmp_path: Path) -> None:
    lay_out(tmp_path, TPU)
    for group, bus in enumerate(BUSES):
        link = tmp_path / "sys/bus/pci/devices" / bus / "iommu_group"
        link.symlink_to(f"../../../kernel/iommu_groups/{group}")
    FakeTree(tmp_path).write("dev/vfio/1", "")
    refused = refusal(TpuBackend(Context(root=tmp_path, options={"port": 0})))
    assert [device.pci_bus_id for device in refused.devices] == [BUSES[1]]


def test_neuron_devices_are_those_of_the_driver_where_it_is_loaded(tmp_path: Path) -> None:
    tree = FakeTree(tmp_path)
    for path, text in TRN1.items():
        tree.write(path, text)
    backend = NeuronBackend(Context(root=tmp_path, options=BAD_PACE))
    assert [device.id for device in refusal(backend).devices] == [
        "neuron:9ff5434815c8bd80",
        "neuron:9ff5434815c8bd81",
    ]


@pytest.mark.parametrize("options", [{}, BAD_PACE], ids=["no ioreg", "a pace that is none"])
def test_a_mac_has_its_gpu(tmp_path: Path, options: dict[str, object]) -> None:
    system = System("darwin", "arm64", is_root=False)
    refused = refusal(AppleBackend(Context(root=tmp_path, options=options), system))
    assert [device.id for device in refused.devices] == ["apple:apple0"]


@pytest.mark.parametrize(
    "backend",
    [
        AccelBackend,
        AmdBackend,
        AppleBackend,
        FuriosaBackend,
        GaudiBackend,
        IntelBackend,
        JetsonBackend,
        NeuronBackend,
        TenstorrentBackend,
    ],
)
def test_a_machine_without_the_hardware_has_no_device(
    tmp_path: Path, backend: Callable[[Context], Backend]
) -> None:
    made = backend(Context(root=tmp_path))
    assert not made.probe().present
    with pytest.raises(BackendUnavailable) as raised:
        made.open()
    assert list(raised.value.devices) == []
