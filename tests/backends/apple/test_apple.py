"""What commands of a Mac say of its GPU and neural engine, in base units, and what they do not say."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from accelwatch.backend import Context, Request
from accelwatch.backend.errors import BackendUnavailable
from accelwatch.base.absence import Absence
from accelwatch.base.errors import DeviceLost, ReadError
from accelwatch.schema.device import Device, DeviceKind, DeviceState, MemoryKind
from accelwatch.schema.health import Health, evaluate_health
from accelwatch.schema.reading import Reading
from accelwatch_apple.backend import AppleBackend
from accelwatch_apple.system import System, this_system
from backends.apple.machines import (
    M1_MACMON,
    M2_ULTRA_HOT,
    M3_MAX,
    M4_BROKEN,
    M4_PLAIN,
    M4_SILENT,
    MACMON,
    Mac,
    printing,
    stage,
    write_command,
)
from support.machines.polling import EVERYTHING, Poll, Polled, assert_all_believed, identities
from support.machines.staged_machines import Stage

GIB = 1 << 30
PAGE = 16384


@contextlib.contextmanager
def opened(folder: Path, mac: Mac, **options: object) -> Iterator[tuple[Stage, AppleBackend]]:
    with stage(folder, mac) as staged:
        backend = staged.backend(options=options)
        assert isinstance(backend, AppleBackend)
        backend.open()
        yield staged, backend
        backend.close()


def polled(folder: Path, mac: Mac) -> list[Polled]:
    with opened(folder, mac) as (staged, backend):
        polls = Poll(staged.clock)(backend)
    for one in polls:
        if one.readings:
            assert_all_believed(list(one.identity), list(one.readings))
    return polls


def gpu_of(folder: Path, mac: Mac) -> Reading:
    return polled(folder, mac)[0].readings[0]


def test_who_they_are(tmp_path: Path) -> None:
    gpu, ane = identities(polled(tmp_path, M3_MAX))
    assert gpu == Device(
        id="apple:C0MP05ED01-gpu",
        vendor="apple",
        backend="apple",
        index=0,
        name="apple0",
        model="Apple M3 Max",
        architecture="g15x",
        serial="C0MP05ED01",
        firmware_version="11881.140.96",
        driver_version="15.6.1",
        memory_kind=MemoryKind.SHARED,
    )
    assert ane == msgspec.structs.replace(
        gpu,
        id="apple:C0MP05ED01-ane",
        index=1,
        name="ane0",
        kind=DeviceKind.NPU,
        model="Apple M3 Max Neural Engine",
        architecture="ane",
    )


def test_root_gets_it_from_powermetrics(tmp_path: Path) -> None:
    gpu, ane = (one.readings[0] for one in polled(tmp_path, M3_MAX))
    assert gpu.values == {
        ("utilization_ratio",): 0.75,
        ("clock_hertz", "graphics"): 1_042_500_000,
        ("clock_limit_hertz", "graphics", "max"): 1_398_000_000,
        ("power_watts",): 21.875,
        ("engine_utilization_ratio", "render"): 0.63,
        ("engine_utilization_ratio", "tiler"): 0.12,
        ("memory_pool_used_bytes", "host"): 9_663_676_416,
        ("resets_total",): 0,
        ("memory_size_bytes",): 128 * GIB,
        ("memory_used_bytes",): 2_000_000 * PAGE,
        ("reported_status_info", "thermal pressure nominal"): 1,
        ("throttle_active", "thermal_software"): 0,
        ("reported_health_info", "ok"): 1,
    }
    assert gpu.sources["power_watts"] == gpu.sources["utilization_ratio"] == "powermetrics"
    assert (gpu.sources["*"], gpu.sources["memory_used_bytes"]) == ("ioreg", "vm_stat")
    assert gpu.absent["temperature_celsius", "gpu"] is Absence.UNSUPPORTED
    assert ane.values == {("power_watts",): 1.25}
    assert ane.absent["processes",] is Absence.UNSUPPORTED


def test_a_user_gets_it_from_macmon(tmp_path: Path) -> None:
    gpu, ane = (one.readings[0] for one in polled(tmp_path, M1_MACMON))
    assert gpu.values == {
        ("utilization_ratio",): 0.09,
        ("clock_hertz", "graphics"): 461_000_000,
        ("power_watts",): 0.0175,
        ("power_component_watts", "sram"): 0.001,
        ("temperature_celsius", "gpu"): 36.5,
        ("fan_speed_rpm", "0"): 999,
        ("engine_utilization_ratio", "render"): 0.23,
        ("engine_utilization_ratio", "tiler"): 0.25,
        ("memory_pool_used_bytes", "host"): 745_570_304,
        ("resets_total",): 0,
        ("memory_size_bytes",): 64 * GIB,
        ("memory_used_bytes",): 1_250_000 * PAGE,
        ("reported_status_info", "thermal pressure nominal"): 1,
        ("throttle_active", "thermal_software"): 0,
        ("reported_health_info", "ok"): 1,
    }
    assert gpu.sources["throttle_active"] == "notifyutil"
    assert ane.values == {("power_watts",): 0.0}
    assert [(one.pid, one.command, one.user) for one in gpu.processes or ()] == [
        (453, "WindowServer", "_windowserver"),
        (777, "Safari", "user1"),
    ]


def test_what_macos_reports_to_everybody(tmp_path: Path) -> None:
    """Power is not 0 where only root may hear of it, and there is no row for the neural engine."""
    (gpu,) = polled(tmp_path, M4_PLAIN)
    reading = gpu.readings[0]
    assert reading.values["utilization_ratio",] == 0.21
    assert reading.sources == {
        "*": "ioreg",
        "memory_size_bytes": "sysctl",
        "memory_used_bytes": "vm_stat",
        "reported_status_info": "notifyutil",
        "throttle_active": "notifyutil",
        "reported_health_info": "notifyutil",
    }
    for series in (("power_watts",), ("clock_hertz", "graphics"), ("temperature_celsius", "gpu")):
        assert reading.absent[series] is Absence.PERMISSION
    assert "macmon" in reading.notes[0]
    assert gpu.identity[0].model == "Apple M4"
    assert gpu.identity[0].firmware_version is None


def test_a_hot_machine_is_throttled_and_degraded(tmp_path: Path) -> None:
    gpu = gpu_of(tmp_path, M2_ULTRA_HOT)
    assert gpu.values["reported_status_info", "thermal pressure heavy"] == 1
    assert gpu.values["throttle_active", "thermal_software"] == 1
    assert gpu.values["resets_total",] == 3
    assert evaluate_health(DeviceState.OK, gpu, (), 0.0).health is Health.DEGRADED


def test_energy_of_the_neural_engine_is_power_over_the_time_of_the_sample(tmp_path: Path) -> None:
    """And powermetrics is asked without the sampler that this release does not know."""
    ane = polled(tmp_path, M2_ULTRA_HOT)[1].readings[0]
    assert (ane.values, ane.sources) == ({("power_watts",): 0.0}, {"*": "powermetrics"})


def test_nothing_is_made_of_what_cannot_be(tmp_path: Path) -> None:
    gpu = gpu_of(tmp_path, M4_BROKEN)
    assert gpu.values["utilization_ratio",] == 0.21
    assert gpu.absent["power_watts",] is Absence.ERROR
    assert gpu.absent["memory_used_bytes",] is Absence.ERROR
    assert gpu.absent["memory_size_bytes",] is Absence.UNSUPPORTED
    assert gpu.absent["throttle_active", "thermal_software"] is Absence.UNSUPPORTED
    assert not any(series[0] == "reported_health_info" for series in gpu.values)
    assert "property list" in gpu.notes[0]


def test_a_machine_whose_ioreg_complains_has_a_gpu_that_cannot_be_read(tmp_path: Path) -> None:
    (gpu,) = polled(tmp_path, M4_SILENT)
    assert (gpu.found.id, gpu.found.model) == ("apple:apple0", "Apple M4")
    assert isinstance(gpu.error, ReadError)
    assert "no registry" in str(gpu.error)


def test_a_gpu_whose_driver_is_gone_is_lost(tmp_path: Path) -> None:
    with opened(tmp_path, M4_PLAIN) as (staged, backend):
        (device,) = backend.identify(backend.discover()[0])
        write_command(tmp_path, "usr/sbin/ioreg", "true")
        staged.clock.advance(10)
        assert backend.discover() == []
        with pytest.raises(DeviceLost, match="ioreg lists no GPU"):
            backend.read(device, Request())


def test_processes_have_shares_of_the_time_between_two_rounds(tmp_path: Path) -> None:
    with opened(tmp_path, M3_MAX) as (staged, backend):
        (gpu,) = backend.identify(backend.discover()[0])
        first = backend.read(gpu, EVERYTHING)[0].processes or ()
        assert [(one.pid, one.command, one.utilization_ratio) for one in first] == [
            (412, "WindowServer", None),
            (880, "python3.12", None),
            (901, "Finder", None),
        ]
        assert set(first[0].absent) == {"gpu_memory_bytes", "utilization_ratio"}
        assert set(first[2].absent) == {*first[0].absent, "user", "start_time"}
        later = (tmp_path / "usr/sbin/ioreg").read_text()
        staged.clock.advance(10)
        swap = "sed -e s/44000000000/47000000000/ -e s/912000000000/911000000000/"
        write_command(tmp_path, "usr/sbin/ioreg", f"({later}) | {swap}")
        shares = {
            one.pid: one.utilization_ratio
            for one in backend.read(gpu, EVERYTHING)[0].processes or ()
        }
    assert shares[880] == pytest.approx(0.3)
    assert shares[412] is None
    assert shares[901] is None


def test_processes_that_were_not_requested_are_not_collected(tmp_path: Path) -> None:
    with opened(tmp_path, M4_PLAIN) as (_, backend):
        (gpu,) = backend.identify(backend.discover()[0])
        reading = backend.read(gpu, Request(processes=False))[0]
    assert reading.processes is None
    assert reading.absent["processes",] is Absence.NOT_COLLECTED


def test_root_does_not_run_what_a_user_installed(tmp_path: Path) -> None:
    spoiled = {MACMON: f"touch {tmp_path}/was-run"}
    mac = msgspec.structs.replace(M3_MAX, more={**M3_MAX.more, **spoiled})
    assert gpu_of(tmp_path, mac).sources["power_watts"] == "powermetrics"
    assert not (tmp_path / "was-run").exists()


def test_root_runs_the_macmon_that_the_configuration_names(tmp_path: Path) -> None:
    write_command(tmp_path, "elsewhere/macmon", printing("m1-macmon.json"))
    with opened(tmp_path, M3_MAX, macmon=str(tmp_path / "elsewhere/macmon")) as (staged, backend):
        gpu = Poll(staged.clock)(backend)[0].readings[0]
    assert gpu.sources["power_watts"] == "macmon"


def test_a_macmon_that_fails_is_left_alone_for_a_while(tmp_path: Path) -> None:
    fails = {MACMON: f"echo x >>{tmp_path}/runs; exit 1"}
    mac = msgspec.structs.replace(M1_MACMON, more=fails)
    with opened(tmp_path, mac) as (staged, backend):
        poll = Poll(staged.clock)
        for _ in range(3):
            reading = poll(backend)[0].readings[0]
            staged.clock.advance(3)
        assert len((tmp_path / "runs").read_text()) == 2
        assert reading.absent["power_watts",] is Absence.ERROR
        assert "macmon" in reading.notes[0]
        write_command(tmp_path, MACMON, printing("m1-macmon.json"))
        staged.clock.advance(60)
        assert poll(backend)[0].readings[0].values["power_watts",] == 0.0175


@pytest.mark.parametrize(
    "system",
    [
        System("linux", "aarch64", True),
        System("linux", "arm64", True),
        System("darwin", "x86_64", True),
    ],
)
def test_anywhere_else_nothing_is_looked_for(tmp_path: Path, system: System) -> None:
    backend = AppleBackend(Context(root=tmp_path / "not there"), system)
    assert not backend.probe().present
    with pytest.raises(BackendUnavailable, match="not a Mac"):
        backend.open()
    backend.close()


def test_this_system_is_what_python_says() -> None:
    here = this_system()
    assert here.is_apple_silicon == (here.platform == "darwin" and here.machine == "arm64")


def test_a_mac_without_powermetrics_and_vm_stat_has_neither_power_nor_memory_in_use(
    tmp_path: Path,
) -> None:
    with opened(tmp_path, M4_PLAIN) as (staged, backend):
        (tmp_path / "usr/bin/powermetrics").unlink()
        (tmp_path / "usr/bin/vm_stat").unlink()
        staged.clock.advance(10)
        reading = Poll(staged.clock)(backend)[0].readings[0]
    assert reading.absent["power_watts",] is Absence.UNSUPPORTED
    assert reading.absent["memory_used_bytes",] is Absence.UNSUPPORTED
    assert reading.values["memory_size_bytes",] == 16 * GIB


@pytest.mark.parametrize(
    ("mac", "found"),
    [(M3_MAX, "/usr/bin/powermetrics"), (M1_MACMON, MACMON), (M4_PLAIN, "")],
)
def test_a_mac_names_the_source_of_its_power(tmp_path: Path, mac: Mac, found: str) -> None:
    with stage(tmp_path, mac) as staged:
        probe = staged.backend().probe()
    check = probe.checks[-1]
    assert probe.present
    assert check.ok == bool(found)
    assert check.found.endswith(found)


def test_a_mac_says_what_is_missing(tmp_path: Path) -> None:
    backend = AppleBackend(Context(root=tmp_path), System("darwin", "arm64", False))
    found = {check.subject: check for check in backend.probe().checks}
    assert not found["/usr/sbin/ioreg"].ok
    assert "macmon" in found["power, clock and heat"].remedy
    with pytest.raises(BackendUnavailable, match="/usr/sbin/ioreg is not there"):
        backend.open()
