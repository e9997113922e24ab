"""Which PCI functions are ours, what they are called, and what probe and open say."""

import subprocess
import sys
from pathlib import Path

import pytest

from accelwatch.backend.errors import BackendUnavailable
from accelwatch.schema.device import DeviceKind
from accelwatch_intel import products
from accelwatch_intel.card import find_cards
from accelwatch_intel.rates import Rates
from accelwatch_intel.sysfs.gt import reason_of
from support.machines.intel_machines import Machine


def function(machine: Machine, bus_id: str, device: int, code: int, driver: str | None) -> str:
    folder = machine.tree.pci(bus_id)
    machine.tree.write(f"{folder}/vendor", "0x8086\n")
    machine.tree.write(f"{folder}/device", f"0x{device:04x}\n")
    machine.tree.write(f"{folder}/class", f"0x{code:06x}\n")
    if driver:
        machine.tree.link(f"{folder}/driver", f"sys/bus/pci/drivers/{driver}")
    return folder


def test_only_display_functions_and_npus_are_cards(machine: Machine) -> None:
    function(machine, "0000:00:1f.6", 0x15BB, 0x020000, "e1000e")
    function(machine, "0000:00:02.0", 0x9B41, 0x030000, None)
    function(machine, "0000:00:0b.0", 0x7D1D, 0x120000, "intel_vpu")
    function(machine, "0000:00:0c.0", 0x1234, 0x120000, "idxd")
    function(machine, "0000:0d:00.0", 0x56C0, 0x038000, None)
    function(machine, "0000:03:00.0", 0xE20B, 0x030000, "xe")
    cards = find_cards(machine.root)
    assert [card.pci_bus_id for card in cards] == ["0000:03:00.0", "0000:0d:00.0", "0000:00:0b.0"]
    assert [card.kind for card in cards] == [DeviceKind.GPU, DeviceKind.GPU, DeviceKind.NPU]


def test_unknown_devices_are_discrete_unless_they_sit_where_integrated_ones_do(
    machine: Machine,
) -> None:
    function(machine, "0000:00:02.0", 0xFFF0, 0x030000, "xe")
    function(machine, "0000:05:00.0", 0xFFF1, 0x030000, "xe")
    assert [card.discrete for card in find_cards(machine.root)] == [False, True]


def test_a_machine_without_intel_cards(machine: Machine) -> None:
    probe = machine.backend().probe()
    assert not probe.present
    assert not probe.checks[0].ok
    with pytest.raises(BackendUnavailable) as caught:
        machine.backend().open()
    assert caught.value.reason == "no_device"
    assert list(machine.backend().discover()) == []
    machine.backend().close()


def test_probe_reads_neither_library_nor_device(machine: Machine) -> None:
    function(machine, "0000:03:00.0", 0xE20B, 0x030000, "xe")
    machine.options = {}
    probe = machine.backend().probe()
    assert probe.present
    assert [check.subject for check in probe.checks] == [
        "driver and nodes of 0000:03:00.0",
        "libze_loader.so.1",
    ]
    assert not probe.checks[1].ok
    machine.tree.write("usr/lib/x86_64-linux-gnu/libze_loader.so.1", "")
    assert machine.backend().probe().checks[1].ok


def test_kernel_modules_of_a_distribution_have_their_own_version(machine: Machine) -> None:
    function(machine, "0000:03:00.0", 0xE20B, 0x030000, "xe")
    machine.tree.write("proc/sys/kernel/osrelease", "6.14.0\n")
    assert machine.backend().open().versions == {"xe": "6.14.0"}
    machine.tree.write("sys/module/xe/version", "1.25.3\n")
    assert machine.backend().open().versions == {"xe": "1.25.3"}


@pytest.mark.parametrize(
    ("device_id", "architecture"),
    [
        (0x0BD5, "Xe-HPC (Ponte Vecchio)"),
        (0xE20B, "Xe2-HPG (Battlemage)"),
        (0x56A5, "Xe-HPG (Alchemist)"),
        (0x9B41, "Gen9.5 (Comet Lake)"),
        (0x9A49, "Xe-LP (Tiger Lake)"),
        (0x643E, "NPU (Lunar Lake)"),
        (0x0001, None),
    ],
)
def test_architectures(device_id: int, architecture: str | None) -> None:
    assert products.architecture(device_id) == architecture


def test_names_from_the_machines_own_database(tmp_path: Path) -> None:
    path = tmp_path / "usr/share/misc/pci.ids"
    path.parent.mkdir(parents=True)
    path.write_text(
        "# comment\n8085  Other\n\t1111  Wrong one\n"
        "8086  Intel Corporation\n\t0abc  Some chip\n\t1111  Foo Lake [Arc X100]\n\t\t1849 0001  Sub\n"
        "\t1112  UHD Graphics 999\n8087  Intel too\n\t1113  Not ours\n"
    )
    assert products.model(tmp_path, 0x1111) == "Intel Arc X100"
    assert products.model(tmp_path, 0x1112) == "Intel UHD Graphics 999"
    assert products.model(tmp_path, 0x1113) == "Intel Device [1113]"
    assert products.model(tmp_path, 0x56A5) == "Intel Arc A380 Graphics"


def test_throttle_words() -> None:
    assert reason_of("pl1") == "power"
    assert reason_of("vr_thermalert") == "thermal_hardware"
    assert reason_of("memory_thermal") == "memory_thermal"
    assert reason_of("something_new") == "other"


def test_rates() -> None:
    rates = Rates()
    assert rates.per_second("a", 10, 1.0) is None
    assert rates.per_second("a", 20, 1.0) is None, "no time has passed"
    assert rates.per_second("a", 20, 3.0) == 5.0
    assert rates.per_second("a", 5, 4.0) is None, "it went back"
    assert rates.per_second("a", 7, 5.0) == 2.0


def test_probing_loads_no_library_layer(machine: Machine) -> None:
    program = (
        "import sys; from pathlib import Path\n"
        "from accelwatch.backend import Context\n"
        "from accelwatch_intel import IntelBackend\n"
        "IntelBackend(Context(root=Path(sys.argv[1]))).probe()\n"
        "print([name for name in sys.modules if name == 'ctypes' or 'sysman' in name])\n"
    )
    command = [sys.executable, "-c", program, str(machine.root)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stdout == "[]\n"
