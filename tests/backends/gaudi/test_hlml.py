"""What libhlml says of a Gaudi, through a stand-in that is loaded as the real one is."""

import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from accelwatch.backend import Request
from accelwatch.backend.errors import BackendUnavailable
from accelwatch.base.absence import Absence
from accelwatch.base.clock import ManualClock
from accelwatch.base.errors import DeviceLost, DevicePermission, DeviceTimeout, ReadError
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Reading
from accelwatch_gaudi import GaudiBackend
from accelwatch_gaudi.hlml import Hlml, NotSupported
from backends.gaudi.hlml_scenario import Scenario
from backends.gaudi.machines import FOLDER, stage, stage_library, write_program
from support.machines.pci_nodes import bind, give, name_node
from support.machines.polling import EVERYTHING, Poll, assert_all_believed, identities, readings
from support.machines.staged_machines import Stage
from support.processes.waiting import wait_until

_FIRST = "sys/bus/pci/devices/0000:19:00.0"


class Machine(msgspec.Struct):
    stage: Stage
    scenario: Scenario
    backend: GaudiBackend

    @property
    def clock(self) -> ManualClock:
        return self.stage.clock

    def device(self, at: int) -> Device:
        return self.backend.identify(self.backend.discover()[at])[0]

    def read(self, at: int, *, slow: bool = True) -> Reading:
        request = msgspec.structs.replace(EVERYTHING, slow=slow)
        return self.backend.read(self.device(at), request)[0]


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    with stage_library(tmp_path) as (staged, scenario):
        backend = staged.backend()
        assert isinstance(backend, GaudiBackend)
        assert backend.open().source == "hlml"
        yield Machine(staged, scenario, backend)
        backend.close()


def test_who_a_card_is(machine: Machine) -> None:
    device = machine.device(0)
    assert device.id == "habana:01P4-HL3090A0-18-UAN000-12-03-01"
    assert (device.model, device.architecture, device.serial) == (
        "HL-325L",
        "gaudi3",
        "AM00000001",
    )
    assert (device.driver_version, device.firmware_version) == ("1.21.1-b336d5e", "59.2.3")
    assert (device.pci_bus_id, device.index, device.name) == ("0000:19:00.0", 0, "accel0")


def test_the_firmware_is_the_library_s_word_without_the_driver_s(machine: Machine) -> None:
    (machine.stage.root / _FIRST / "preboot_btl_ver").unlink()
    assert machine.device(0).firmware_version == "59.2.3"


def test_all_numbers_of_a_card(machine: Machine) -> None:
    values = machine.read(0).values
    expected = {
        ("utilization_ratio",): 1.0,
        ("memory_size_bytes",): 137438953472,
        ("memory_used_bytes",): 137364504576,
        ("power_watts",): 842.0,
        ("power_limit_watts", "enforced"): 850.0,
        ("power_limit_watts", "default"): 900.0,
        ("temperature_celsius", "gpu"): 87.0,
        ("temperature_celsius", "board"): 52.0,
        ("temperature_celsius", "memory"): 91.0,
        ("temperature_limit_celsius", "gpu", "shutdown"): 105.0,
        ("temperature_limit_celsius", "gpu", "slowdown"): 98.0,
        ("clock_hertz", "soc"): 1.4e9,
        ("clock_limit_hertz", "soc", "max"): 1.6e9,
        ("energy_joules_total", "hardware"): 123456.789,
        ("throttle_active", "power"): 0,
        ("throttle_active", "thermal_hardware"): 1,
        ("ecc_errors_total", "corrected"): 41,
        ("ecc_errors_total", "uncorrected"): 2,
        ("ecc_lifetime_errors", "corrected"): 350,
        ("ecc_lifetime_errors", "uncorrected"): 6,
        ("ecc_location_errors_total", "corrected", "sram"): 2,
        ("ecc_location_errors_total", "corrected", "dram"): 39,
        ("ecc_location_errors_total", "uncorrected", "dram"): 2,
        ("ecc_enabled",): 1,
        ("ecc_enabled_pending",): 1,
        ("memory_remapped_rows", "corrected"): 1,
        ("memory_remapped_rows", "uncorrected"): 2,
        ("memory_repair_pending",): 1,
        ("pcie_errors_total", "replay"): 7,
        ("platform_module_info", "3"): 1,
        ("interconnect_links", "ethernet", "up"): 23,
        ("interconnect_links", "ethernet", "down"): 1,
        ("link_up", "ethernet", "0"): 0,
        ("link_up", "ethernet", "23"): 1,
        ("reported_health_info", "ok"): 1,
    }
    assert {series: values.get(series) for series in expected} == pytest.approx(expected)
    assert ("temperature_celsius", "vr") not in values, "this card has no such sensor"


def test_ports_are_links(machine: Machine) -> None:
    links = machine.read(0).links
    assert len(links) == 24
    assert [(link.link, link.up) for link in links[:2]] == [("0", False), ("1", True)]
    assert {link.fabric for link in links} == {"ethernet"}
    assert machine.read(1).links == ()


