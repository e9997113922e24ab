"""Bad days through the real binding: lost, denied, hung and unknown; one GPU never hides another."""

import threading
from pathlib import Path

import pytest

from accelwatch.backend import Context, Request
from accelwatch.backend.errors import BackendUnavailable
from accelwatch.base.absence import Absence
from accelwatch.base.errors import (
    DeviceLost,
    DevicePermission,
    DeviceSuspended,
    DeviceTimeout,
    ReadError,
)
from accelwatch.schema.health import NO_DRIVER
from accelwatch_nvidia import NvidiaBackend
from support.machines.nvml_stand_ins import NvmlScenario
from support.processes.waiting import GUARD_S

from .conftest import Rig

NVML_ONLY = {"options": {"source": "nvml"}}


def test_a_gpu_lost_between_two_readings_comes_back(rig: Rig) -> None:
    with rig.machine(rig.devices(2)) as machine:
        first, second = machine.identify(0)[0], machine.identify(1)[0]
        machine.backend.read(first, Request())
        machine.scenario.lose(0).write()
        with pytest.raises(DeviceLost) as lost:
            machine.backend.read(first, Request())
        assert lost.value.code == "NVML_ERROR_GPU_IS_LOST"
        assert machine.backend.read(second, Request())[0].values["power_watts",] > 0
        machine.scenario.unset(0, "lost").write()
        assert machine.backend.read(first, Request())[0].values["power_watts",] > 0


def test_a_gpu_that_cannot_be_found_is_listed_and_lost(rig: Rig) -> None:
    rig.gpu_on_bus("0000:10:00.0", "GPU-5ca1ab1e-0000-4000-8000-000000000000", 0)
    rig.gpu_on_bus("0000:14:00.0", "GPU-5ca1ab1e-0000-4000-8000-000000000001", 1)
    with rig.machine(rig.devices(2).lose(1, handle=True)) as machine:
        assert machine.found[1].uuid == "GPU-5ca1ab1e-0000-4000-8000-000000000001"
        assert machine.found[1].model == "NVIDIA H100 80GB HBM3"
        with pytest.raises(DeviceLost) as lost:
            machine.identify(1)
        assert machine.read(0)[0].values
    assert lost.value.code == "NVML_ERROR_GPU_IS_LOST"


@pytest.mark.parametrize(
    ("code", "error", "name"),
    [
        (4, DevicePermission, "NVML_ERROR_NO_PERMISSION"),
        (10, DeviceTimeout, "NVML_ERROR_TIMEOUT"),
        (16, DeviceLost, "NVML_ERROR_RESET_REQUIRED"),
        (999, DeviceLost, "NVML_ERROR_UNKNOWN"),
        (77, ReadError, "NVML_ERROR_77"),
    ],
)
def test_a_refused_handle_is_a_typed_error(
    rig: Rig, code: int, error: type[ReadError], name: str
) -> None:
    scenario = rig.devices(2).fault("nvmlDeviceGetHandleByIndex_v2", f"error:{code}", device=1)
    with rig.machine(scenario) as machine:
        with pytest.raises(error) as raised:
            machine.identify(1)
        assert machine.read(0)[0].values
    assert raised.value.code == name


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (3, Absence.UNSUPPORTED),
        (4, Absence.PERMISSION),
        (10, Absence.TIMEOUT),
        (13, Absence.UNSUPPORTED),
        (27, Absence.ERROR),
        (999, Absence.ERROR),
        (12345, Absence.ERROR),
    ],
)
def test_one_failing_call_costs_one_quantity(rig: Rig, code: int, reason: Absence) -> None:
    scenario = rig.devices(1).fault("nvmlDeviceGetUtilizationRates", f"error:{code}")
    with rig.machine(scenario) as machine:
        reading = machine.read(0)[0]
    assert reading.absent["utilization_ratio",] is reason
    assert reading.values["memory_used_bytes",] > 0


@pytest.mark.parametrize(
    ("code", "error"), [(4, DevicePermission), (16, DeviceLost), (999, DeviceLost)]
)
def test_a_gpu_of_which_every_call_fails_has_no_reading(
    rig: Rig, code: int, error: type[ReadError]
) -> None:
    with rig.machine(rig.devices(1)) as machine:
        (device,) = machine.identify(0)
        machine.scenario.fault("*", f"error:{code}", device=0).write()
        with pytest.raises(error):
            machine.backend.read(device, Request())


