"""Warboy through its driver and the rest of what furiosactl prints."""

import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accelwatch.backend import Context, Request
from accelwatch.backend.errors import BackendUnavailable
from accelwatch.backend.kit.unlisted import RUNS
from accelwatch.base.absence import Absence
from accelwatch.base.errors import DeviceLost, ReadError
from accelwatch.schema.device import Device, DeviceState
from accelwatch.schema.health import Health, evaluate_health
from accelwatch.schema.reading import Collected, Reading
from accelwatch_furiosa import FuriosaBackend, management, perf_regs
from accelwatch_furiosa.document import Card
from accelwatch_furiosa.furiosactl import Listed, Used, listed_of, used_of, with_load
from accelwatch_furiosa.mapping import collected
from accelwatch_furiosa.perf_regs import Counters, PerfRegs
from backends.furiosa.machines import lay_out_bus, stage, write_program
from backends.furiosa.warboy_trees import (
    CLASS,
    FILES,
    lay_out_card,
    lay_out_recorded,
    regs,
    write_regs,
)
from support.machines.pci_nodes import LINK
from support.machines.polling import Poll, assert_all_believed, identities, readings
from support.machines.samples import sample
from support.machines.staged_machines import Stage
from support.processes.waiting import wait_until

BUS = "0000:6d:00.0"


def opened(staged: Stage) -> FuriosaBackend:
    backend = staged.backend()
    assert isinstance(backend, FuriosaBackend)
    return backend


def reading_of(root: Path, number: int = 0) -> Reading:
    card = next(card for card in management.cards(root) if card.number == number)
    out = collected("d", card)
    management.collect_all(out, root, management.folders(root, management.WARBOY)[number])
    return out.reading()


def test_a_card_without_a_command(tmp_path: Path) -> None:
    lay_out_bus(tmp_path, BUS)
    lay_out_card(tmp_path, 0, BUS)
    staged = Stage(FuriosaBackend, tmp_path)
    backend = opened(staged)
    assert backend.probe().present
    assert backend.open().source == "sysfs"
    (one,) = polled = Poll(staged.clock)(backend)
    backend.close()
    device, reading = one.identity[0], one.readings[0]
    assert (device.id, device.index, device.name, device.model) == (
        "furiosa:5CA1AB1E-0000-4000-8000-000000000000",
        0,
        "npu0",
        "FuriosaAI WARBOY",
    )
    assert (device.serial, device.firmware_version) == ("WBYB0000000000000", "1.6.0, 0000000")
    assert (device.driver_version, device.pci_bus_id, device.numa_node) == (
        "1.9.2, 0000000",
        BUS,
        1,
    )
    assert device.device_nodes == ("/dev/npu0", "/dev/npu0_mgmt", "/dev/npu0pe0", "/dev/npu0pe1")
    assert reading.values == {
        ("temperature_celsius", "gpu"): 54.25,
        ("temperature_celsius", "board"): 41.5,
        ("power_watts",): pytest.approx(9.87),
        ("voltage_volts", "ne"): pytest.approx(0.752),
        ("current_amperes", "curr1"): pytest.approx(1.3),
        ("reported_status_info", "alive"): 1,
        ("reported_health_info", "ok"): 1,
        **LINK,
    }
    assert reading.absent[("utilization_ratio",)] is Absence.UNSUPPORTED, "counters were read once"
    assert reading.absent[("processes",)] is Absence.UNSUPPORTED
    assert_all_believed(identities(polled), readings(polled))


@pytest.mark.parametrize(
    ("files", "words", "health"),
    [
        ({"alive": "1"}, {"alive"}, Health.OK),
        ({"alive": "0"}, {"dead"}, Health.FAILED),
        ({"alive": "2"}, set(), None),
        ({"alive": ""}, set(), None),
        ({"atr_error": "PCIe Fetch Error: 3\n"}, {"alive", "pcie fetch error"}, Health.OK),
        ({"atr_error": "Device Error: 0\n"}, {"alive"}, Health.OK),
        ({"atr_error": "PCIe Doorbell done: 7\n"}, {"alive"}, Health.OK),
        ({"atr_error": "AXI Post Error: -1\nnonsense"}, {"alive"}, Health.OK),
    ],
)
def test_whether_it_lives_and_what_its_bridge_counted(
    tmp_path: Path, files: dict[str, str], words: set[str], health: Health | None
) -> None:
    lay_out_card(tmp_path, 0, BUS, **files)
    reading = reading_of(tmp_path)
    assert {series[1] for series in reading.values if series[0] == "reported_status_info"} == words
    reported = {series[1] for series in reading.values if series[0] == "reported_health_info"}
    if health is None:
        assert not reported, "nobody vouches for it"
    else:
        assert evaluate_health(DeviceState.OK, reading, [], 0.0).health is health


