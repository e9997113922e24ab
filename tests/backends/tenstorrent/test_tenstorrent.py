"""What tt-kmd shows of a chip and what tt-smi says, in base units, and what they do not say."""

import contextlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelwatch.backend import Request
from accelwatch.backend.errors import BackendUnavailable
from accelwatch.backend.kit.unlisted import RUNS
from accelwatch.base.absence import Absence
from accelwatch.base.errors import AccelwatchError, DeviceLost, DevicePermission, ReadError
from accelwatch.schema.device import DeviceKind, DeviceState
from accelwatch.schema.health import NO_DRIVER, Health, evaluate_health
from accelwatch.schema.reading import Collected, Reading
from accelwatch_tenstorrent import TenstorrentBackend, mapping, registers
from accelwatch_tenstorrent.heartbeat import STUCK_S, Heartbeats
from accelwatch_tenstorrent.snapshot import Chip, Snapshot, parse
from backends.tenstorrent.machines import FOLDER, lay_out, stage, stage_tool, tree, write_program
from support.machines.pci_nodes import bind, give
from support.machines.polling import Poll, assert_all_believed, identities, loss, readings
from support.machines.samples import sample
from support.machines.staged_machines import Stage

SICK = "p150-smi-bad-day.txt"


@contextlib.contextmanager
def opened(staged: Stage, **options: object) -> Iterator[TenstorrentBackend]:
    backend = staged.backend(options=options)
    assert isinstance(backend, TenstorrentBackend)
    backend.open()
    yield backend
    backend.close()


def beat(root: Path, number: int, value: str) -> None:
    (root / f"sys/class/tenstorrent/tenstorrent!{number}/tt_heartbeat").write_text(value)


def collected(chip: Chip) -> Collected:
    return mapping.of_tool("d", chip)


def health(reading: Reading) -> Health:
    return evaluate_health(DeviceState.OK, reading, [], 0.0).health


def test_who_a_chip_of_the_driver_is(tmp_path: Path) -> None:
    with stage(tmp_path, "n150-x2") as staged, opened(staged) as backend:
        polled = Poll(staged.clock)(backend)
    first, second = identities(polled)
    assert first.id == "tenstorrent:5ca1ab1e00000001"
    assert (first.kind, first.model, first.architecture) == (DeviceKind.NPU, "n150", "wormhole")
    assert (first.index, first.name, first.serial) == (0, "tt0", "0100018611902001")
    assert (first.firmware_version, first.driver_version) == ("80.17.0.0", "2.8.0")
    assert (first.numa_node, first.device_nodes) == (0, ("/dev/tenstorrent/0",))
    assert (second.index, second.pci_bus_id) == (1, "0000:41:00.0")
    assert_all_believed(identities(polled), readings(polled))


def test_a_chip_at_work(tmp_path: Path) -> None:
    with stage(tmp_path, "n150-x2") as staged, opened(staged) as backend:
        one, other = readings(Poll(staged.clock)(backend))
    assert one.values == {
        ("temperature_celsius", "gpu"): pytest.approx(61.312),
        ("temperature_limit_celsius", "gpu", "slowdown"): pytest.approx(75.0),
        ("power_watts",): pytest.approx(88.0),
        ("power_limit_watts", "enforced"): pytest.approx(100.0),
        ("voltage_volts", "core"): pytest.approx(0.94),
        ("current_amperes", "core"): pytest.approx(93.0),
        ("clock_hertz", "npu"): 1e9,
        ("clock_hertz", "fabric"): 9e8,
        ("clock_hertz", "soc"): 5.4e8,
        ("pcie_link_generation", "current"): 4,
        ("pcie_link_generation", "max"): 4,
        ("pcie_link_width_lanes", "current"): 16,
        ("pcie_link_width_lanes", "max"): 16,
    }
    assert one.absent["reported_health_info",] is Absence.NOT_COLLECTED, "no second beat yet"
    assert other.values["pcie_link_generation", "current"] == 3
    assert one.sources["*"] == "sysfs"


def test_processes_are_those_that_the_driver_names(tmp_path: Path) -> None:
    (tmp_path / "proc/4711").mkdir(parents=True)
    (tmp_path / "proc/4711/comm").write_text("python3\n")
    with stage(tmp_path, "n150-x2") as staged, opened(staged) as backend:
        one, other = readings(Poll(staged.clock)(backend))
        (device,) = backend.identify(backend.discover()[0])
        (plain,) = backend.read(device, Request(processes=False))
    (process,) = one.processes or ()
    assert (process.pid, process.command, process.pid_namespace) == (4711, "python3", "same")
    assert process.absent["gpu_memory_bytes"] is Absence.UNSUPPORTED
    assert other.processes == ()
    assert plain.absent["processes",] is Absence.NOT_COLLECTED


