"""The stand-in NVML library, read through the real binding."""

import concurrent.futures
import ctypes
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pynvml
import pytest

from samples import sample
from standins import SCENARIOS, NvmlScenario, build_nvml, preloaded_nvml

nvml: Any = pynvml
"""The binding is not typed."""


@pytest.fixture
def scenario(tmp_path: Path) -> NvmlScenario:
    build_nvml()
    return NvmlScenario(tmp_path / "nvml.scenario")


@pytest.fixture
def h100x2(scenario: NvmlScenario) -> Iterator[NvmlScenario]:
    with preloaded_nvml(scenario.devices(2)):
        nvml.nvmlInit()
        yield scenario


def code_of(error: pytest.ExceptionInfo[BaseException]) -> int:
    value: int = error.value.value  # type: ignore[attr-defined]
    return value


def run_child(scenario: NvmlScenario, body: str, timeout_s: float = 20) -> Any:
    """Runs Python with pynvml imported as `p` in a process whose only NVML is the stand-in."""
    scenario.write()
    return subprocess.run(
        [sys.executable, "-c", f"import pynvml as p\n{body}"],
        env=os.environ | scenario.environment(),
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )


def test_identity_is_read_back(h100x2: NvmlScenario) -> None:
    handle = nvml.nvmlDeviceGetHandleByIndex(1)
    assert nvml.nvmlDeviceGetCount() == 2
    assert nvml.nvmlSystemGetDriverVersion() == "590.48.01"
    assert nvml.nvmlDeviceGetName(handle) == "NVIDIA H100 80GB HBM3"
    assert nvml.nvmlDeviceGetUUID(handle) == "GPU-5ca1ab1e-0000-4000-8000-000000000001"
    pci = nvml.nvmlDeviceGetPciInfo(handle)
    assert (pci.busId, pci.busIdLegacy) == ("00000000:14:00.0", "0000:14:00.0")
    assert pci.pciDeviceId == 0x233010DE
    assert nvml.nvmlDeviceGetIndex(nvml.nvmlDeviceGetHandleByPciBusId(b"0000:14:00.0")) == 1


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        (nvml.nvmlDeviceGetPowerUsage, 629450),
        (nvml.nvmlDeviceGetPowerManagementLimitConstraints, [200000, 700000]),
        (nvml.nvmlDeviceGetTotalEnergyConsumption, 184467440737),
        (lambda h: nvml.nvmlDeviceGetTemperatureV(h, 0), 59),
        (nvml.nvmlDeviceGetMarginTemperature, 26),
        (lambda h: nvml.nvmlDeviceGetClockInfo(h, nvml.NVML_CLOCK_MEM), 2619),
        (lambda h: nvml.nvmlDeviceGetUtilizationRates(h).gpu, 100),
        (nvml.nvmlDeviceGetCudaComputeCapability, (9, 0)),
        (nvml.nvmlDeviceGetEccMode, [1, 1]),
        (nvml.nvmlDeviceGetRemappedRows, (0, 0, 0, 0)),
        (lambda h: nvml.nvmlDeviceGetRowRemapperHistogram(h).max, 2560),
        (lambda h: nvml.nvmlDeviceGetNvLinkState(h, 17), 1),
        (lambda h: nvml.nvmlDeviceGetPcieThroughput(h, nvml.NVML_PCIE_UTIL_RX_BYTES), 6346),
        (lambda h: list(nvml.nvmlDeviceGetMemoryAffinity(h, 1, 0)), [1]),
    ],
)
def test_quantities_are_read_back(h100x2: NvmlScenario, read: Any, expected: object) -> None:
    assert read(nvml.nvmlDeviceGetHandleByIndex(0)) == expected


def test_first_memory_version_counts_reserved_as_used(h100x2: NvmlScenario) -> None:
    handle = nvml.nvmlDeviceGetHandleByIndex(0)
    newer = nvml.nvmlDeviceGetMemoryInfo(handle, version=nvml.nvmlMemory_v2)
    older = nvml.nvmlDeviceGetMemoryInfo(handle)
    assert newer.total == older.total == 81559 << 20
    assert newer.used == 62215 << 20
    assert older.used == newer.used + newer.reserved
    assert older.free == newer.free


