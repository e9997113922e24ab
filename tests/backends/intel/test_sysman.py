"""Sysman through a stand-in loader: the real ctypes layer, its values, errors and bad days."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from accelwatch.backend import Request
from accelwatch.errors import DeviceLost, DevicePermission, DeviceSuspended, ReadError
from accelwatch.schema.absence import Absence
from accelwatch.schema.device import MemoryKind
from accelwatch.schema.reading import Link, Reading
from accelwatch_intel.sysman import NotSupported, Sysman, error_of, text, uuid_text
from accelwatch_intel.sysman_types import MemoryState
from intel_machines import Machine
from samples import FIXTURES

GIB = 1 << 30
SOURCES = FIXTURES / "level_zero"
Composed = Callable[[str], Machine]


def build(folder: Path, *extra: str) -> Path:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler (cc) to build the stand-in Level Zero loader with")
    target = folder / "libze_loader.so.1"
    sources = [str(path) for path in sorted(SOURCES.glob("*.c"))]
    flags = ["-std=gnu11", "-shared", "-fPIC", "-O1", "-Wall", "-Werror", *extra]
    subprocess.run([compiler, *flags, "-o", str(target), *sources], check=True)
    return target


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("level_zero"))


class Scenario:
    """The stand-in's scenario file, changed line by line."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def load(self, name: str) -> None:
        self.path.write_text((SOURCES / f"{name}.scenario").read_text())

    def set(self, **values: object) -> None:
        """Add keys (`dev__0__reset=1`); the last line of a key counts."""
        with self.path.open("a") as file:
            file.writelines(f"{key.replace('__', '.')}={value}\n" for key, value in values.items())

    def order(self, call: str, rule: str) -> None:
        """Make a call answer with a code."""
        with self.path.open("a") as file:
            file.write(f"call.{call}={rule}\n")


@pytest.fixture
def scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scenario:
    path = tmp_path / "scenario"
    monkeypatch.setenv("ACCELWATCH_ZE_SCENARIO", str(path))
    return Scenario(path)


@pytest.fixture
def max1550(composed: Composed, scenario: Scenario, library: Path) -> Machine:
    scenario.load("max1550")
    machine = composed("max1550-two-tiles")
    machine.options = {"level_zero_library": str(library)}
    return machine


@pytest.fixture
def b580(composed: Composed, scenario: Scenario, library: Path) -> Machine:
    scenario.load("b580")
    machine = composed("arc-b580")
    machine.options = {"level_zero_library": str(library)}
    return machine


def opened(machine: Machine) -> Machine:
    assert machine.backend().open().source == "sysfs+sysman"
    return machine


def test_identity_of_a_two_tile_card(max1550: Machine) -> None:
    card, first, second = opened(max1550).devices()
    assert card.uuid == "00000000-0000-004b-0000-002f0bd58086"
    assert card.serial is None, "the driver says unknown"
    assert card.part_number == "FIXTURE0001"
    assert card.driver_version == "1.6.31294"
    assert card.memory_kind is MemoryKind.DEDICATED
    assert [tile.partition for tile in (first, second)] == ["tile0", "tile1"]
    assert {tile.parent_id for tile in (first, second)} == {card.id}
    assert {tile.partition_technology for tile in (first, second)} == {"tile"}