def test_a_heart_that_beats_is_health(tmp_path: Path) -> None:
    with stage(tmp_path, "n150-x2") as staged, opened(staged) as backend:
        poll = Poll(staged.clock)
        poll(backend)
        beat(tmp_path, 0, "7019853")
        one, other = readings(poll(backend))
        assert one.values["reported_health_info", "ok"] == 1
        assert one.values["reported_status_info", "alive"] == 1
        assert ("reported_health_info", "ok") not in other.values
        staged.clock.advance(STUCK_S)
        one, other = readings(poll(backend))
    for stuck in (one, other):
        assert stuck.values["reported_health_info", "failed"] == 1
        assert stuck.values["reported_status_info", "heartbeat stuck"] == 1
        assert health(stuck) is Health.FAILED


def test_heartbeats() -> None:
    beats = Heartbeats()
    assert beats.alive("a", 1, 0.0) is None
    assert beats.alive("a", 1, 0.0) is None, "the same answer says nothing new"
    assert beats.alive("a", 2, 1.0) is True
    assert beats.alive("a", 2, 1.0 + STUCK_S - 0.1) is True
    assert beats.alive("a", 2, 1.0 + STUCK_S) is False
    assert beats.alive("b", 2, 1.0 + STUCK_S) is None
    assert beats.alive("a", 3, 60.0) is True


def test_a_driver_tree_on_a_bad_day(tmp_path: Path) -> None:
    with stage(tmp_path, "p150-bad-day") as staged, opened(staged) as backend:
        hot, dead, waiting, odd = Poll(staged.clock)(backend)
    assert hot.readings[0].values["reported_status_info", "thermal trip"] == 1
    assert hot.readings[0].values["fan_speed_rpm", "0"] == 1620
    assert hot.readings[0].values["temperature_celsius", "gpu"] == pytest.approx(45.406)
    assert isinstance(dead.error, DeviceLost)
    assert waiting.error is not None
    assert waiting.error.code == "not_initialised"
    strange = odd.readings[0]
    assert odd.identity[0].id == "tenstorrent:0000:04:00.0", "an ASIC id of zeros is none"
    assert (odd.identity[0].uuid, odd.identity[0].model) == (None, None)
    assert strange.absent["temperature_celsius", "gpu"] is Absence.ERROR
    assert strange.absent["clock_hertz", "npu"] is Absence.ERROR
    assert strange.absent["pcie_link_generation", "current"] is Absence.ERROR
    assert strange.absent["pcie_link_width_lanes", "current"] is Absence.ERROR
    assert strange.absent["processes",] is Absence.ERROR
    assert ("current_amperes", "core") not in strange.values
    assert ("fan_speed_rpm", "0") not in strange.values
    assert strange.values["power_watts",] == pytest.approx(39.0)


def test_a_chip_of_a_galaxy_has_no_fan(tmp_path: Path) -> None:
    (chip, *_) = tree("p150-bad-day")
    chip["class"]["tt_card_type"] = "galaxy-blackhole"
    lay_out(tmp_path, 0, chip)
    staged = Stage(TenstorrentBackend, tmp_path)
    with opened(staged) as backend:
        (reading,) = readings(Poll(staged.clock)(backend))
    assert ("fan_speed_rpm", "0") not in reading.values


def test_a_board_without_a_fan_has_no_speed_of_one(tmp_path: Path) -> None:
    (chip, *_) = tree("p150-bad-day")
    chip["hwmon"]["fan1_input"] = str(0xFFFF_FFFF)
    lay_out(tmp_path, 0, chip)
    staged = Stage(TenstorrentBackend, tmp_path)
    with opened(staged) as backend:
        (reading,) = readings(Poll(staged.clock)(backend))
    assert ("fan_speed_rpm", "0") not in {*reading.values, *reading.absent}
    listed = Chip(at=0, pci_bus_id=None, registers={"FAN_RPM": "0xffffffff"})
    assert ("fan_speed_rpm", "0") not in mapping.of_tool("tt0", listed).values


