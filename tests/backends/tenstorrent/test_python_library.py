"""Chips through pyluwen: a stand-in of its classes in a real process, and what its registers mean."""

import contextlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelwatch.backend.errors import BackendUnavailable
from accelwatch.base.absence import Absence
from accelwatch.base.errors import DevicePermission, DeviceSuspended, DeviceTimeout, ReadError
from accelwatch_tenstorrent import TenstorrentBackend, mapping, python_library
from accelwatch_tenstorrent.python_library import (
    ChipAddress,
    chip_of,
    parse,
    registers_of,
    snapshot,
)
from accelwatch_tenstorrent.snapshot import parse as of_tool
from backends.tenstorrent.machines import lay_out, stage, write_program
from support.machines.pci_nodes import bind, give
from support.machines.polling import Poll, assert_all_believed, identities, readings
from support.machines.samples import sample
from support.machines.staged_machines import Stage

BUSES = ("0000:01:00.0", "0000:41:00.0")
STAND_IN = """
import json, pathlib, time

class Telemetry:
    pass

class PanicException(BaseException):
    pass

class PciChip:
    def __init__(self, pci_interface=None):
        print("luwen: opened", pci_interface, flush=True)
        (pathlib.Path(__file__).parent / f"opened-{pci_interface}").touch()
        told = json.loads((pathlib.Path(__file__).parent / "chips.json").read_text())
        self._told = told[str(pci_interface)]
        if self._told == "gone":
            raise Exception("Could not open chip on pci interface %d" % pci_interface)

    def get_telemetry(self):
        if self._told == "panics":
            raise PanicException("called `Option::unwrap()` on a `None` value")
        if self._told == "hangs":
            time.sleep(600)
        telemetry = Telemetry()
        for name, value in self._told.items():
            setattr(telemetry, name, value)
        return telemetry
"""
WORMHOLE: Mapping[str, int | bool] = {
    "board_id": 0x100018611902001,
    "enum_version": 0xBA5E0001,
    "vcore": 0x3AC,
    "tdp": 0x64_0058,
    "tdc": 0xA0_005D,
    "aiclk": 0x3E8_03E8,
    "axiclk": 0x384,
    "arcclk": 0x21C,
    "asic_temperature": 0x41C_03D5,
    "vreg_temperature": 0x35,
    "board_temperature": 0x2C2D2E,
    "thm_limits": 0x53_004B,
    "ddr_status": 0x222222,
    "arc0_health": 0x100,
    "arc3_health": 0x200,
    "fw_bundle_version": 0x50110000,
    "timer_heartbeat": 0,
    "input_power": 0,
    "fan_rpm": 0,
    "noc_translation_enabled": False,
}
BLACKHOLE: Mapping[str, int] = {
    "board_id": 0x400_0000_0042,
    "vcore": 0x2EE,
    "tdp": 0x2D,
    "tdc": 0x3C,
    "tdp_limit_max": 0x96,
    "aiclk": 0x546,
    "aiclk_limit_max": 0x546,
    "asic_temperature": 0x2B_8000,
    "thm_limits": 0x6E,
    "thm_limit_throttle": 0x5F,
    "ddr_status": 0x5555,
    "enabled_gddr": 0xFF,
    "fan_rpm": 0x5DC,
    "input_power": 0x50,
    "board_power_limit": 0x12C,
    "asic_id_high": 0x5CA1AB1E,
    "asic_id_low": 0x7,
    "timer_heartbeat": 0x1234,
    "max_gddr_temp": 0x30,
    "therm_trip_count": 0,
}


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a pyluwen that both this interpreter and its processes would import."""
    folder = tmp_path / "packages"
    folder.mkdir()
    (folder / "pyluwen.py").write_text(STAND_IN)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    monkeypatch.syspath_prepend(str(folder))
    return folder


def chips(folder: Path, **chips_read: object) -> None:
    """What the chips of these numbers say: `c0={...}`."""
    (folder / "chips.json").write_text(
        json.dumps({name.removeprefix("c"): one for name, one in chips_read.items()})
    )


def machine(root: Path, *devices: str) -> Stage:
    """Chips that the driver has bound and tells nothing of."""
    for number, device in enumerate(devices):
        lay_out(root, number, {"bus": BUSES[number], "device": device})
        hwmon = root / "sys/bus/pci/devices" / BUSES[number] / "hwmon"
        (hwmon / "hwmon3").rmdir()
        hwmon.rmdir()
    return Stage(TenstorrentBackend, root)


@contextlib.contextmanager
def opened(staged: Stage, **options: object) -> Iterator[TenstorrentBackend]:
    backend = staged.backend(options=options)
    assert isinstance(backend, TenstorrentBackend)
    backend.open()
    yield backend
    backend.close()


def test_chips_are_read_where_the_driver_reports_nothing_and_there_is_no_tt_smi(
    tmp_path: Path, library: Path
) -> None:
    chips(library, c0=WORMHOLE, c1=BLACKHOLE)
    staged = machine(tmp_path / "root", "0x401e", "0xb140")
    link = staged.root / "sys/bus/pci/devices" / BUSES[0]
    (link / "current_link_speed").write_text("16.0 GT/s PCIe\n")
    with opened(staged) as backend:
        poll = Poll(staged.clock)
        polled = poll(backend)
    wormhole, blackhole = identities(polled)
    assert (wormhole.id, wormhole.model) == (f"tenstorrent:{BUSES[0]}", "n150")
    assert (wormhole.serial, wormhole.firmware_version) == ("0100018611902001", "80.17.0.0")
    assert wormhole.driver_version == "2.8.0"
    assert (blackhole.id, blackhole.model) == ("tenstorrent:5ca1ab1e00000007", "p150a")
    assert (blackhole.architecture, blackhole.device_nodes) == (
        "blackhole",
        ("/dev/tenstorrent/1",),
    )
    first, second = readings(polled)
    assert first.sources == {"*": "pyluwen"}
    assert first.values == {
        ("temperature_celsius", "gpu"): pytest.approx(61.3125),
        ("temperature_celsius", "vr"): 53.0,
        ("temperature_celsius", "inlet"): 0x2C,
        ("temperature_limit_celsius", "gpu", "slowdown"): 75.0,
        ("power_watts",): 88.0,
        ("power_limit_watts", "enforced"): 100.0,
        ("voltage_volts", "core"): pytest.approx(0.94),
        ("current_amperes", "core"): 93.0,
        ("clock_hertz", "npu"): 1e9,
        ("clock_hertz", "fabric"): 9e8,
        ("clock_hertz", "soc"): 5.4e8,
        ("clock_limit_hertz", "npu", "max"): 1e9,
        ("pcie_link_generation", "current"): 4,
    }
    assert second.values["temperature_celsius", "gpu"] == 43.5
    assert second.values["temperature_limit_celsius", "gpu", "slowdown"] == 0x5F
    assert second.values["temperature_limit_celsius", "gpu", "shutdown"] == 0x6E
    assert second.values["power_limit_watts", "enforced"] == 150.0
    assert second.values["power_component_watts", "board"] == 80.0
    assert second.values["power_component_limit_watts", "board", "enforced"] == 300.0
    assert second.values["fan_speed_rpm", "0"] == 1500
    assert_all_believed(identities(polled), [first, second])


def signs(**changes: int) -> mapping.Signs:
    registers = parse(json.dumps({"registers": {**BLACKHOLE, **changes}}).encode(), 0)
    return mapping.signs_of(chip_of(0, ChipAddress(0, BUSES[1], "blackhole"), registers), None)


def test_health_is_reported_as_through_tt_smi() -> None:
    assert signs() == mapping.Signs(None, dram_trained=True)
    assert signs(ddr_status=0x5556) == mapping.Signs(None, dram_trained=False)
    assert signs(therm_trip_count=2).thermal_trips == 2
    nothing = dict.fromkeys(BLACKHOLE, 0)
    assert signs(**nothing) == mapping.Signs(None, silent=True)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("gone", "Exception: Could not open chip on pci interface 0"),
        ("panics", "PanicException: called `Option::unwrap()` on a `None` value"),
        ([], "AttributeError: 'list' object has no attribute 'items'"),
    ],
)
def test_a_chip_that_fails_hides_no_other(
    tmp_path: Path, library: Path, content: object, says: str
) -> None:
    chips(library, c0=content, c1=BLACKHOLE)
    staged = machine(tmp_path / "root", "0x401e", "0xb140")
    with opened(staged) as backend:
        failed, other = Poll(staged.clock)(backend)
    assert isinstance(failed.error, ReadError)
    assert str(failed.error) == f"pyluwen, /dev/tenstorrent/0: {says}"
    assert other.error is None


def test_a_chip_that_hangs_is_ended(library: Path) -> None:
    chips(library, c0="hangs")
    with pytest.raises(DeviceTimeout, match="pyluwen did not answer for /dev/tenstorrent/0"):
        registers_of(0, timeout_s=0.3)


def test_a_chip_that_hangs_costs_itself() -> None:
    def ask(number: int) -> python_library.Registers:
        if number == 1:
            raise DeviceTimeout("hangs", code="timeout")
        return {"vcore": number}

    addresses = [ChipAddress(number, f"0000:{number:02x}:00.0", None) for number in range(20)]
    result = snapshot(addresses, ask)
    assert len(result.chips) == 19
    assert {bus: error.absence for bus, error in result.failures.items()} == {
        "0000:01:00.0": Absence.TIMEOUT
    }


def test_a_process_that_dies_is_an_error(library: Path) -> None:
    (library / "pyluwen.py").write_text("import os\nos.kill(os.getpid(), 11)\n")
    with pytest.raises(ReadError, match=r"pyluwen, /dev/tenstorrent/3: .*status -11"):
        registers_of(3)


def test_no_chip_is_opened_where_the_driver_reports_something(
    tmp_path: Path, library: Path
) -> None:
    (library / "pyluwen.py").write_text("raise SystemExit('was imported')\n")
    with stage(tmp_path / "root", "n150-x2") as staged, opened(staged) as backend:
        polled = Poll(staged.clock)(backend)
    assert [one.error for one in polled] == [None, None]
    assert {one.sources["*"] for one in readings(polled)} == {"sysfs"}


def test_tt_smi_goes_before_the_library(tmp_path: Path, library: Path) -> None:
    (library / "pyluwen.py").write_text("raise SystemExit('was imported')\n")
    staged = machine(tmp_path / "root", "0x401e")
    write_program(staged.root, "echo '{\"device_info\": []}'")
    with opened(staged) as backend:
        (one,) = Poll(staged.clock)(backend)
    assert type(one.error) is ReadError
    assert "tt-smi does not list" in str(one.error)


def test_who_requests_the_library_gets_it_or_an_error(
    tmp_path: Path, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chips(library, c0=WORMHOLE, c1=WORMHOLE)
    with stage(tmp_path / "root", "n150-x2") as staged:
        write_program(staged.root, "exit 1")
        with opened(staged, source="pyluwen") as backend:
            rows = readings(Poll(staged.clock)(backend))
        assert [one.sources["*"] for one in rows] == ["pyluwen", "pyluwen"]
        monkeypatch.setattr(python_library, "NAME", "no_such_library")
        with pytest.raises(BackendUnavailable, match="pyluwen was not found") as raised:
            staged.backend(options={"source": "pyluwen"}).open()
    assert raised.value.reason == "library_missing"


def test_a_chip_that_sleeps_is_not_opened(tmp_path: Path, library: Path) -> None:
    chips(library, c0=WORMHOLE, c1=BLACKHOLE)
    staged = machine(tmp_path / "root", "0x401e", "0xb140")
    power = staged.root / "sys/bus/pci/devices" / BUSES[1] / "power"
    power.mkdir()
    (power / "runtime_status").write_text("suspended\n")
    with opened(staged) as backend:
        awake, asleep = Poll(staged.clock)(backend)
    assert awake.error is None
    assert isinstance(asleep.error, DeviceSuspended)
    assert [path.name for path in library.glob("opened-*")] == ["opened-0"]


def test_a_chip_that_the_driver_has_not_bound_is_not_opened(tmp_path: Path, library: Path) -> None:
    chips(library, c0="gone")
    staged = machine(tmp_path / "root", "0x401e")
    pci = staged.root / "sys/bus/pci/devices" / BUSES[1]
    pci.mkdir()
    for name, text in (("vendor", "0x1e52"), ("device", "0x401e"), ("class", "0x120000")):
        (pci / name).write_text(f"{text}\n")
    with opened(staged) as backend:
        _, unbound = Poll(staged.clock)(backend)
    assert "has not bound" in str(unbound.error)


def test_a_chip_of_another_container_is_excluded(tmp_path: Path, library: Path) -> None:
    chips(library, c0=WORMHOLE, c1="gone")
    staged = machine(tmp_path / "root", "0x401e", "0x401e")
    for bus in BUSES:
        bind(staged.root, bus, "tenstorrent")
    give(staged.root, "tenstorrent/0")
    with opened(staged) as backend:
        ours, theirs = Poll(staged.clock)(backend)
    assert ours.error is None
    assert isinstance(theirs.error, DevicePermission)


junk = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=4), st.just([None])
)


@given(st.dictionaries(st.sampled_from(sorted({**WORMHOLE, **BLACKHOLE})), junk))
def test_nothing_that_is_reported_is_raised_or_believed(fields: dict[str, Any]) -> None:
    registers = parse(json.dumps({"registers": fields}).encode(), 0)
    for architecture in ("wormhole", "blackhole", None):
        chip = chip_of(0, ChipAddress(0, BUSES[0], architecture), registers)
        mapping.of_tool("d", chip).reading()
        mapping.signs_of(chip, None)


@given(st.one_of(st.binary(max_size=40), junk.map(lambda one: json.dumps(one).encode())))
def test_what_is_no_answer_is_an_error(output: bytes) -> None:
    with pytest.raises(ReadError, match="pyluwen, /dev/tenstorrent/0"):
        parse(output, 0)


@pytest.mark.oracle
@pytest.mark.parametrize("file", ["dstack_single_n150_gpu", "dstack_blackhole_galaxy"])
def test_recorded_registers_are_what_tt_smi_makes_of_them(file: str) -> None:
    recorded = of_tool(sample(f"tenstorrent/tt_smi_json/{file}.json").read_bytes()).chips
    for theirs in recorded:
        telemetry = {name.lower(): theirs.register(name) or 0 for name in theirs.registers}
        telemetry["board_id"] = int(str(theirs.serial), 16)
        address = ChipAddress(0, str(theirs.pci_bus_id), mapping.architecture_of(theirs))
        ours = chip_of(0, address, parse(json.dumps({"registers": telemetry}).encode(), 0))
        assert str(theirs.board_type).partition(" ")[0] == ours.board_type
        values = mapping.of_tool("d", ours).values
        expected = {
            series: pytest.approx(value, abs=0.06)
            for series, value in mapping.of_tool("d", theirs).values.items()
            if not series[0].startswith("pcie_link")
        }
        assert values == expected
        signs = mapping.signs_of(theirs, None)
        assert mapping.signs_of(ours, None) == signs._replace(
            thermal_trips=signs.thermal_trips or None
        )