def test_versioned_structures_are_filled(h100x2: NvmlScenario) -> None:
    handle = nvml.nvmlDeviceGetHandleByIndex(0)
    fabric = nvml.c_nvmlGpuFabricInfo_v2_t()
    nvml.nvmlDeviceGetGpuFabricInfoV(handle, nvml.byref(fabric))
    assert fabric.state == nvml.NVML_GPU_FABRIC_STATE_COMPLETED
    h100x2.set(0, "sram_threshold_exceeded", 1).set(0, "sram_volatile_corrected", 7).write()
    status = nvml.c_nvmlEccSramErrorStatus_v1_t()
    nvml.nvmlDeviceGetSramEccErrorStatus(handle, nvml.byref(status))
    assert (status.bThresholdExceeded, status.volatileCor) == (1, 7)


def test_unknown_quantity_is_not_supported(h100x2: NvmlScenario) -> None:
    handle = nvml.nvmlDeviceGetHandleByIndex(0)
    with pytest.raises(nvml.NVMLError_NotSupported):
        nvml.nvmlDeviceGetFanSpeed_v2(handle, 0)
    h100x2.set(0, "serial", "none").write()
    with pytest.raises(nvml.NVMLError_NotSupported):
        nvml.nvmlDeviceGetSerial(handle)


def test_field_values_answer_one_by_one(h100x2: NvmlScenario) -> None:
    h100x2.set(0, "field.163.5", "u64:9999999999").set(0, "field.230", "error:4").write()
    handle = nvml.nvmlDeviceGetHandleByIndex(0)
    wanted = [82, 193, 186, (186, 1), (163, 5), 230, 300]
    memory, shutdown, power, module, crc, recovery, unknown = nvml.nvmlDeviceGetFieldValues(
        handle, wanted
    )
    assert (memory.valueType, memory.value.uiVal) == (nvml.NVML_VALUE_TYPE_UNSIGNED_INT, 55)
    assert (shutdown.valueType, shutdown.value.siVal) == (nvml.NVML_VALUE_TYPE_SIGNED_INT, -8)
    assert power.value.uiVal == 588390
    assert crc.value.ullVal == 9999999999
    assert [f.nvmlReturn for f in (module, recovery, unknown)] == [3, 4, 3]


def test_processes_follow_the_two_call_protocol(h100x2: NvmlScenario) -> None:
    rows: list[dict[str, str | int]] = [
        {"pid": 100 + i, "kind": "c", "memory": i << 30, "sm": 10 + i} for i in range(3)
    ]
    h100x2.processes(0, [*rows, {"pid": 200, "kind": "g"}]).write()
    handle = nvml.nvmlDeviceGetHandleByIndex(0)
    count = nvml.c_uint(1)
    one = (nvml.c_nvmlProcessInfo_v3_t * 1)()
    call = nvml._nvmlGetFunctionPointer("nvmlDeviceGetComputeRunningProcesses_v3")
    assert call(handle, nvml.byref(count), one) == nvml.NVML_ERROR_INSUFFICIENT_SIZE
    assert count.value == 3
    compute = nvml.nvmlDeviceGetComputeRunningProcesses(handle)
    assert [(p.pid, p.usedGpuMemory) for p in compute] == [(100, 0), (101, 1 << 30), (102, 2 << 30)]
    (graphics,) = nvml.nvmlDeviceGetGraphicsRunningProcesses(handle)
    assert (graphics.pid, graphics.usedGpuMemory) == (200, None)
    samples = nvml.nvmlDeviceGetProcessUtilization(handle, 0)
    assert [(s.pid, s.smUtil) for s in samples] == [(100, 10), (101, 11), (102, 12)]
    with pytest.raises(nvml.NVMLError_NotFound):
        nvml.nvmlDeviceGetProcessUtilization(handle, samples[0].timeStamp + 10**12)


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


def test_gpm_metrics_need_two_samples(h100x2: NvmlScenario) -> None:
    handle = nvml.nvmlDeviceGetHandleByIndex(0)
    assert nvml.nvmlGpmQueryDeviceSupport(handle).isSupportedDevice == 1
    first, second = nvml.nvmlGpmSampleAlloc(), nvml.nvmlGpmSampleAlloc()
    nvml.nvmlGpmSampleGet(handle, first)
    wanted = nvml.c_nvmlGpmMetricsGet_t(version=1, numMetrics=2, sample1=first, sample2=second)
    wanted.metrics[0].metricId = nvml.NVML_GPM_METRIC_DRAM_BW_UTIL
    wanted.metrics[1].metricId = nvml.NVML_GPM_METRIC_NVDEC_7_UTIL
    with pytest.raises(nvml.NVMLError_InvalidArgument):
        nvml.nvmlGpmMetricsGet(wanted)
    nvml.nvmlGpmSampleGet(handle, second)
    nvml.nvmlGpmMetricsGet(wanted)
    assert wanted.metrics[0].value == 58.4
    assert wanted.metrics[1].nvmlReturn == nvml.NVML_ERROR_NOT_SUPPORTED
    nvml.nvmlGpmSampleFree(first)
    nvml.nvmlGpmSampleFree(second)