def test_an_n300_has_a_chip_that_is_not_on_the_bus(tmp_path: Path) -> None:
    with stage_tool(tmp_path, "n300.json", "0x401e") as staged, opened(staged) as backend:
        polled = Poll(staged.clock)(backend)
        left, right = identities(polled)
        near, far = readings(polled)
    assert (left.id, left.pci_bus_id, left.model) == (
        "tenstorrent:0000:01:00.0",
        "0000:01:00.0",
        "n300 L",
    )
    assert (right.id, right.pci_bus_id) == ("tenstorrent:010001451172208f-r", None)
    assert (right.index, right.name, right.serial) == (1, "tt1", "010001451172208f")
    assert near.values["temperature_celsius", "gpu"] == 54.3
    assert far.values["temperature_celsius", "gpu"] == 51.0
    assert near.values["pcie_link_width_lanes", "current"] == 16
    assert far.absent["pcie_link_width_lanes", "current"] is Absence.UNSUPPORTED
    assert (near.processes, far.processes) == ((), None)
    assert far.absent["processes",] is Absence.UNSUPPORTED
    assert near.sources["*"] == "tt-smi"
    assert near.pace_s is not None


def test_the_remote_chip_of_a_new_driver(tmp_path: Path) -> None:
    (chip, *_) = tree("n150-x2")
    chip["class"]["tt_card_type"] = "n300"
    lay_out(tmp_path, 4, chip)
    (tmp_path / "snapshot").write_bytes((FOLDER / "n300.json").read_bytes())
    write_program(tmp_path)
    staged = Stage(TenstorrentBackend, tmp_path)
    with opened(staged) as backend:
        near, far = Poll(staged.clock)(backend)
    assert near.readings[0].sources["*"] == "sysfs"
    assert (far.identity[0].name, far.readings[0].sources["*"]) == ("tt5", "tt-smi")
    with opened(staged, source="sysfs") as backend:
        assert len(backend.discover()) == 1


def test_nothing_is_run_where_the_driver_shows_enough(tmp_path: Path) -> None:
    with stage(tmp_path, "n150-x2") as staged:
        write_program(tmp_path, f"touch {tmp_path}/ran")
        with opened(staged) as backend:
            Poll(staged.clock)(backend)
    assert not (tmp_path / "ran").exists()


def test_a_snapshot_on_a_bad_day(tmp_path: Path) -> None:
    with stage_tool(tmp_path, SICK, "0xb140") as staged, opened(staged) as backend:
        stuck, broken, odd = readings(Poll(staged.clock)(backend))
    assert stuck.values["reported_status_info", "ETH heartbeat stuck"] == 1
    assert stuck.values["reported_health_info", "degraded"] == 1
    assert stuck.values["fan_speed_rpm", "0"] == 1620
    assert health(stuck) is Health.DEGRADED
    assert broken.values["reported_status_info", "DRAM not trained"] == 1
    assert broken.values["reported_status_info", "thermal trip"] == 1
    assert broken.values["reported_health_info", "failed"] == 1
    assert odd.absent["voltage_volts", "core"] is Absence.UNSUPPORTED
    assert odd.absent["power_watts",] is Absence.ERROR
    assert odd.absent["temperature_celsius", "gpu"] is Absence.UNSUPPORTED
    assert odd.absent["reported_health_info",] is Absence.UNSUPPORTED
    assert ("temperature_celsius", "memory") not in odd.values, "0 is an empty register"
    assert odd.values["pcie_link_generation", "current"] == 4


def test_a_snapshot_whose_heart_stands_still(tmp_path: Path) -> None:
    with stage_tool(tmp_path, "n300.json", "0x401e") as staged, opened(staged) as backend:
        devices = [backend.identify(device)[0] for device in backend.discover()]
        for device in devices:
            backend.read(device, Request())
        (tmp_path / "snapshot").write_text(
            (tmp_path / "snapshot").read_text().replace("0x6b1943", "0x6b1999")
        )
        staged.clock.advance(STUCK_S + 2)
        near, far = (backend.read(device, Request())[0] for device in devices)
    assert near.values["reported_health_info", "ok"] == 1
    assert far.values["reported_health_info", "failed"] == 1


def test_a_chip_that_is_not_listed_is_lost(tmp_path: Path) -> None:
    with stage_tool(tmp_path, "n300.json", "0x401e") as staged, opened(staged) as backend:
        near, far = backend.discover()
        (tmp_path / "snapshot").write_text('{"device_info": []}')
        staged.clock.advance(10.0)
        lost = [loss(backend, staged.clock, device) for device in (near, far)]
    assert "does not list the chip at 0000:01:00.0" in str(lost[0])
    assert "does not list the remote chip" in str(lost[1])