def test_an_emulated_platform_is_no_card(tmp_path: Path) -> None:
    lay_out_card(tmp_path, 0, BUS, platform_type="VITIS\n")
    lay_out_card(tmp_path, 1, "0000:6e:00.0")
    assert list(management.folders(tmp_path, management.WARBOY)) == [1]


def lay_out_rngd(root: Path, number: int, bus: str) -> None:
    lay_out_bus(root, bus)
    folder = root / f"sys/class/rngd_mgmt/rngd!npu{number}mgmt"
    folder.mkdir(parents=True)
    for file, text in {
        "busname": bus,
        "device_type": "RNGD",
        "device_uuid": "5CA1AB1E-0000-4000-8000-00000000000A",
        "device_sn": "",
        "fw_version": "2026.3.0, 0000000",
        "platform_type": "FuriosaAI",
        "version": "2026.3.1, 0000000",
        "throttle_reason": "0x00000002",
        "power_limit_mw": "180000",
        "atr_error": "Device Error: 2",
    }.items():
        (folder / file).write_text(f"{text}\n")
    hwmon = root / f"sys/bus/pci/devices/{bus}/hwmon/hwmon7"
    hwmon.mkdir(parents=True)
    for sensor, label, text in (
        ("temp1_input", "PEAK", "61000"),
        ("temp2_input", "NPU_PE0", "70000"),
        ("temp10_input", "AMBIENT", "34500"),
        ("power1_average", "RMS_TOTAL", "55000000"),
    ):
        (hwmon / sensor).write_text(f"{text}\n")
        (hwmon / f"{sensor.partition('_')[0]}_label").write_text(f"{label}\n")
    node = root / f"dev/rngd/npu{number}mgmt"
    node.parent.mkdir(parents=True, exist_ok=True)
    node.touch()


def test_rngd_without_a_command_and_a_library(tmp_path: Path) -> None:
    lay_out_rngd(tmp_path, 0, BUS)
    staged = Stage(FuriosaBackend, tmp_path)
    backend = opened(staged)
    assert backend.open().source == "sysfs"
    (one,) = polled = Poll(staged.clock)(backend)
    backend.close()
    device, reading = one.identity[0], one.readings[0]
    assert (device.id, device.model) == (
        "furiosa:5CA1AB1E-0000-4000-8000-00000000000A",
        "FuriosaAI RNGD",
    )
    assert (device.firmware_version, device.driver_version) == (
        "2026.3.0, 0000000",
        "2026.3.1, 0000000",
    )
    assert device.device_nodes == ("/dev/rngd/npu0mgmt",)
    assert reading.values[("temperature_celsius", "gpu")] == 61.0
    assert reading.values[("temperature_celsius", "board")] == 34.5
    assert reading.values[("power_watts",)] == 55.0
    assert reading.values[("power_limit_watts", "enforced")] == 180.0
    assert reading.values[("throttle_active", "thermal_hardware")] == 1
    assert reading.values[("reported_status_info", "device error")] == 1
    assert_all_believed(identities(polled), readings(polled))


def test_cards_of_both_drivers_have_names_of_their_own(tmp_path: Path) -> None:
    lay_out_card(tmp_path, 0, "0000:44:00.0")
    lay_out_rngd(tmp_path, 0, BUS)
    staged = Stage(FuriosaBackend, tmp_path)
    backend = opened(staged)
    backend.open()
    polled = Poll(staged.clock)(backend)
    backend.close()
    architectures = {device.name: device.architecture for device in identities(polled)}
    assert architectures == {"npu0": "warboy", "npu1": "rngd"}
    nodes = {device.name: device.device_nodes for device in identities(polled)}
    assert nodes["npu1"] == ("/dev/rngd/npu0mgmt",)