def test_a_gpu_that_needs_a_reset_says_so(rig: Rig) -> None:
    scenario = rig.devices(1).fault("nvmlDeviceGetUtilizationRates", "error:16")
    scenario.set(0, "recovery_action", "none")
    with rig.machine(scenario) as machine:
        values = machine.read(0)[0].values
    assert values["reset_required",] == 1


def test_processes_may_be_denied(rig: Rig) -> None:
    scenario = rig.devices(1)
    for kind in ("Compute", "Graphics", "MPSCompute"):
        scenario.fault(f"nvmlDeviceGet{kind}RunningProcesses_v3", "error:4")
    with rig.machine(scenario) as machine:
        reading = machine.read(0)[0]
    assert reading.processes is None
    assert reading.absent["processes",] is Absence.PERMISSION


def test_the_bad_day_scenario(rig: Rig) -> None:
    with rig.machine(rig.scenario("mixed-faults")) as machine:
        assert len(machine.found) == 8
        states: list[str] = []
        for index in range(8):
            try:
                values = machine.read(index)[0].values
            except ReadError as error:
                states.append(error.code)
            else:
                states.append("ok" if ("power_watts",) in values else "no power")
    assert states[:4] == ["ok", "NVML_ERROR_GPU_IS_LOST", "NVML_ERROR_GPU_IS_LOST", "no power"]
    assert states[7] == "ok"


def test_an_old_driver_lacks_calls_not_quantities(rig: Rig) -> None:
    with rig.machine(rig.scenario("old-driver")) as machine:
        reading = machine.read(0)[0]
    assert reading.values["memory_used_bytes",] >= 0
    assert reading.values["power_watts",] > 0
    assert reading.values["temperature_celsius", "gpu"] > 0
    assert {series[0] for series in reading.values} >= {"throttle_active", "utilization_ratio"}
    assert reading.processes is not None


def test_a_hung_gpu_blocks_only_its_own_thread(rig: Rig) -> None:
    with rig.machine(rig.devices(3)) as machine:
        devices = [machine.identify(index)[0] for index in range(3)]
        machine.scenario.fault("nvmlDeviceGetUtilizationRates", "stall", device=1).write()
        hung = threading.Thread(
            target=machine.backend.read, args=(devices[1], Request()), daemon=True
        )
        hung.start()
        for index in (0, 2):
            assert machine.backend.read(devices[index], Request())[0].values
        assert len(machine.backend.discover()) == 3
        assert hung.is_alive()
        machine.scenario.heal("nvmlDeviceGetUtilizationRates", device=1).write()
        hung.join(GUARD_S)
        assert not hung.is_alive()


@pytest.mark.parametrize(
    ("code", "reason"),
    [(9, "driver_not_loaded"), (18, "version_mismatch"), (4, "permission"), (999, "error")],
)
def test_a_refused_start_has_a_reason_and_a_remedy(rig: Rig, code: int, reason: str) -> None:
    scenario = rig.devices(1).fault("nvmlInit_v2", f"error:{code}")
    with pytest.raises(BackendUnavailable) as refused, rig.machine(scenario, **NVML_ONLY):
        pass
    assert refused.value.reason == reason
    assert refused.value.remedy


def test_a_version_mismatch_names_the_kernel_module(rig: Rig) -> None:
    rig.tree.write("sys/module/nvidia/version", "580.95.05\n")
    scenario = rig.devices(1).fault("nvmlInit_v2", "error:18")
    with pytest.raises(BackendUnavailable) as refused, rig.machine(scenario, **NVML_ONLY):
        pass
    assert str(refused.value).endswith("the loaded kernel module is 580.95.05")


def test_a_driver_that_refuses_a_list_for_one_field_is_queried_in_halves(rig: Rig) -> None:
    scenario = rig.devices(1).fault("nvmlDeviceGetFieldValues", "error:2,first:3")
    with rig.machine(scenario) as machine:
        values = machine.read(0)[0].values
    assert values["temperature_celsius", "memory"] == 55
    assert values["throttle_seconds_total", "power"] == 7015.662857