def test_a_chip_that_is_listed_again_was_not_lost(tmp_path: Path) -> None:
    with stage_tool(tmp_path, "n300.json", "0x401e") as staged, opened(staged) as backend:
        device, _ = backend.discover()
        whole = (tmp_path / "snapshot").read_text()
        for _ in range(RUNS):
            (tmp_path / "snapshot").write_text('{"device_info": []}')
            staged.clock.advance(10.0)
            with pytest.raises(ReadError, match="in this run"):
                backend.identify(device)
            (tmp_path / "snapshot").write_text(whole)
            staged.clock.advance(10.0)
            backend.identify(device)


def test_a_chip_that_the_driver_has_not_bound(tmp_path: Path) -> None:
    with stage(tmp_path, "n150-x2") as staged, opened(staged) as backend:
        device = backend.discover()[1]
        (tmp_path / "sys/class/tenstorrent/tenstorrent!1/device").unlink()
        with pytest.raises(ReadError, match="the driver has not bound 0000:41:00.0") as failed:
            backend.identify(device)
    assert failed.value.code == NO_DRIVER


def test_numbers_are_the_driver_s_also_when_a_chip_is_not_bound(tmp_path: Path) -> None:
    with stage(tmp_path, "n150-x2") as staged, opened(staged) as backend:
        folder = tmp_path / "sys/class/tenstorrent"
        (folder / "tenstorrent!0/device").unlink()
        (folder / "tenstorrent!1").rename(folder / "tenstorrent!0b")
        (folder / "tenstorrent!0").rename(folder / "gone")
        (folder / "tenstorrent!0b").rename(folder / "tenstorrent!0")
        devices = backend.discover()
    names = {device.pci_bus_id: device.name for device in devices}
    assert names == {"0000:01:00.0": "tt1", "0000:41:00.0": "tt0"}


def test_an_old_driver_without_tt_smi(tmp_path: Path) -> None:
    with stage_tool(tmp_path, "n300.json", "0x401e") as staged:
        (tmp_path / "usr/bin/tt-smi").unlink()
        for sensor in ("temp1_input", "power1_input"):
            hwmon = tmp_path / "sys/bus/pci/devices/0000:01:00.0/hwmon/hwmon3"
            (hwmon / sensor).write_text("40000\n")
        with opened(staged) as backend:
            (one,) = readings(Poll(staged.clock)(backend))
    assert one.values["temperature_celsius", "gpu"] == pytest.approx(40.0)
    assert one.absent["reported_health_info",] is Absence.UNSUPPORTED


def test_neither_telemetry_nor_tt_smi(tmp_path: Path) -> None:
    (tmp_path / "sys/class/tenstorrent/tenstorrent!0").mkdir(parents=True)
    lay_out(tmp_path, 1, {"bus": "0000:01:00.0", "device": "0x401e"})
    (tmp_path / "sys/bus/pci/devices/0000:01:00.0/hwmon/hwmon3").rmdir()
    staged = Stage(TenstorrentBackend, tmp_path)
    with opened(staged) as backend:
        (one,) = Poll(staged.clock)(backend)
    assert one.error is not None
    assert "tt-smi was not found" in str(one.error)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"source": "luwen"}, "option"),
        ({"source": 3}, "option"),
        ({"source": "tt-smi"}, "command_not_found"),
        ({"source": "tt-smi", "tt_smi": "/nowhere"}, "command_not_found"),
        ({"pace_s": 0}, "option"),
    ],
)
def test_options_that_cannot_be(tmp_path: Path, options: dict[str, object], reason: str) -> None:
    with stage(tmp_path, "n150-x2") as staged, pytest.raises(BackendUnavailable) as raised:
        staged.backend(options=options).open()
    assert raised.value.reason == reason


def test_without_the_driver_it_says_so(tmp_path: Path) -> None:
    pci = tmp_path / "sys/bus/pci/devices/0000:01:00.0"
    pci.mkdir(parents=True)
    for name, content in (("vendor", "0x1e52"), ("device", "0x401e"), ("class", "0x120000")):
        (pci / name).write_text(content)
    backend = Stage(TenstorrentBackend, tmp_path).backend()
    assert backend.probe().present
    with pytest.raises(BackendUnavailable, match="the driver is not loaded") as raised:
        backend.open()
    assert raised.value.reason == "driver_not_loaded"


def test_the_nodes_alone_are_presence(tmp_path: Path) -> None:
    assert not Stage(TenstorrentBackend, tmp_path).backend().probe().present
    (tmp_path / "dev/tenstorrent").mkdir(parents=True)
    assert Stage(TenstorrentBackend, tmp_path).backend().probe().present