def test_a_sensor_that_cannot_be_read_hides_no_other(tmp_path: Path) -> None:
    lay_out_card(tmp_path, 0, BUS)
    hwmon = tmp_path / f"sys/bus/pci/devices/{BUS}/hwmon/hwmon0"
    (hwmon / "temp2_input").write_text("N/A\n")
    (hwmon / "power1_label").write_text("\n")
    reading = reading_of(tmp_path)
    assert reading.absent[("temperature_celsius", "gpu")] is not Absence.UNSUPPORTED
    assert reading.values[("temperature_celsius", "board")] == 41.5
    assert reading.values[("power_component_watts", "power1")] == pytest.approx(9.87)
    assert ("power_watts",) not in reading.values, "nobody says that it is the whole card's"


@pytest.mark.parametrize(
    ("labels", "celsius"),
    [
        (("PEAK", "NE"), {"gpu": 30.0}),
        (("NE", "MISC"), {"gpu": 40.0}),
        (("AMBIENT", "NE"), {"board": 30.0, "gpu": 40.0}),
        (("AMBIENT", "PEAK"), {"board": 30.0, "gpu": 40.0}),
        (("", ""), {"gpu": 40.0}),
    ],
)
def test_temperatures_by_the_names_of_their_sensors(
    tmp_path: Path, labels: tuple[str, str], celsius: dict[str, float]
) -> None:
    lay_out_card(tmp_path, 0, BUS)
    hwmon = tmp_path / f"sys/bus/pci/devices/{BUS}/hwmon/hwmon0"
    for number, label in enumerate(labels, 1):
        (hwmon / f"temp{number}_label").write_text(f"{label}\n")
        (hwmon / f"temp{number}_input").write_text(f"{20000 + number * 10000}\n")
    (hwmon / "temp3_input").unlink()
    reading = reading_of(tmp_path).values
    assert {
        series[1]: value for series, value in reading.items() if series[0] == "temperature_celsius"
    } == celsius


def test_what_the_command_reported_is_not_reported_again(tmp_path: Path) -> None:
    with stage(tmp_path, "warboy") as staged:
        lay_out_card(tmp_path, 1, "0000:44:00.0")
        backend = opened(staged)
        backend.open()
        (reading,) = readings(Poll(staged.clock)(backend))
        backend.close()
    assert reading.values[("power_watts",)] == pytest.approx(0.99)
    assert reading.values[("temperature_celsius", "gpu")] == 54.0
    assert reading.values[("temperature_celsius", "board")] == 41.5
    assert reading.sources["*"] == "furiosactl"
    assert reading.sources["voltage_volts"] == "sysfs"


def test_a_card_that_the_driver_gave_up_is_lost(tmp_path: Path) -> None:
    lay_out_card(tmp_path, 0, BUS)
    lay_out_card(tmp_path, 1, "0000:6e:00.0")
    staged = Stage(FuriosaBackend, tmp_path)
    backend = opened(staged)
    backend.open()
    second = backend.identify(backend.discover()[1])[0]
    shutil.rmtree(tmp_path / "sys/devices/virtual/npu_mgmt/npu1_mgmt")
    for _ in range(RUNS - 1):
        staged.clock.advance(10.0)
        with pytest.raises(ReadError, match="in this run"):
            backend.read(second, Request())
    staged.clock.advance(10.0)
    with pytest.raises(DeviceLost):
        backend.read(second, Request())
    backend.close()


def read_with_load(backend: FuriosaBackend, device: Device) -> Reading:
    """The first reading that has a load."""

    def with_load() -> Reading | None:
        (reading,) = backend.read(device, Request())
        return reading if _has_load(reading) else None

    return wait_until(with_load)


def _has_load(read: Reading) -> bool:
    return any(series[0] == "core_utilization_ratio" for series in read.values)


def shares(root: Path, before: dict[str, str], now: dict[str, str]) -> dict[int, object]:
    """Of a hundred by core of the first card, from two readings."""
    registers = PerfRegs(root)
    for files in (before, now):
        for name, text in files.items():
            write_regs(root, name, text)
        reading = registers()
    return {int(str(core["pe_core"])): core["pe_utilization"] for core in reading.get(0, [])}


def test_load_is_what_the_counters_grew_by(tmp_path: Path) -> None:
    before = {"npu0pe0": regs(100, 1000), "npu0pe1": regs(0, 0)}
    now = {"npu0pe0": regs(350, 2000), "npu0pe1": regs(0, 500)}
    assert shares(tmp_path, before, now) == {0: 25.0, 1: 0.0}