def test_a_driver_without_fields_still_has_its_calls(rig: Rig) -> None:
    scenario = rig.devices(1).missing("nvmlDeviceGetFieldValues")
    with rig.machine(scenario) as machine:
        reading = machine.read(0)[0]
    assert reading.values["power_watts",] == 629.45
    assert reading.values["energy_joules_total", "hardware"] > 0
    assert reading.absent["throttle_seconds_total",] is Absence.UNSUPPORTED


def test_a_missing_library_has_a_reason(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    import pynvml

    def missing() -> None:
        raise pynvml.NVMLError(pynvml.NVML_ERROR_LIBRARY_NOT_FOUND)

    monkeypatch.setattr(pynvml, "nvmlInit", missing)
    backend = NvidiaBackend(Context(root=rig.root, environ={"PATH": "/nowhere"}))
    with pytest.raises(BackendUnavailable) as refused:
        backend.open()
    assert refused.value.reason == "library_not_found"


@pytest.mark.parametrize(
    ("content", "why"), [(b"", "it is empty"), (b"not ELF", "cannot be loaded")]
)
def test_a_library_that_cannot_be_loaded_is_not_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, why: str
) -> None:
    import pynvml

    def missing() -> None:
        raise pynvml.NVMLError(pynvml.NVML_ERROR_LIBRARY_NOT_FOUND)

    monkeypatch.setattr(pynvml, "nvmlInit", missing)
    library = tmp_path / "libnvidia-ml.so.1"
    library.write_bytes(content)
    environ = {"PATH": "/nowhere", "LD_LIBRARY_PATH": str(tmp_path)}
    with pytest.raises(BackendUnavailable, match=why) as refused:
        NvidiaBackend(Context(root=tmp_path, environ=environ)).open()
    assert str(library) in str(refused.value)
    assert refused.value.reason == "library_not_loaded"


def test_a_reloaded_driver_is_met_again(rig: Rig) -> None:
    with rig.machine(rig.devices(2)) as machine:
        (device,) = machine.identify(0)
        machine.backend.read(device, Request())
        machine.scenario.fault("*", "error:9").write()
        with pytest.raises(ReadError) as gone:
            machine.backend.read(device, Request())
        assert gone.value.code == "NVML_ERROR_DRIVER_NOT_LOADED"
        with pytest.raises(BackendUnavailable) as down:
            machine.backend.discover()
        assert down.value.reason == "driver_not_loaded"
        machine.scenario.heal("*").write()
        assert len(machine.backend.discover()) == 2
        assert machine.backend.read(device, Request())[0].values


def test_no_device_is_an_empty_list(rig: Rig) -> None:
    with rig.machine(rig.devices(0)) as machine:
        assert machine.found == []


def test_a_sleeping_gpu_is_left_asleep(rig: Rig) -> None:
    rig.gpu_on_bus("0000:10:00.0", "GPU-5ca1ab1e-0000-4000-8000-000000000000", 0, "suspended")
    rig.gpu_on_bus("0000:14:00.0", "GPU-5ca1ab1e-0000-4000-8000-000000000001", 1)
    name = b"nvmlDeviceGetHandleByIndex_v2"
    with rig.machine(rig.devices(2)) as machine:
        before = rig.library.standin_calls(name, 0)
        with pytest.raises(DeviceSuspended):
            machine.identify(0)
        assert rig.library.standin_calls(name, 0) == before
        assert machine.read(1)[0].values
    with rig.machine(rig.devices(2), wake_suspended=True) as machine:
        assert machine.read(0)[0].values


def test_when_all_sleep_nvml_is_not_even_started(rig: Rig) -> None:
    rig.gpu_on_bus("0000:10:00.0", "GPU-5ca1ab1e-0000-4000-8000-000000000000", 0, "suspended")
    scenario = rig.devices(1).fault("nvmlInit_v2", "error:999")
    with rig.machine(scenario) as machine:
        assert machine.opened.source == "nvml"
        assert [device.pci_bus_id for device in machine.found] == ["0000:10:00.0"]
        with pytest.raises(DeviceSuspended):
            machine.identify(0)
        rig.tree.write("sys/bus/pci/devices/0000:10:00.0/power/runtime_status", "active\n")
        machine.scenario.heal("nvmlInit_v2").write()
        assert machine.identify(0)[0].serial == "1650000000000"