def test_all_is_believed(machine: Machine) -> None:
    polled = Poll(machine.clock)(machine.backend)
    assert_all_believed(identities(polled), readings(polled))


@pytest.mark.parametrize(("bits", "active"), [(0, (0, 0)), (1, (1, 0)), (2, (0, 1)), (3, (1, 1))])
def test_reasons_of_throttling(machine: Machine, bits: int, active: tuple[int, int]) -> None:
    machine.scenario.set("0.throttle", bits)
    values = machine.read(0).values
    active_now = (values["throttle_active", "power"], values["throttle_active", "thermal_hardware"])
    assert active_now == active


def test_the_longer_structure_of_newer_versions(machine: Machine) -> None:
    machine.scenario.set("wide_pci", 1)
    assert [device.pci_bus_id for device in machine.backend.discover()] == [
        "0000:19:00.0",
        "0000:3b:00.0",
    ]


def test_one_call_that_fails_hides_nothing_else(machine: Machine) -> None:
    machine.scenario.set("0.call.hlml_device_get_power_usage", 49)
    machine.scenario.set("0.call.hlml_device_get_temperature", 3)
    machine.scenario.set("0.call.hlml_nic_get_link", 21)
    machine.scenario.set("0.call.hlml_device_get_ecc_mode", 20)
    reading = machine.read(0)
    assert reading.absent["power_watts",] is Absence.ERROR
    assert reading.absent["temperature_celsius", "gpu"] is Absence.UNSUPPORTED
    assert reading.absent["ecc_enabled",] is Absence.ERROR
    assert reading.values["memory_used_bytes",] == 137364504576
    assert ("interconnect_links", "ethernet", "up") not in reading.values
    assert reading.links[0].up is None


def test_limits_of_zero_are_none(machine: Machine) -> None:
    for key in ("limit", "default_limit", "threshold0", "max_clock0", "total", "used"):
        machine.scenario.set(f"0.{key}", 0)
    absent = machine.read(0).absent
    for series in (
        ("power_limit_watts", "enforced"),
        ("power_limit_watts", "default"),
        ("temperature_limit_celsius", "gpu", "shutdown"),
        ("clock_limit_hertz", "soc", "max"),
        ("memory_size_bytes",),
    ):
        if series[0] in ("power_limit_watts", "clock_limit_hertz") and series not in absent:
            # The driver's word stands in.
            continue
        assert absent[series] is Absence.ERROR, series


def test_what_hardly_changes_is_reused_in_a_quick_reading(machine: Machine) -> None:
    device = machine.device(0)
    machine.backend.read(device, EVERYTHING)
    machine.scenario.set("0.ecc01", 999)
    machine.scenario.set("0.power", 100000)
    machine.scenario.set("0.ports_up", 0)
    quick = machine.backend.read(device, msgspec.structs.replace(EVERYTHING, slow=False))[0].values
    assert quick["ecc_lifetime_errors", "corrected"] == 350
    assert quick["interconnect_links", "ethernet", "up"] == 23
    assert quick["power_watts",] == 100.0
    whole = machine.backend.read(device, EVERYTHING)[0].values
    assert whole["ecc_lifetime_errors", "corrected"] == 999
    assert whole["interconnect_links", "ethernet", "down"] == 24


@pytest.mark.parametrize(("code", "error"), [(15, DeviceLost), (10, DeviceTimeout)])
def test_a_card_that_does_not_answer(machine: Machine, code: int, error: type[ReadError]) -> None:
    device = machine.device(0)
    machine.scenario.set("0.call.*", code)
    reading = machine.backend.read(device, Request())[0]
    assert reading.values["reported_health_info", "ok"] == 1, "the driver still tells its word"
    assert reading.absent["power_watts",] is error.absence
    assert "from the driver only: hlml_device_get_utilization_rates" in reading.notes[0]
    (machine.stage.root / _FIRST / "status").unlink()
    with pytest.raises(error):
        machine.backend.read(device, Request())
    assert machine.read(1).values["power_watts",] == 226.0, "the other card is not touched"


def test_a_card_that_the_library_does_not_list(machine: Machine) -> None:
    machine.scenario.set("count", 1)
    with stage_again(machine) as backend:
        first, second = backend.discover()
        assert backend.identify(first)
        with pytest.raises(DeviceLost, match="libhlml does not list the NPU at 0000:3b:00.0"):
            backend.identify(second)


def test_a_card_of_another_container(machine: Machine) -> None:
    """The bus shows it and its driver's node; /dev has not got the node."""
    machine.scenario.set("count", 1)
    root = machine.stage.root
    bind(root, "0000:3b:00.0", "habanalabs")
    name_node(root, "0000:3b:00.0", "accel", "accel/accel1")
    with stage_again(machine) as backend:
        _, second = backend.discover()
        with pytest.raises(DevicePermission, match="/dev/accel/accel1 is not here"):
            backend.identify(second)
        give(root, "accel/accel1")
        with pytest.raises(DeviceLost, match="libhlml does not list the NPU at 0000:3b:00.0"):
            backend.identify(second)