def test_cores_that_work_as_one_are_both_busy(tmp_path: Path) -> None:
    before = {"npu0pe0": regs(7, 7), "npu0pe1": regs(9, 9), "npu0pe0-1": regs(0, 0)}
    assert shares(tmp_path, before, {"npu0pe0-1": regs(600, 1000)}) == {0: 60.0, 1: 60.0}


@pytest.mark.parametrize(
    ("before", "now", "share"),
    [
        (regs(10, 1 << 33), regs(20, (1 << 33) + 40), 25.0),
        (regs((1 << 32) - 10, 100), regs(10, 140), 50.0),
        (regs(100, 1000), regs(100, 1000), "N/A"),
        (regs(100, 1000), regs(10, 500), "failed"),
        (regs(100, 1000), regs(1200, 2000), "failed"),
        (regs(100, 1000), regs(200, 1000 + (1 << 32)), "failed"),
        (regs(100, 1000), "TaskExecutionTime: 0x5\nCycleCount: 0x5\n", "failed"),
        (regs(100, 1000), regs(200, 2000).replace("0x", "0y"), "failed"),
        ("", regs(200, 2000), "N/A"),
    ],
)
def test_counters_that_report_nothing(tmp_path: Path, before: str, now: str, share: object) -> None:
    assert shares(tmp_path, {"npu0pe0": before}, {"npu0pe0": now}) == {0: share}


def test_what_is_not_in_use_may_not_be_read() -> None:
    assert perf_regs.share_of(Counters(1, 1), Absence.PERMISSION) is None
    assert perf_regs.share_of(Counters(1, 1), Absence.ERROR) == "failed"


def test_load_of_a_card(tmp_path: Path) -> None:
    lay_out_card(tmp_path, 0, BUS)
    write_regs(tmp_path, "npu0pe0", regs(0, 0))
    write_regs(tmp_path, "npu0pe1", regs(0, 0))
    staged = Stage(FuriosaBackend, tmp_path)
    backend = opened(staged)
    backend.open()
    device = backend.identify(backend.discover()[0])[0]
    write_regs(tmp_path, "npu0pe0", regs(900, 1000))
    write_regs(tmp_path, "npu0pe1", regs(500, 1000))
    staged.clock.advance(10.0)
    reading = read_with_load(backend, device)
    backend.close()
    assert reading.values[("utilization_ratio",)] == pytest.approx(0.7)
    assert reading.values[("core_utilization_ratio", "0")] == pytest.approx(0.9)


def test_cores_at_rest_are_not_an_error() -> None:
    cores = [{"pe_core": core, "pe_utilization": "N/A"} for core in (0, 1)]
    reading = collected("d", Card(number=0, pci_bus_id=None, info={}).with_cores(cores)).reading()
    assert reading.absent[("utilization_ratio",)] is Absence.UNSUPPORTED


LIST = b"""\
+------+---------------------------------------------+-----------------------------------+
| NPU  | Cores                                       | DEVFILES                          |
+------+---------------------------------------------+-----------------------------------+
| npu1 | 0 (occupied by npu1pe0), 1 (unavailable)    | npu1, npu1pe0, npu1pe1, npu1pe0-1 |
| npu2 | 0 (available), 1 (available)                | npu2, ../../etc/passwd            |
+------+---------------------------------------------+-----------------------------------+
"""


def test_the_list_of_cores() -> None:
    assert listed_of(LIST) == {
        1: Listed(
            {0: "occupied by npu1pe0", 1: "unavailable"},
            ("/dev/npu1", "/dev/npu1pe0", "/dev/npu1pe1", "/dev/npu1pe0-1"),
        ),
        2: Listed({0: "available", 1: "available"}, ("/dev/npu2",)),
    }


def test_what_list_says_of_a_card(tmp_path: Path) -> None:
    with stage(tmp_path, "warboy") as staged:
        (tmp_path / "output/list.txt").write_bytes(LIST)
        (tmp_path / "output/ps.txt").write_text("| NPU | PID | CMD |\n")
        backend = opened(staged)
        backend.open()
        (one,) = Poll(staged.clock)(backend)
        backend.close()
    reading = one.readings[0]
    assert one.identity[0].device_nodes[:2] == ("/dev/npu1", "/dev/npu1pe0")
    assert reading.values[("reported_status_info", "core 1 unavailable")] == 1
    assert reading.absent[("utilization_ratio",)] is Absence.UNSUPPORTED
    assert reading.absent[("processes",)] is Absence.PERMISSION, "a core is in use by somebody"