@pytest.mark.parametrize("code", [4, 15, 16, 999])
def test_one_call_of_one_device_fails(h100x2: NvmlScenario, code: int) -> None:
    h100x2.fault("nvmlDeviceGetPowerUsage", f"error:{code}", device=1).write()
    good, bad = (nvml.nvmlDeviceGetHandleByIndex(i) for i in range(2))
    with pytest.raises(nvml.NVMLError) as error:
        nvml.nvmlDeviceGetPowerUsage(bad)
    assert code_of(error) == code
    assert nvml.nvmlDeviceGetPowerUsage(good) == 629450
    assert nvml.nvmlDeviceGetClockInfo(bad, 0) == 1980


def test_rule_conditions_count_calls(h100x2: NvmlScenario) -> None:
    h100x2.fault("nvmlDeviceGetPowerUsage", "error:999,after:2,every:2", device=0).write()
    handle = nvml.nvmlDeviceGetHandleByIndex(0)
    call = nvml._nvmlGetFunctionPointer("nvmlDeviceGetPowerUsage")
    out = nvml.c_uint()
    codes = [call(handle, nvml.byref(out)) for _ in range(6)]
    assert codes == [0, 0, 0, 999, 0, 999]


def test_wildcard_has_exceptions(h100x2: NvmlScenario) -> None:
    h100x2.fault("*", "error:16", device="*").fault("nvmlDeviceGetName", "ok", device=0).write()
    handle = nvml.nvmlDeviceGetHandleByIndex(0)
    assert nvml.nvmlDeviceGetName(handle) == "NVIDIA H100 80GB HBM3"
    with pytest.raises(nvml.NVMLError_ResetRequired):
        nvml.nvmlDeviceGetUUID(handle)


@pytest.mark.parametrize("code", [9, 18])
def test_initialisation_fails(scenario: NvmlScenario, code: int) -> None:
    with preloaded_nvml(scenario.fault("nvmlInit_v2", f"error:{code}")):
        with pytest.raises(nvml.NVMLError) as error:
            nvml.nvmlInit()
        assert code_of(error) == code
        with pytest.raises(nvml.NVMLError_Uninitialized):
            nvml.nvmlDeviceGetCount()
        scenario.heal("nvmlInit_v2").devices(1).write()
        nvml.nvmlInit()
        assert nvml.nvmlDeviceGetCount() == 1


def test_device_is_lost_while_in_use(h100x2: NvmlScenario) -> None:
    handle = nvml.nvmlDeviceGetHandleByIndex(1)
    assert nvml.nvmlDeviceGetName(handle)
    h100x2.lose(1).write()
    for call in (
        nvml.nvmlDeviceGetName,
        nvml.nvmlDeviceGetPowerUsage,
        nvml.nvmlDeviceGetMemoryInfo,
    ):
        with pytest.raises(nvml.NVMLError_GpuIsLost):
            call(handle)
    nvml.nvmlDeviceGetHandleByIndex(1)
    h100x2.lose(1, handle=True).write()
    with pytest.raises(nvml.NVMLError_GpuIsLost):
        nvml.nvmlDeviceGetHandleByIndex(1)
    assert nvml.nvmlDeviceGetPowerUsage(nvml.nvmlDeviceGetHandleByIndex(0)) == 629450


def test_count_changes_while_in_use(h100x2: NvmlScenario) -> None:
    last = nvml.nvmlDeviceGetHandleByIndex(1)
    h100x2.system("count", 1).write()
    assert nvml.nvmlDeviceGetCount() == 1
    with pytest.raises(nvml.NVMLError_GpuIsLost):
        nvml.nvmlDeviceGetName(last)
    with pytest.raises(nvml.NVMLError_InvalidArgument):
        nvml.nvmlDeviceGetHandleByIndex(1)


def test_change_is_seen_by_threads_in_use(h100x2: NvmlScenario) -> None:
    handle = nvml.nvmlDeviceGetHandleByIndex(0)
    done = threading.Event()

    def read() -> set[int]:
        seen = set()
        while not done.is_set():
            seen.add(nvml.nvmlDeviceGetPowerUsage(handle))
        return seen | {nvml.nvmlDeviceGetPowerUsage(handle)}

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        readers = [pool.submit(read) for _ in range(4)]
        for step in range(20):
            h100x2.set(0, "power_usage_mw", 1000 + step).write()
        done.set()
        seen = set.union(*(reader.result() for reader in readers))
    assert 1019 in seen
    assert seen <= {629450, *range(1000, 1020)}