def test_values_of_a_two_tile_card(max1550: Machine) -> None:
    card, first, second = opened(max1550).read()
    expected = {
        ("memory_size_bytes",): 128 * GIB,
        ("memory_used_bytes",): 8 * GIB,
        ("temperature_celsius", "gpu"): 61.5,
        ("temperature_celsius", "memory"): 66,
        ("temperature_limit_celsius", "gpu", "max_operating"): 105,
        ("clock_hertz", "graphics"): 1_600_000_000,
        ("clock_hertz", "memory"): 3_200_000_000,
        ("power_limit_watts", "enforced"): 600,
        ("power_limit_watts", "default"): 600,
        ("power_limit_watts", "max"): 600,
        ("throttle_active", "power"): 1,
        ("throttle_active", "power_brake"): 0,
        ("ecc_enabled",): 1,
        ("ecc_errors_total", "corrected"): 8,
        ("ecc_errors_total", "uncorrected"): 0,
        ("ecc_location_errors_total", "corrected", "cache"): 7,
        ("ecc_location_errors_total", "corrected", "compute"): 1,
        ("resets_total",): 2,
        ("reset_required",): 0,
        ("recovery_action_info", "none"): 1,
        ("pcie_bytes_total", "receive"): 1_000_000,
        ("pcie_bytes_total", "transmit"): 2_000_000,
        ("pcie_errors_total", "replay"): 4,
        ("interconnect_links", "xelink", "up"): 1,
        ("interconnect_links", "xelink", "down"): 1,
        ("interconnect_bytes_total", "xelink", "receive"): 111,
        ("interconnect_bytes_total", "xelink", "transmit"): 222,
        ("link_up", "xelink", "1"): 0,
        ("interconnect_errors_total", "xelink", "link_failure"): 6,
        ("link_errors_total", "xelink", "1", "link_degrade"): 1,
    }
    assert {series: card.values[series] for series in expected} == expected
    assert card.links == (
        Link(fabric="xelink", link="0", remote="3c4d/0.5", up=True),
        Link(fabric="xelink", link="1", remote=None, up=False),
    )
    assert card.sources["memory_used_bytes"] == "sysman"
    assert first.values["memory_used_bytes",] == 8 * GIB
    assert second.values["memory_used_bytes",] == 0, "a real 0"
    assert second.values["throttle_active", "power"] == 1
    assert second.values["temperature_celsius", "gpu"] == 58
    assert ("clock_hertz", "memory") not in second.values, "-1 is unknown"
    assert ("min",) not in {
        series[1:] for series in card.values if series[0] == "power_limit_watts"
    }


def test_ratios_need_two_readings(max1550: Machine, scenario: Scenario) -> None:
    opened(max1550)
    card, *_ = max1550.read()
    for key in ("utilization_ratio", "memory_bandwidth_utilization_ratio"):
        assert card.absent[key,] is Absence.NOT_COLLECTED
    scenario.set(
        dev__0__engine__0__active=5_500_000,
        dev__0__engine__0__timestamp=11_000_000,
        dev__0__engine__1__active=6_000_000,
        dev__0__engine__1__timestamp=11_000_000,
        dev__0__engine__2__timestamp=11_000_000,
        dev__0__memory__0__read=401_000_000_000,
        dev__0__memory__0__timestamp=2_000_000,
        dev__0__power__1__energy=400_700_000_000,
        dev__0__power__1__timestamp=7_000_000,
    )
    max1550.clock.advance(1)
    card, first, second = max1550.read()
    assert card.values["utilization_ratio",] == pytest.approx(0.5)
    assert card.sources["utilization_ratio"] == "sysman"
    assert first.values["utilization_ratio",] == pytest.approx(1.0)
    assert second.values["utilization_ratio",] == 0
    assert card.values["memory_bandwidth_utilization_ratio",] == pytest.approx(0.25)
    assert first.values["power_watts",] == pytest.approx(350.0)
    assert not any(series[0] == "engine_utilization_ratio" for series in card.values), "0, 0"


def test_timestamps_that_stand_still_give_no_ratio(max1550: Machine) -> None:
    opened(max1550)
    max1550.read()
    max1550.clock.advance(1)
    card, *_ = max1550.read()
    assert ("utilization_ratio",) not in card.values or card.sources[
        "utilization_ratio"
    ] == "gtidle"
    assert ("memory_bandwidth_utilization_ratio",) not in card.values


def test_host_memory_is_not_device_memory_and_processes_are_joined(b580: Machine) -> None:
    (card,) = opened(b580).read()
    assert card.values["memory_size_bytes",] == 12784238592
    assert card.values["memory_used_bytes",] == 12784238592 - 2684354560
    found = {process.pid: process for process in card.processes or ()}
    assert set(found) == {1500, 4100, 88001}
    assert found[4100].gpu_memory_bytes == 9_437_184 * 1024, "fdinfo goes first"
    assert found[88001].gpu_memory_bytes == 1 << 20
    assert found[88001].pid_namespace == "foreign"
    assert found[88001].type == "compute+graphics"