TOP = b"""\
Please enter Ctrl+C to stop.
Datetime                        PID       Device        NPU(%)   Comp(%)   I/O(%)   Command
2023-03-21T09:45:56.699483936Z  4711      npu1pe0        19.06    100.00     0.00   ./serve -n 1
2023-03-21T09:45:56.699483936Z  4712      npu1pe1        70.00    100.00     0.00   ./serve -n 2
2023-03-21T09:45:56.906443888Z  4711      npu1pe0        51.09     93.05     6.95   ./serve -n 1
2023-03-21T09:45:56.906443888Z  4713      npu0           10.00     93.05     6.95   ./serve
2023-03-21T09:45:56.906443888Z  4714      npu1pe0       151.09     93.05     6.95   ./serve
2023-03-21T09:45:56.906443888Z  0         npu1pe0        51.09     93.05     6.95   ./serve
"""


def used(lines: list[bytes]) -> list[Used]:
    """With the shares as they were printed."""
    return [one._replace(share=round(one.share, 4)) for one in used_of(lines)]


def test_who_is_busy_now() -> None:
    reading = used(TOP.splitlines())
    assert reading == [
        Used(1, (0,), 4711, 0.5109),
        Used(1, (1,), 4712, 0.7),
        Used(0, (), 4713, 0.1),
    ]
    both = [{"pe_core": core, "pe_occupancy": True} for core in (0, 1)]
    card = with_load(Card(number=1, pci_bus_id=None, info={}).with_cores(both), reading[:2])
    values = collected("d", card).reading().values
    assert values[("core_utilization_ratio", "0")] == pytest.approx(0.5109)
    assert values[("utilization_ratio",)] == pytest.approx(0.60545)


@pytest.mark.parametrize(
    ("other", "load"),
    [({"pe_occupancy": False}, 0.0953), ({"pe_occupancy": True}, None), ({}, None), (None, None)],
    ids=["at rest", "in use", "unavailable", "not listed"],
)
def test_load_of_a_card_with_one_busy_core(
    other: dict[str, object] | None, load: float | None
) -> None:
    cores: list[dict[str, object]] = (
        [] if other is None else [{"pe_core": 0}, {"pe_core": 1, **other}]
    )
    card = with_load(
        Card(number=1, pci_bus_id=None, info={}).with_cores(cores), used_of(TOP.splitlines()[:3])
    )
    reading = collected("d", card).reading()
    assert reading.values[("core_utilization_ratio", "0")] == pytest.approx(0.1906)
    if load is None:
        assert reading.absent[("utilization_ratio",)] is Absence.ERROR
    else:
        assert reading.values[("utilization_ratio",)] == pytest.approx(load)


def test_columns_of_top_are_found_by_their_headings() -> None:
    lines = [b"PID NPU(%) Device", b"9 12.50 npu0pe0-1"]
    assert used(lines) == [Used(0, (0, 1), 9, 0.125)]


def test_top_is_followed_where_the_driver_shows_nothing(tmp_path: Path) -> None:
    with stage(tmp_path, "warboy") as staged:
        (tmp_path / "top").write_bytes(TOP)
        show = f"[ $1 = top ] && {{ cat {tmp_path}/top; exec sleep 600; }}"
        write_program(tmp_path, "furiosactl", f"{show}; exec cat {tmp_path}/output/$1.*")
        backend = opened(staged)
        backend.open()
        device = backend.identify(backend.discover()[0])[0]
        reading = read_with_load(backend, device)
        assert reading.values[("core_utilization_ratio", "1")] == pytest.approx(0.7)
        assert [process.utilization_ratio for process in reading.processes or ()] == [
            pytest.approx(0.5109)
        ]
        staged.clock.advance(3.0)
        stopped = backend.read(device, Request())[0]
        backend.close()
    assert not _has_load(stopped), "a line of three seconds ago is not now"


def test_nothing_is_followed_by_a_backend_that_is_not_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands: list[object] = []
    monkeypatch.setattr(
        "accelwatch_furiosa.backend.LineStream", lambda argv, *_, **__: commands.append(argv)
    )
    with stage(tmp_path, "warboy"):
        backend = FuriosaBackend(Context(root=tmp_path, options={"pace_s": "often"}))
        with pytest.raises(BackendUnavailable, match="pace_s"):
            backend.open()
    assert commands == []