@pytest.mark.parametrize(
    "output", [b"", b"No devices", b"{", b"{}", b"[]", b'{"device_info": 3}', b"\xff{"]
)
def test_what_is_no_snapshot_is_an_error(output: bytes) -> None:
    with pytest.raises(ReadError, match="tt-smi -s printed no"):
        parse(output)


def test_a_board_of_a_new_name_is_known_by_its_pci_id() -> None:
    chip = Chip(at=0, pci_bus_id=None, board={"board_type": "n/a L"}, architecture="wormhole")
    assert mapping.architecture_of(chip) == "wormhole"


def test_a_chip_of_a_wormhole_galaxy_read_by_tt_smi() -> None:
    """tt-smi calls each chip of it left; six digits of channels are Wormhole's, no fan is its own."""
    fields = {"DDR_STATUS": "0x222222", "FAN_RPM": "0x0", "THM_LIMIT_THROTTLE": "0x4b"}
    board = {
        "board_type": "tt-galaxy-wh L",
        "bus_id": "0000:c1:00.0",
        "board_id": "0100035100000001",
    }
    (chip,) = parse(
        json.dumps({"device_info": [{"board_info": board, "smbus_telem": fields}]}).encode()
    ).chips
    assert mapping.architecture_of(chip) == "wormhole"
    assert mapping.signs_of(chip, None).dram_trained is True
    assert ("fan_speed_rpm", "0") not in collected(chip).values


@pytest.mark.parametrize(
    ("subsystem", "card"), [("0x0035", "galaxy-wormhole"), ("0x0047", "galaxy-blackhole")]
)
def test_a_galaxy_whose_firmware_names_no_board_is_known_by_its_pci_id(
    tmp_path: Path, subsystem: str, card: str
) -> None:
    (chip, *_) = tree("p150-bad-day")
    del chip["class"]["tt_card_type"]
    lay_out(tmp_path, 0, chip)
    for folder in (tmp_path / "sys/bus/pci/devices").iterdir():
        (folder / "subsystem_device").write_text(f"{subsystem}\n")
    staged = Stage(TenstorrentBackend, tmp_path)
    with opened(staged) as backend:
        polled = Poll(staged.clock)(backend)
    assert [device.model for device in identities(polled)] == [card]
    assert ("fan_speed_rpm", "0") not in readings(polled)[0].values


@pytest.mark.parametrize(
    ("board", "architecture"),
    [
        ("n150 L", "wormhole"),
        ("p300a", "blackhole"),
        ("e75", "grayskull"),
        ("tt-galaxy-bh", "blackhole"),
        ("tt-galaxy-wh", "wormhole"),
        ("tt-galaxy-wh L", "wormhole"),
        ("wh_4u R", "wormhole"),
        ("nb_cb L", "wormhole"),
        ("galaxy-wormhole", "wormhole"),
        ("GALAXY", "wormhole"),
        ("galaxy-blackhole", "blackhole"),
        ("bh-scrappy", "blackhole"),
        ("nebula", None),
        ("N/A", None),
    ],
)
def test_architecture(board: str, architecture: str | None) -> None:
    chip = Chip(at=0, pci_bus_id=None, board={"board_type": board})
    assert mapping.architecture_of(chip) == architecture


_ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=5,
)
_KEYS = sorted(
    {row.key for row in mapping.ROWS}
    | {"board_type", "board_id", "bus_id", "dram_status", "fw_bundle_version", "thm_limit"}
    | {"ASIC_ID_HIGH", "ASIC_ID_LOW", "FAN_RPM", "TIMER_HEARTBEAT", "MAX_GDDR_TEMP", "AXICLK"}
)
_PART = st.dictionaries(st.sampled_from(_KEYS), _ANY) | _ANY
_PARTS = ("board_info", "telemetry", "firmwares", "limits", "smbus_telem")


def look_at_all(snapshot: Snapshot) -> None:
    for chip in snapshot.chips:
        out = collected(chip)
        mapping.record_health(out, mapping.signs_of(chip, None), Absence.UNSUPPORTED)
        assert registers.heartbeat(chip) is None or chip.registers
        assert chip.serial is None or len(chip.serial) == 16


@given(st.lists(st.dictionaries(st.sampled_from(_PARTS), _PART) | _ANY, max_size=3))
def test_damaged_snapshots_raise_nothing_untyped(chips: list[object]) -> None:
    look_at_all(parse(json.dumps({"device_info": chips}).encode()))


_WHOLE = (FOLDER / SICK).read_bytes()