def test_one_failing_call_hides_only_its_own_quantities(
    max1550: Machine, scenario: Scenario
) -> None:
    opened(max1550)
    scenario.order("zesMemoryGetState", "0x70010000")
    scenario.order("zesRasGetState", "0x7ffffffe")
    card, *_ = max1550.read()
    assert card.absent["memory_used_bytes",] is Absence.PERMISSION
    assert card.absent["ecc_errors_total",] is Absence.ERROR
    assert card.values["temperature_celsius", "gpu"] == 61.5


def test_a_lost_device_is_lost(max1550: Machine, scenario: Scenario) -> None:
    opened(max1550)
    max1550.read()
    scenario.order("zesFrequencyGetState", "0x70000001")
    with pytest.raises(DeviceLost) as caught:
        max1550.read()
    assert caught.value.code == "ZE_RESULT_ERROR_DEVICE_LOST"


def test_a_device_that_wants_a_reset_says_so(max1550: Machine, scenario: Scenario) -> None:
    opened(max1550)
    scenario.order("*", "0x70000006")
    card, *_ = max1550.read()
    assert card.values["reset_required",] == 1
    assert card.values["recovery_action_info", "reset"] == 1
    assert card.values["clock_hertz", "graphics"] == 1_600_000_000, "sysfs still answers"


def test_an_identity_that_sysman_refuses_is_that_of_sysfs(
    max1550: Machine, scenario: Scenario
) -> None:
    opened(max1550)
    scenario.order("zesDeviceGetProperties", "0x78000020")
    card, *_ = max1550.devices()
    assert card.model == "Intel Data Center GPU Max 1550"
    assert card.absent["uuid"] is Absence.ERROR


def test_memory_errors_are_counted_by_the_newer_call(max1550: Machine, scenario: Scenario) -> None:
    opened(max1550)
    scenario.set(dev__0__ras__1__7=3)
    card, first, _ = max1550.read()
    assert card.values["ecc_errors_total", "uncorrected"] == 3
    assert card.values["ecc_location_errors_total", "uncorrected", "memory"] == 3
    assert first.values["ecc_errors_total", "uncorrected"] == 3


def test_an_old_loader_is_started_through_the_core_library(
    max1550: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZES_ENABLE_SYSMAN", "0")
    max1550.options = {"level_zero_library": str(build(tmp_path, "-DOLD_LOADER"))}
    opened(max1550)
    card, *_ = max1550.read()
    assert card.values["memory_used_bytes",] == 8 * GIB
    assert os.environ["ZES_ENABLE_SYSMAN"] == "1"


def test_wedged_and_worn_devices_are_noted(max1550: Machine, scenario: Scenario) -> None:
    opened(max1550)
    scenario.set(dev__0__reset=1, dev__0__memory__1__health=4)
    card, *_ = max1550.read()
    assert card.values["reset_required",] == 1
    assert card.values["recovery_action_info", "reset"] == 1
    assert any("should be replaced" in note for note in card.notes)


@pytest.mark.parametrize("call", ["zesInit", "zesDriverGet", "zesDeviceGet"])
def test_a_runtime_without_a_driver_leaves_sysfs(
    max1550: Machine, scenario: Scenario, call: str
) -> None:
    scenario.order(call, "0x78000001")
    assert max1550.backend().open().source == "sysfs"
    card, *_ = max1550.read()
    assert card.values["memory_size_bytes",] == 128 * GIB
    assert ("ecc_enabled",) not in card.values


def test_a_library_that_is_not_there_leaves_sysfs(composed: Composed, tmp_path: Path) -> None:
    machine = composed("max1550-two-tiles")
    machine.options = {"level_zero_library": str(tmp_path / "libze_loader.so.1")}
    assert machine.backend().open().source == "sysfs"
    check = machine.backend().probe().checks[-1]
    assert not check.ok
    assert "level-zero" in check.remedy


def test_sysman_is_not_started_while_a_card_sleeps(max1550: Machine, scenario: Scenario) -> None:
    status = max1550.device_file("0000:4b:00.0", "power/runtime_status")
    status.write_text("suspended\n")
    assert max1550.backend().open().source == "sysfs"
    (device,) = max1550.devices()
    assert device.absent == {"uuid": Absence.SUSPENDED, "serial": Absence.SUSPENDED}
    with pytest.raises(DeviceSuspended):
        max1550.read()
    status.write_text("active\n")
    card, *_ = max1550.read()
    assert card.values["ecc_enabled",] == 1, "started once the card was awake"
    assert max1550.devices()[0].uuid is not None


def test_integrated_gpus_do_not_start_sysman(composed: Composed, library: Path) -> None:
    machine = composed("laptop-meteor-lake")
    machine.options = {"level_zero_library": str(library)}
    assert machine.backend().open().source == "sysfs"


def test_a_hanging_call_hangs_only_its_process(
    max1550: Machine, scenario: Scenario, library: Path
) -> None:
    scenario.order("zesMemoryGetState", "hang")
    program = (
        "import sys; from pathlib import Path\n"
        "from accelwatch.backend import Context, Request\n"
        "from accelwatch_intel import IntelBackend\n"
        "options = {'level_zero_library': sys.argv[2]}\n"
        "backend = IntelBackend(Context(root=Path(sys.argv[1]), options=options))\n"
        "backend.open(); print('open', flush=True)\n"
        "backend.read(backend.discover()[0], Request())\n"
    )
    command = [sys.executable, "-c", program, str(max1550.root), str(library)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ))
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "open\n"
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(timeout=0.5)
    finally:
        child.kill()
        child.communicate()