@pytest.mark.oracle
def test_the_recorded_tree(tmp_path: Path) -> None:
    lay_out_recorded(tmp_path)
    staged = Stage(FuriosaBackend, tmp_path)
    backend = opened(staged)
    assert backend.probe().present
    backend.open()
    first, second = polled = Poll(staged.clock)(backend)
    backend.close()
    device, other = first.identity[0], second.identity[0]
    assert (device.id, device.pci_bus_id, device.numa_node) == (f"furiosa:{BUS}", BUS, 0)
    assert (device.architecture, device.firmware_version) == ("warboy", "1.6.0, c1bebfd")
    assert (device.driver_version, device.uuid, device.serial) == ("1.0.0, 0000000", None, None)
    assert (other.pci_bus_id, other.numa_node, other.firmware_version) == (
        "0000:ff:00.0",
        None,
        None,
    )
    assert first.readings[0].values == {
        ("temperature_celsius", "gpu"): 37.0,
        ("power_component_watts", "power1"): pytest.approx(0.001111),
        ("power_component_watts", "power2"): pytest.approx(0.022222),
        ("voltage_volts", "voltage0"): pytest.approx(1.1),
        ("voltage_volts", "voltage1"): pytest.approx(1.2),
        ("current_amperes", "current1"): 1.0,
        ("current_amperes", "current2"): 2.0,
    }
    assert second.readings[0].values == {("current_amperes", "curr1"): 1.0}
    assert_all_believed(identities(polled), readings(polled))


@pytest.mark.oracle
def test_the_recorded_counters(tmp_path: Path) -> None:
    lay_out_recorded(tmp_path)
    reading = {
        name: perf_regs.parse((tmp_path / CLASS / name / "perf_regs").read_text())
        for name in ("npu0pe0-1", "npu0pe0", "npu0pe1")
    }
    assert reading["npu0pe0-1"] == Counters(0x26272443, 0x6F22D16D)
    assert reading["npu0pe0"] == Counters(0x8A035BF, 0x35F8BF98)
    assert reading["npu0pe1"] is Absence.ERROR, "it lacks the high half of the cycles"


@pytest.mark.oracle
def test_a_copy_without_links_is_read_too(tmp_path: Path) -> None:
    lay_out_recorded(tmp_path)
    for number in (0, 1):
        link = tmp_path / CLASS / f"npu{number}_mgmt"
        link.unlink()
        link.write_text(f"../../device/virtual/npu_mgmt/npu{number}_mgmt")
    assert [card.pci_bus_id for card in management.cards(tmp_path)] == [BUS, "0000:ff:00.0"]


@pytest.mark.oracle
def test_the_recorded_list_and_top() -> None:
    assert listed_of(sample("furiosa/cli/furiosactl_list.txt").read_bytes()) == {
        1: Listed(
            {0: "available", 1: "available"},
            ("/dev/npu1", "/dev/npu1pe0", "/dev/npu1pe1", "/dev/npu1pe0-1"),
        )
    }
    lines = sample("furiosa/cli/furiosactl_top.txt").read_bytes().splitlines()
    assert used(lines) == [Used(1, (0, 1), 152616, 0.4906)]
    assert used(lines[:4]) == [Used(1, (0, 1), 152616, 0.1906)]


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.sampled_from(sorted(FILES)), st.binary(max_size=40), max_size=5))
def test_damaged_files_raise_nothing(tmp_path: Path, damage: dict[str, bytes]) -> None:
    if not (tmp_path / CLASS).exists():
        lay_out_card(tmp_path, 0, BUS)
    for file in FILES:
        (tmp_path / CLASS / "npu0_mgmt" / file).write_bytes(damage.get(file, FILES[file].encode()))
    for card in management.cards(tmp_path):
        out: Collected = collected("d", card)
        management.collect_all(
            out, tmp_path, management.folders(tmp_path, management.WARBOY)[card.number]
        )


@given(st.binary(max_size=200), st.integers(0, len(TOP)))
def test_damaged_output_raises_nothing(noise: bytes, length: int) -> None:
    for output in (noise, TOP[:length], LIST[:length] + noise, TOP[:length] + noise):
        for one in used_of(output.splitlines()):
            assert 0.0 <= one.share <= 1.0
        listed_of(output)
        perf_regs.parse(output.decode("utf-8", "replace"))