@given(st.binary(max_size=60), st.integers(0, len(_WHOLE)))
def test_cut_snapshots_raise_nothing_untyped(noise: bytes, length: int) -> None:
    for output in (noise, _WHOLE[:length], _WHOLE[:length] + noise, noise + _WHOLE):
        with contextlib.suppress(ReadError):
            look_at_all(parse(output))


@given(st.binary(max_size=40))
def test_damaged_files_raise_nothing_untyped(tmp_path_factory: object, noise: bytes) -> None:
    assert isinstance(tmp_path_factory, pytest.TempPathFactory)
    root = tmp_path_factory.mktemp("tree")
    lay_out(root, 0, tree("n150-x2")[0])
    for path in (root / "sys/class").rglob("tt_*"):
        path.write_bytes(noise)
    (root / "proc/driver/tenstorrent/0/pids").write_bytes(noise)
    staged = Stage(TenstorrentBackend, root)
    with opened(staged) as backend, contextlib.suppress(AccelwatchError):
        Poll(staged.clock)(backend)


def a_chip(board: str, telem: Mapping[str, object], **parts: Mapping[str, object]) -> Chip:
    """The only one of a snapshot."""
    info = {"bus_id": "0000:01:00.0", "board_type": board, **parts.get("board_info", {})}
    device = {"smbus_telem": telem, **parts, "board_info": info}
    (chip,) = parse(json.dumps({"device_info": [device]}).encode()).chips
    return chip


_DEAD = {"VCORE": None, "TDC": None, "TDP": None, "AICLK": None, "ASIC_TEMPERATURE": None}


def test_numbers_that_tt_smi_puts_for_registers_without_one_are_none() -> None:
    """Of a chip whose firmware does not run it prints 10 kV, 0 W, 0 MHz and 0 degrees."""
    chip = a_chip(
        "p150a",
        {**_DEAD, "DDR_STATUS": None},
        board_info={"dram_status": False},
        telemetry={
            "voltage": "10000.00",
            "current": "  0.0",
            "power": "  0.0",
            "aiclk": "   0",
            "asic_temperature": " 0.0",
        },
        limits={"tdp_limit": 0, "asic_fmax": 0, "thm_limit": 0},
    )
    out = collected(chip)
    assert out.values == {}
    assert out.absent["power_watts",] is Absence.UNSUPPORTED
    assert out.absent["power_limit_watts", "enforced"] is Absence.UNSUPPORTED
    mapping.record_health(out, mapping.signs_of(chip, None), Absence.UNSUPPORTED)
    assert {series for series in out.values if out.values[series]} == {
        ("reported_status_info", "firmware not running"),
        ("reported_health_info", "failed"),
    }


def test_a_register_less_costs_one_number() -> None:
    telem = {**_DEAD, "TDP": "0x27"}
    chip = a_chip("p150a", telem, telemetry={"power": " 39.0", "voltage": "10000.00"})
    out = collected(chip)
    assert out.values == {("power_watts",): 39.0}
    assert out.absent["voltage_volts", "core"] is Absence.UNSUPPORTED
    assert not mapping.signs_of(chip, None).silent


def test_power_of_the_whole_board() -> None:
    chip = a_chip(
        "p150a",
        {"INPUT_POWER": "0x60", "BOARD_POWER_LIMIT": "0x12c"},
        telemetry={"board_power": " 96.0"},
        limits={"board_power_limit": "300"},
    )
    values = collected(chip).values
    assert values["power_component_watts", "board"] == 96.0
    assert values["power_component_limit_watts", "board", "enforced"] == 300.0


def test_registers_have_a_longer_name_in_the_first_releases_of_tt_smi() -> None:
    chip = a_chip(
        "n150", {"SMBUS_TX_AXICLK": "0x384", "SMBUS_TX_TDC": None, "SMBUS_TX_TDP": "0x13"}
    )
    assert collected(chip).values["clock_hertz", "fabric"] == 900e6
    assert (chip.register("TDP"), chip.register("TDC")) == (19, None)
    old = json.dumps({"host_info": {"Driver": "TTKMD 1.27.1"}, "device_info": []})
    assert parse(old.encode()).driver_version == "1.27.1"


def test_sensors_of_the_board() -> None:
    wormhole = a_chip("n150", {"BOARD_TEMPERATURE": "0x323433", "VREG_TEMPERATURE": "0x2d"})
    assert collected(wormhole).values["temperature_celsius", "inlet"] == 50
    assert collected(wormhole).values["temperature_celsius", "vr"] == 45
    assert ("temperature_celsius", "inlet") not in collected(a_chip("n150", {})).values
    blackhole = a_chip("p150a", {"BOARD_TEMPERATURE": "0x323433", "VREG_TEMPERATURE": "0x0"})
    assert collected(blackhole).values == {}


