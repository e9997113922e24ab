"""The stand-in NVML library, read through the real binding: each kind of value, and its symbols."""

import ctypes
import re
from typing import Any

import pytest

from nvml_stand_in.binding import nvml
from support.machines.nvml_stand_ins import NvmlScenario, build_nvml
from support.machines.samples import sample


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


@pytest.mark.oracle
def test_symbols_are_those_of_a_real_library(scenario: NvmlScenario) -> None:
    capture = sample("nvidia/captures/linux-x86_64__nvidia-h100-80gb-hbm3__590.48.01.txt")
    real = set(re.findall(r"^nvml\w+$", capture.read_text(), re.MULTILINE))
    names = re.findall(rb"\0(nvml[A-Z]\w+)(?=\0)", build_nvml().read_bytes())
    library = ctypes.CDLL(str(build_nvml()))
    ours = {name.decode() for name in names if hasattr(library, name.decode())}
    assert len(ours) > 100
    assert ours <= real