def test_missing_symbols_of_an_old_library() -> None:
    with pytest.raises(NotSupported):
        Sysman(SimpleNamespace()).call("zesDeviceGetEccState")


def test_a_count_that_cannot_be_true() -> None:
    def enumerate_(handle: object, count: Any, items: object) -> int:
        count._obj.value = 4_000_000_000
        return 0

    sysman = Sysman(SimpleNamespace(zesDeviceEnumFans=enumerate_))
    with pytest.raises(ReadError):
        sysman.handles("zesDeviceEnumFans", None)  # type: ignore[arg-type]


def test_a_count_that_shrinks_between_the_two_calls() -> None:
    def enumerate_(handle: object, count: Any, items: Any) -> int:
        if items is None:
            count._obj.value = 3
        else:
            items[0], count._obj.value = 11, 1
        return 0

    sysman = Sysman(SimpleNamespace(zesDeviceEnumFans=enumerate_))
    found = sysman.handles("zesDeviceEnumFans", None)  # type: ignore[arg-type]
    assert [handle.value for handle in found] == [11]


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (0x70000001, DeviceLost),
        (0x70000007, DeviceSuspended),
        (0x70010000, DevicePermission),
        (0x78000003, NotSupported),
        (0x12345678, ReadError),
    ],
)
def test_result_codes_become_exceptions(code: int, kind: type[ReadError]) -> None:
    assert type(error_of("zesInit", code)) is kind


def test_strings_and_uuids() -> None:
    assert text(b"unknown") is None
    assert text(b"") is None
    assert text(b"\xff1") == "�1"
    octets = bytes.fromhex("8680da0b2f0000002900000000000000")
    assert uuid_text(octets) == "00000000-0000-0029-0000-002f0bda8086"
    assert uuid_text(bytes(16)) is None


def test_a_structure_without_its_type_is_refused(library: Path, scenario: Scenario) -> None:
    import ctypes

    scenario.load("b580")
    sysman = Sysman(ctypes.CDLL(str(library)))
    (device,) = sysman.devices().values()
    (memory, _) = sysman.handles("zesDeviceEnumMemoryModules", device)
    with pytest.raises(ReadError):
        sysman.call("zesMemoryGetState", memory, ctypes.byref(MemoryState()))
    assert sysman.get("zesMemoryGetState", memory, MemoryState).size == 12784238592


def readings_of(machine: Machine) -> list[Reading]:
    backend = machine.backend()
    return [
        reading
        for device in backend.discover()
        for reading in backend.read(device, Request(processes=False))
    ]


def test_without_processes_there_are_none(b580: Machine) -> None:
    (card,) = readings_of(opened(b580))
    assert card.processes is None
    assert card.absent["processes",] is Absence.NOT_COLLECTED