def test_stalled_call_goes_on_after_a_change(h100x2: NvmlScenario) -> None:
    h100x2.fault("nvmlDeviceGetPowerUsage", "stall", device=0).write()
    handle = nvml.nvmlDeviceGetHandleByIndex(0)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        stalled = pool.submit(nvml.nvmlDeviceGetPowerUsage, handle)
        with pytest.raises(TimeoutError):
            stalled.result(timeout=0.05)
        h100x2.heal("nvmlDeviceGetPowerUsage", device=0).set(0, "power_usage_mw", 77).write()
        assert stalled.result(timeout=10) == 77


def test_latency_releases_the_interpreter(h100x2: NvmlScenario) -> None:
    h100x2.fault("nvmlDeviceGetPowerUsage", "stall", device=1).write()
    handles = [nvml.nvmlDeviceGetHandleByIndex(i) for i in range(2)]
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(nvml.nvmlDeviceGetPowerUsage, handles[1])
        assert [nvml.nvmlDeviceGetPowerUsage(handles[0]) for _ in range(3)] == [629450] * 3
        assert not waiting.done()
        h100x2.fault("nvmlDeviceGetPowerUsage", "delay_ms:1", device="*")
        h100x2.heal("nvmlDeviceGetPowerUsage", device=1).write()
        assert waiting.result(timeout=10) == 629450
    assert nvml.nvmlDeviceGetPowerUsage(handles[1]) == 629450


def test_event_is_delivered_once(h100x2: NvmlScenario) -> None:
    handle = nvml.nvmlDeviceGetHandleByIndex(1)
    events = nvml.nvmlEventSetCreate()
    nvml.nvmlDeviceRegisterEvents(handle, nvml.nvmlEventTypeXidCriticalError, events)
    with pytest.raises(nvml.NVMLError_Timeout):
        nvml.nvmlEventSetWait_v2(events, 10)
    h100x2.event(0, 31).event(1, 79).write()
    event = nvml.nvmlEventSetWait_v2(events, 1000)
    assert (event.eventData, event.gpuInstanceId) == (79, 0xFFFFFFFF)
    assert nvml.nvmlDeviceGetIndex(event.device) == 1
    with pytest.raises(nvml.NVMLError_Timeout):
        nvml.nvmlEventSetWait_v2(events, 10)
    nvml.nvmlEventSetFree(events)


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


def test_child_dies_by_the_fault(scenario: NvmlScenario) -> None:
    scenario.devices(1).fault("nvmlDeviceGetPowerUsage", "segv,after:3", device=0)
    body = (
        "p.nvmlInit(); h = p.nvmlDeviceGetHandleByIndex(0)\n"
        "for _ in range(9): print(p.nvmlDeviceGetPowerUsage(h), flush=True)"
    )
    child = run_child(scenario, body)
    assert child.returncode == -signal.SIGSEGV
    assert child.stdout.split() == ["629450"] * 3


def test_hang_ends_only_by_a_kill(scenario: NvmlScenario) -> None:
    scenario.devices(1).fault("nvmlDeviceGetPowerUsage", "hang", device=0).write()
    body = (
        "import pynvml as p\np.nvmlInit(); h = p.nvmlDeviceGetHandleByIndex(0)\n"
        "print('before', flush=True); p.nvmlDeviceGetPowerUsage(h); print('after')"
    )
    with subprocess.Popen(
        [sys.executable, "-c", body],
        env=os.environ | scenario.environment(),
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "before\n"
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(0.1)
        child.kill()
        assert child.stdout.read() == ""
    assert child.returncode == -signal.SIGKILL


@pytest.mark.oracle
def test_symbols_are_those_of_a_real_library(scenario: NvmlScenario) -> None:
    capture = sample("nvidia/captures/linux-x86_64__nvidia-h100-80gb-hbm3__590.48.01.txt")
    real = set(re.findall(r"^nvml\w+$", capture.read_text(), re.MULTILINE))
    names = re.findall(rb"\0(nvml[A-Z]\w+)(?=\0)", build_nvml().read_bytes())
    library = ctypes.CDLL(str(build_nvml()))
    ours = {name.decode() for name in names if hasattr(library, name.decode())}
    assert len(ours) > 100
    assert ours <= real