@pytest.mark.parametrize(
    ("board", "telem", "word", "trained"),
    [
        ("p150a", {"DDR_STATUS": "0x5555"}, True, True),
        ("p150a", {"DDR_STATUS": "0x55555555"}, False, True),
        ("p150a", {"DDR_STATUS": "0x55555554"}, True, False),
        ("p150a", {"DDR_STATUS": "0x5557"}, False, False),
        ("p150a", {"DDR_STATUS": "0xd5555555"}, False, False),
        ("p100a", {"DDR_STATUS": "0x1555", "ENABLED_GDDR": "0x7f"}, False, True),
        ("p100a", {"DDR_STATUS": "0x1455", "ENABLED_GDDR": "0x7f"}, False, False),
        ("n150", {"DDR_STATUS": "0x2222222"}, True, True),
        ("n300 L", {"DDR_STATUS": "0x2222122"}, False, False),
        ("n150", {"DDR_STATUS": None}, False, None),
        ("a board", {"DDR_STATUS": "0x1"}, False, False),
        ("p150a", {}, True, True),
        ("p150a", {}, "N/A", None),
    ],
)
def test_whether_the_memory_works(
    board: str, telem: dict[str, object], word: object, trained: bool | None
) -> None:
    """By the register: tt-smi calls memory untrained that it cannot ask, and that is newer than it."""
    chip = a_chip(board, telem, board_info={"dram_status": word})
    assert mapping.signs_of(chip, None).dram_trained is trained


def test_a_blackhole_without_the_register_of_its_shutdown() -> None:
    values = collected(a_chip("p150a", {"THM_LIMITS": "0x6e"}, limits={"thm_limit": "110"})).values
    assert values == {("temperature_limit_celsius", "gpu", "shutdown"): 110.0}


@pytest.mark.parametrize(
    ("telem", "beat"),
    [
        ({"TIMER_HEARTBEAT": "0x10", "ARC0_HEALTH": "0x1"}, 16),
        ({"ARC0_HEALTH": "0x1", "ARC3_HEALTH": "0x2"}, 3),
        ({"ARC0_HEALTH": None, "ARC3_HEALTH": "0x2"}, 2),
        ({"ARC3_HEALTH": None}, None),
    ],
)
def test_what_counts_up_while_the_firmware_lives(
    telem: dict[str, object], beat: int | None
) -> None:
    assert registers.heartbeat(a_chip("n150", telem)) == beat


def test_a_chip_of_another_container_is_not_lost(tmp_path: Path) -> None:
    with stage_tool(tmp_path, "n300.json", "0x401e") as staged:
        lay_out(tmp_path, 1, {"bus": "0000:41:00.0", "device": "0x401e"})
        for bus in ("0000:01:00.0", "0000:41:00.0"):
            bind(tmp_path, bus, "tenstorrent")
        give(tmp_path, "tenstorrent/0")
        with opened(staged) as backend:
            errors = {one.found.pci_bus_id: one.error for one in Poll(staged.clock)(backend)}
    assert errors["0000:01:00.0"] is None
    assert isinstance(errors["0000:41:00.0"], DevicePermission)


@pytest.mark.oracle
def test_recorded_n150() -> None:
    snapshot = parse(sample("tenstorrent/tt_smi_json/dstack_single_n150_gpu.json").read_bytes())
    (chip,) = snapshot.chips
    assert snapshot.driver_version == "1.33"
    assert (chip.pci_bus_id, chip.board_type) == ("0000:01:00.0", "n150 L")
    assert (chip.serial, chip.asic_id) == ("0100018611902010", None)
    assert registers.heartbeat(chip) == 0x6B1943 + 0x42E0
    assert collected(chip).values == {
        ("temperature_celsius", "gpu"): 54.3,
        ("temperature_celsius", "inlet"): 50,
        ("temperature_limit_celsius", "gpu", "slowdown"): 75.0,
        ("power_watts",): 12.0,
        ("power_limit_watts", "enforced"): 100.0,
        ("voltage_volts", "core"): 0.8,
        ("current_amperes", "core"): 16.0,
        ("clock_hertz", "npu"): 5e8,
        ("clock_hertz", "fabric"): 9e8,
        ("clock_hertz", "soc"): 5.4e8,
        ("clock_limit_hertz", "npu", "max"): 1e9,
        ("pcie_link_generation", "current"): 4,
        ("pcie_link_width_lanes", "current"): 4,
    }
    assert mapping.signs_of(chip, None) == mapping.Signs(None, dram_trained=True)