def test_a_gpu_that_nvml_does_not_count_is_still_listed(rig: Rig) -> None:
    for index, bus in enumerate(("0000:10:00.0", "0000:14:00.0", "0000:18:00.0")):
        rig.gpu_on_bus(bus, f"GPU-5ca1ab1e-0000-4000-8000-00000000000{index}", index)
    with rig.machine(rig.devices(2)) as machine:
        assert [device.pci_bus_id for device in machine.found] == [
            "0000:10:00.0",
            "0000:14:00.0",
            "0000:18:00.0",
        ]
        assert machine.identify(1)[0].pci_bus_id == "0000:14:00.0"
        with pytest.raises(DeviceLost):
            machine.identify(2)


def test_a_slot_that_became_another_gpu_is_refused(rig: Rig) -> None:
    with rig.machine(rig.devices(2)) as machine:
        (device,) = machine.identify(0)
        machine.scenario.lose(0).write()
        with pytest.raises(DeviceLost):
            machine.backend.read(device, Request())
        machine.scenario.unset(0, "lost").set(0, "uuid", "GPU-another").write()
        with pytest.raises(DeviceLost):
            machine.backend.read(device, Request())
        assert machine.identify(0)[0].uuid == "GPU-another"


def test_discovered_devices_stay_the_same_when_identified(rig: Rig) -> None:
    with rig.machine(rig.devices(2)) as machine:
        full = machine.identify(0)[0]
        machine.backend.read(full, Request())
        assert list(machine.backend.discover()) == machine.found


def test_gpus_of_other_containers_are_denied_not_lost(rig: Rig) -> None:
    for index, bus in enumerate(("0000:08:00.0", "0000:0c:00.0", "0000:10:00.0", "0000:14:00.0")):
        rig.gpu_on_bus(bus, f"GPU-{index}", index)
    for name in ("nvidiactl", "nvidia2", "nvidia3"):
        rig.tree.write(f"dev/{name}", "")
    scenario = rig.devices(2).set(0, "uuid", "GPU-2").set(1, "uuid", "GPU-3")
    with rig.machine(scenario) as machine:
        assert [(device.name, device.uuid) for device in machine.found] == [
            ("nvidia0", "GPU-2"),
            ("nvidia1", "GPU-3"),
            ("nvidia2", "GPU-0"),
            ("nvidia3", "GPU-1"),
        ]
        assert machine.read(0)[0].values
        with pytest.raises(DevicePermission) as denied:
            machine.identify(3)
    assert "/dev/nvidia1 is not here" in str(denied.value)


def test_gpus_that_only_the_bus_shows_are_not_called_lost(rig: Rig) -> None:
    for index, bus in enumerate(("0000:10:00.0", "0000:14:00.0", "0000:18:00.0")):
        rig.gpu_on_bus(bus, f"GPU-{index}", index)
        (rig.root / f"sys/bus/pci/devices/{bus}/driver").symlink_to("/drivers/nvidia")
        (rig.root / f"proc/driver/nvidia/gpus/{bus}/information").unlink()
        (rig.root / f"proc/driver/nvidia/gpus/{bus}").rmdir()
    with rig.machine(rig.devices(2)) as machine:
        assert [device.pci_bus_id for device in machine.found] == [None, None]
    with rig.machine(rig.devices(3)) as machine:
        assert machine.found[2].pci_bus_id == "0000:18:00.0"


def test_an_identity_once_known_outlives_failing_calls(rig: Rig) -> None:
    with rig.machine(rig.devices(1)) as machine:
        (full,) = machine.identify(0)
        machine.scenario.fault("nvmlDeviceGetUUID", "error:16")
        machine.scenario.fault("nvmlDeviceGetSerial", "error:999").write()
        (again,) = machine.identify(0)
    assert again.id == full.id
    assert again.serial == full.serial


def test_a_gpu_keeps_its_slot_when_nvml_renumbers(rig: Rig) -> None:
    for index, bus in enumerate(("0000:10:00.0", "0000:14:00.0", "0000:18:00.0")):
        rig.gpu_on_bus(bus, f"GPU-5ca1ab1e-0000-4000-8000-00000000000{index}", index)
    scenario = rig.devices(3)
    with rig.machine(scenario) as machine:
        last = machine.identify(2)[0]
        machine.scenario.fault("*", "error:1").write()
        with pytest.raises(ReadError):
            machine.backend.read(last, Request())
        machine.scenario.heal("*").system("count", 2)
        for key in ("uuid", "pci_bus_id", "serial"):
            machine.scenario.set(1, key, machine.scenario.values[f"device.2.{key}"])
        machine.scenario.write()
        again = list(machine.backend.discover())
        assert again == machine.found
        assert machine.backend.read(last, Request())[0].values
        with pytest.raises(DeviceLost):
            machine.backend.identify(again[1])


