"""Composed scenarios of the stand-in: older boards and drivers, partitions, included files."""

import os
from pathlib import Path

import pytest

from nvml_stand_in.binding import nvml, run_child
from support.machines.nvml_stand_ins import SCENARIOS, NvmlScenario, preloaded_nvml


def test_retired_pages_of_an_older_board(tmp_path: Path) -> None:
    with preloaded_nvml(NvmlScenario.of(tmp_path / "s", "t4")):
        nvml.nvmlInit()
        handle = nvml.nvmlDeviceGetHandleByIndex(0)
        pages = nvml.nvmlDeviceGetRetiredPages_v2(handle, 1)
        assert pages == [{"address": 0x1F4A000, "timestamp": 1755000000}]
        assert nvml.nvmlDeviceGetRetiredPages(handle, 0) == []
        with pytest.raises(nvml.NVMLError_NotSupported):
            nvml.nvmlDeviceGetRemappedRows(handle)


def test_mig_devices_have_their_own_values(tmp_path: Path) -> None:
    with preloaded_nvml(NvmlScenario.of(tmp_path / "s", "a100x8-mig")):
        nvml.nvmlInit()
        parent = nvml.nvmlDeviceGetHandleByIndex(0)
        assert nvml.nvmlDeviceGetMigMode(parent) == [1, 1]
        with pytest.raises(nvml.NVMLError_NotSupported):
            nvml.nvmlDeviceGetUtilizationRates(parent)
        with pytest.raises(nvml.NVMLError_NotFound):
            nvml.nvmlDeviceGetMigDeviceHandleByIndex(parent, 3)
        part = nvml.nvmlDeviceGetMigDeviceHandleByIndex(parent, 2)
        assert nvml.nvmlDeviceIsMigDeviceHandle(part).value == 1
        assert nvml.nvmlDeviceGetGpuInstanceId(part) == 9
        assert nvml.nvmlDeviceGetAttributes(part).multiprocessorCount == 14
        assert nvml.nvmlDeviceGetMemoryInfo(part).total == 4864 << 20
        assert [p.pid for p in nvml.nvmlDeviceGetComputeRunningProcesses(part)] == [5201]
        owner = nvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(part)
        assert nvml.nvmlDeviceGetUUID(owner) == nvml.nvmlDeviceGetUUID(parent)


def test_calls_are_counted_by_device(scenario: NvmlScenario) -> None:
    with preloaded_nvml(scenario.devices(2)) as library:
        nvml.nvmlInit()
        before = library.standin_calls(b"nvmlDeviceGetName", 1)
        nvml.nvmlDeviceGetName(nvml.nvmlDeviceGetHandleByIndex(1))
        assert library.standin_calls(b"nvmlDeviceGetName", 1) == before + 1


def test_old_driver_has_no_newer_symbols(tmp_path: Path) -> None:
    with preloaded_nvml(NvmlScenario.of(tmp_path / "s", "old-driver")):
        nvml.nvmlInit()
        handle = nvml.nvmlDeviceGetHandleByIndex(0)
        with pytest.raises(nvml.NVMLError_FunctionNotFound):
            nvml.nvmlDeviceGetComputeRunningProcesses_v3(handle)
        with pytest.raises(nvml.NVMLLibraryMismatchError):
            nvml.nvmlDeviceGetComputeRunningProcesses(handle)
        assert [p.pid for p in nvml.nvmlDeviceGetComputeRunningProcesses_v2(handle)] == [7100]
        with pytest.raises(nvml.NVMLError_FunctionNotFound):
            nvml.nvmlDeviceGetMemoryInfo(handle, version=nvml.nvmlMemory_v2)
        assert nvml.nvmlDeviceGetMemoryInfo(handle).total == 15360 << 20


@pytest.mark.parametrize(
    "name", ["h100x8", "a100x8-mig", "l40s", "t4", "rtx4090", "old-driver", "mixed-faults"]
)
def test_composed_scenarios_load(tmp_path: Path, name: str) -> None:
    scenario = NvmlScenario.of(tmp_path / "s", name)
    with preloaded_nvml(scenario):
        nvml.nvmlInit()
        assert nvml.nvmlDeviceGetCount() == scenario.count
        first = nvml.nvmlDeviceGetHandleByIndex(0)
        assert nvml.nvmlDeviceGetUUID(first).startswith("GPU-5ca1ab1e-")
        assert nvml.nvmlDeviceGetPowerUsage(first) > 0


def test_include_is_relative_to_the_file(tmp_path: Path) -> None:
    with preloaded_nvml(NvmlScenario.of(tmp_path / "s", "l40s")):
        os.environ["ACCELWATCH_NVML_SCENARIO"] = str(SCENARIOS / "l40s.scenario")
        nvml.nvmlInit()
        assert nvml.nvmlDeviceGetName(nvml.nvmlDeviceGetHandleByIndex(0)) == "NVIDIA L40S"
        os.environ["ACCELWATCH_NVML_SCENARIO"] = str(tmp_path / "s")


def test_child_finds_the_library_by_its_name(scenario: NvmlScenario) -> None:
    body = "p.nvmlInit(); print(p.nvmlDeviceGetName(p.nvmlDeviceGetHandleByIndex(0)))"
    assert run_child(scenario.devices(1, "t4"), body).stdout == "Tesla T4\n"