@pytest.mark.oracle
def test_recorded_n300_boards() -> None:
    """Only who they are: the publisher has put in the telemetry."""
    file = sample("tenstorrent/tt_smi_json/dstack_valid_multiple_devices.json")
    snapshot = parse(file.read_bytes())
    assert snapshot.driver_version == "1.34"
    positions = [(chip.pci_bus_id, chip.at, chip.board_type) for chip in snapshot.chips]
    assert positions == [
        ("0000:c1:00.0", 0, "n300 L"),
        ("0000:01:00.0", 1, "n300 L"),
        ("0000:02:00.0", 2, "n300 L"),
        ("0000:41:00.0", 3, "n300 L"),
        (None, 0, "n300 R"),
        (None, 1, "n300 R"),
        (None, 2, "n300 R"),
        (None, 3, "n300 R"),
    ]
    serials = ["010001451172208f", "0100014511722053", "010001451172209c", "0100014511722058"]
    assert [chip.serial for chip in snapshot.chips] == serials * 2
    edited = collected(snapshot.chips[1])
    assert edited.absent["temperature_celsius", "gpu"] is Absence.UNSUPPORTED
    assert edited.absent["power_watts",] is Absence.UNSUPPORTED
    remote = collected(snapshot.chips[4])
    assert remote.absent["pcie_link_generation", "current"] is Absence.UNSUPPORTED


@pytest.mark.oracle
def test_recorded_blackhole_galaxy() -> None:
    file = sample("tenstorrent/tt_smi_json/dstack_blackhole_galaxy.json")
    snapshot = parse(file.read_bytes())
    assert (snapshot.driver_version, len(snapshot.chips)) == ("2.8.0", 32)
    assert {chip.serial for chip in snapshot.chips} == {"0000047131831011"}, "one tray"
    assert len({chip.asic_id for chip in snapshot.chips}) == 32
    first, last = snapshot.chips[0], snapshot.chips[31]
    assert (first.asic_id, first.pci_bus_id) == ("30da68d3319cdf5f", "0000:01:00.0")
    assert (last.asic_id, last.pci_bus_id) == ("1092e6d0dbd47817", "0000:c8:00.0")
    assert registers.heartbeat(first) == 0x62DF9
    assert collected(first).values == {
        ("temperature_celsius", "gpu"): 45.4,
        ("temperature_celsius", "memory"): 56.0,
        ("temperature_limit_celsius", "gpu", "slowdown"): 90.0,
        ("temperature_limit_celsius", "gpu", "shutdown"): 110.0,
        ("power_watts",): 39.0,
        ("power_limit_watts", "enforced"): 130.0,
        ("voltage_volts", "core"): 0.74,
        ("current_amperes", "core"): 53.0,
        ("clock_hertz", "npu"): 8e8,
        ("clock_hertz", "fabric"): 9.6e8,
        ("clock_hertz", "soc"): 8e8,
        ("clock_limit_hertz", "npu", "max"): 1.35e9,
        ("pcie_link_generation", "current"): 4,
        ("pcie_link_width_lanes", "current"): 1,
    }
    assert collected(last).values["power_watts",] == 36.0
    assert collected(last).values["temperature_celsius", "gpu"] == 39.9
    assert mapping.signs_of(first, None) == mapping.Signs(None, True, thermal_trips=0)


@pytest.mark.oracle
def test_a_recorded_stuck_ethernet_core() -> None:
    """The log names the chip by its ASIC id in decimal; the JSON that followed was cut off."""
    log = sample("tenstorrent/logs/tt_smi_eth_heartbeat_timeout.log").read_bytes()
    with pytest.raises(ReadError, match="no JSON"):
        parse(log)
    number = 492763459023616699
    registers = {"ASIC_ID_HIGH": hex(number >> 32), "ASIC_ID_LOW": hex(number & 0xFFFFFFFF)}
    other = {**registers, "ASIC_ID_LOW": "0x1"}
    chips = [
        {"board_info": {"bus_id": f"0000:0{at}:00.0"}, "smbus_telem": telemetry}
        for at, telemetry in enumerate((registers, other))
    ]
    both = parse(log + b"\n" + msgspec.json.encode({"device_info": chips}))
    assert [chip.ethernet_stuck for chip in both.chips] == [True, False]