def test_texts_that_are_no_utf8_do_not_end_the_reading(rig: Rig) -> None:
    scenario = rig.devices(1)
    with rig.machine(scenario):
        pass
    with scenario.path.open("ab") as file:
        file.write(b"device.0.name=GPU \xff\xfe\n")
    include = NvmlScenario(rig.root / "outer.scenario").system("include", scenario.path.name)
    include.values = {"include": scenario.path.name}
    with rig.machine(include) as machine:
        device = machine.identify(0)[0]
    assert device.uuid == "GPU-5ca1ab1e-0000-4000-8000-000000000000"
    assert device.absent == {"model": Absence.ERROR}


def test_a_count_of_gpus_that_cannot_be_is_no_list_of_them(rig: Rig) -> None:
    scenario = rig.devices(1).system("told_count", 1 << 31)
    with pytest.raises(BackendUnavailable) as refused, rig.machine(scenario, **NVML_ONLY):
        pass
    assert refused.value.reason == "implausible_count"


def test_a_count_of_fans_that_cannot_be_is_cut(rig: Rig) -> None:
    scenario = rig.devices(1).set(0, "num_fans", 1 << 31).set(0, "fan.0.speed_percent", 40)
    with rig.machine(scenario) as machine:
        reading = machine.read(0)[0]
    assert reading.values["fan_speed_ratio", "0"] == 0.4
    assert len([series for series in reading.absent if series[0] == "fan_speed_ratio"]) < 32


def test_a_count_of_mig_slots_that_cannot_be_is_cut(rig: Rig) -> None:
    scenario = rig.devices(1, "h100").mig(0, 0, "MIG-5ca1ab1e", gpu_instance_id=1)
    scenario.set(0, "mig.0.compute_instance_id", 0).set(0, "max_mig_devices", 1 << 31)
    with rig.machine(scenario) as machine:
        assert len(machine.identify()) == 2


def test_a_gpu_that_the_driver_did_not_bring_up_is_a_row_that_says_so(rig: Rig) -> None:
    """Its probe has failed: NVML does not count it, the driver does not list it, the bus has it."""
    for index, bus in enumerate(("0000:10:00.0", "0000:14:00.0", "0000:18:00.0")):
        rig.gpu_on_bus(bus, f"GPU-{index}", index)
    rig.tree.write("dev/nvidiactl", "")
    (rig.root / "proc/driver/nvidia/gpus/0000:14:00.0/information").unlink()
    (rig.root / "proc/driver/nvidia/gpus/0000:14:00.0").rmdir()
    scenario = rig.devices(2).set(0, "uuid", "GPU-0").set(1, "uuid", "GPU-2")
    with rig.machine(scenario) as machine:
        assert [(device.name, device.pci_bus_id) for device in machine.found] == [
            ("nvidia0", "0000:10:00.0"),
            ("nvidia1", "0000:18:00.0"),
            ("nvidia2", "0000:14:00.0"),
        ]
        assert machine.read(0)[0].values
        for ask in (machine.identify, machine.read):
            with pytest.raises(ReadError, match="no driver has 0000:14:00.0") as failed:
                ask(2)
            assert failed.value.code == NO_DRIVER


@pytest.mark.parametrize("driver", ["vfio-pci", "nvidia"])
def test_a_gpu_of_the_bus_that_some_driver_has_is_not_ours(rig: Rig, driver: str) -> None:
    for index, bus in enumerate(("0000:10:00.0", "0000:14:00.0")):
        rig.gpu_on_bus(bus, f"GPU-{index}", index)
    (rig.root / "proc/driver/nvidia/gpus/0000:14:00.0/information").unlink()
    (rig.root / "proc/driver/nvidia/gpus/0000:14:00.0").rmdir()
    (rig.root / "sys/bus/pci/devices/0000:14:00.0/driver").symlink_to(f"/drivers/{driver}")
    with rig.machine(rig.devices(1)) as machine:
        assert [device.pci_bus_id for device in machine.found] == ["0000:10:00.0"]
