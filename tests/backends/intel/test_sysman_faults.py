"""Sysman on bad days: failing calls, lost and worn devices, old loaders, hangs, no runtime."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from accelwatch.base.absence import Absence
from accelwatch.base.errors import DeviceLost, DeviceSuspended
from support.machines.intel_machines import Composed, Machine, opened
from support.machines.level_zero import Scenario, build_level_zero

GIB = 1 << 30


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


def test_an_old_loader_is_started_through_the_core_library(
    max1550: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZES_ENABLE_SYSMAN", "0")
    max1550.options = {"level_zero_library": str(build_level_zero("-DOLD_LOADER"))}
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


def test_an_energy_counter_that_never_counted_is_no_energy(
    max1550: Machine, scenario: Scenario
) -> None:
    opened(max1550)
    scenario.set(dev__0__power__0__energy=0, dev__0__power__1__energy=0)
    for number in (1, 2):
        max1550.device_file("0000:4b:00.0", f"hwmon/hwmon9/energy{number}_input").write_text("0\n")
    card, first, second = max1550.read()
    assert card.absent["energy_joules_total", "hardware"] is Absence.ERROR
    assert ("energy_joules_total", "hardware") not in first.values
    assert second.values["energy_joules_total", "hardware"] == 300_000.0