@contextlib.contextmanager
def stage_again(machine: Machine) -> Iterator[GaudiBackend]:
    backend = machine.stage.backend()
    assert isinstance(backend, GaudiBackend)
    backend.open()
    yield backend
    backend.close()


def test_processes_are_of_hl_smi_s_table(machine: Machine) -> None:
    root = machine.stage.root
    (root / "table.txt").write_bytes((FOLDER / "gaudi2-x2/table.txt").read_bytes())
    assert machine.read(0).absent["processes",] is Absence.UNSUPPORTED
    write_program(root)
    with stage_again(machine) as backend:
        (device,) = backend.identify(backend.discover()[0])
        reading = backend.read(device, EVERYTHING)[0]
    assert [p.pid for p in reading.processes or ()] == [4711]
    assert reading.values["power_watts",] == 842.0


def test_a_command_that_fails_costs_processes_only(machine: Machine) -> None:
    write_program(machine.stage.root, "exit 1")
    with stage_again(machine) as backend:
        (device,) = backend.identify(backend.discover()[0])
        reading = backend.read(device, EVERYTHING)[0]
    assert reading.absent["processes",] is Absence.ERROR
    assert reading.values["power_watts",] == 842.0
    assert reading.notes == ()


def test_numbers_do_not_wait_for_the_command(machine: Machine) -> None:
    root = machine.stage.root
    write_program(root, f"touch {root}/asked; exec cat {root}/never")
    os.mkfifo(root / "never")
    early: list[Reading] = []
    with stage_again(machine) as backend:
        (device,) = backend.identify(backend.discover()[0])
        assert not (root / "asked").exists()
        request = msgspec.structs.replace(EVERYTHING, numbers=early.extend)
        thread = threading.Thread(target=backend.read, args=(device, request), daemon=True)
        thread.start()
        wait_until((root / "asked").exists)
        assert early[0].values["power_watts",] == 842.0
        # Its end lets the command, and the reading, come to theirs.
        (root / "never").write_bytes((FOLDER / "gaudi2-x2/table.txt").read_bytes())
        thread.join()


def test_a_library_that_does_not_start_leaves_it_to_hl_smi(machine: Machine) -> None:
    machine.scenario.set("call.hlml_init", 9)
    with pytest.raises(BackendUnavailable, match="HLML_ERROR_DRIVER_NOT_LOADED"):
        machine.stage.backend(options={"source": "hlml"}).open()
    backend = machine.stage.backend()
    assert backend.open().source == "sysfs"
    backend.close()


def test_a_file_that_is_no_library_leaves_it_to_hl_smi(tmp_path: Path) -> None:
    with stage(tmp_path, "gaudi2-x2") as staged:
        library = tmp_path / "usr/lib/habanalabs/libhlml.so"
        library.parent.mkdir(parents=True)
        library.write_text("no library")
        backend = staged.backend()
        assert backend.open().source == "hl-smi"
        backend.close()
        with pytest.raises(BackendUnavailable, match="libhlml cannot be loaded"):
            staged.backend(options={"source": "hlml"}).open()


def test_the_source_can_be_chosen(machine: Machine) -> None:
    backend = machine.stage.backend(options={"source": "hl-smi"})
    assert backend.open().source == "sysfs", "there is no hl-smi"
    backend.close()
    with pytest.raises(BackendUnavailable, match="is not one of auto, hlml, hl-smi"):
        machine.stage.backend(options={"source": "pyhlml"}).open()
    with pytest.raises(BackendUnavailable, match="libhlml was not found at /nowhere"):
        machine.stage.backend(options={"source": "hlml", "hlml_library": "/nowhere"}).open()


def test_an_older_library_without_a_call() -> None:
    with pytest.raises(NotSupported, match="not in this library"):
        Hlml(object()).call("hlml_device_get_power_usage")


@pytest.mark.parametrize(
    ("code", "word"),
    [(1, "UNINITIALIZED"), (2, "INVALID_ARGUMENT"), (21, "NO_DATA"), (49, "UNKNOWN"), (77, "77")],
)
def test_a_uuid_that_fails_is_no_other_device(machine: Machine, code: int, word: str) -> None:
    machine.scenario.set("0.call.hlml_device_get_uuid", code)
    with pytest.raises(ReadError, match=f"hlml_device_get_uuid: .*{word}"):
        machine.device(0)


def test_a_card_without_uuid_goes_by_its_slot(machine: Machine) -> None:
    machine.scenario.set("0.call.hlml_device_get_uuid", 3)
    device = machine.device(0)
    assert (device.uuid, device.id) == (None, "habana:0000:19:00.0")
