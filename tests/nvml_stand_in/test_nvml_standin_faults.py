"""Faults of the stand-in: codes, losses, changes while in use, stalls, hangs and deaths."""

import concurrent.futures
import os
import signal
import subprocess
import sys
import threading

import pytest

from nvml_stand_in.binding import code_of, nvml, run_child
from support.machines.nvml_stand_ins import NvmlScenario, preloaded_nvml
from support.processes.waiting import GUARD_S


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
        assert stalled.result(timeout=GUARD_S) == 77


def test_latency_releases_the_interpreter(h100x2: NvmlScenario) -> None:
    h100x2.fault("nvmlDeviceGetPowerUsage", "stall", device=1).write()
    handles = [nvml.nvmlDeviceGetHandleByIndex(i) for i in range(2)]
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(nvml.nvmlDeviceGetPowerUsage, handles[1])
        assert [nvml.nvmlDeviceGetPowerUsage(handles[0]) for _ in range(3)] == [629450] * 3
        assert not waiting.done()
        h100x2.fault("nvmlDeviceGetPowerUsage", "delay_ms:1", device="*")
        h100x2.heal("nvmlDeviceGetPowerUsage", device=1).write()
        assert waiting.result(timeout=GUARD_S) == 629450
    assert nvml.nvmlDeviceGetPowerUsage(handles[1]) == 629450


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
