"""Every recorded Intel card, with values taken from the recording by hand."""

from collections.abc import Callable

import pytest

from accelwatch.base.absence import Absence
from accelwatch.schema.device import MemoryKind
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number
from support.machines.intel_machines import Machine
from support.machines.polling import assert_all_believed

pytestmark = pytest.mark.oracle

MHZ = 1_000_000
Recorded = Callable[[str], Machine]


def clocks(domain: str, actual: int, **limits: int) -> dict[Series, Number]:
    found: dict[Series, Number] = {("clock_hertz", domain): actual * MHZ}
    for limit, megahertz in limits.items():
        found["clock_limit_hertz", domain, limit] = megahertz * MHZ
    return found


def test_arc_b580_on_xe(recorded: Recorded) -> None:
    machine = recorded("b580")
    (device,) = machine.devices()
    assert device.id == "intel:0000:09:00.0"
    assert device.model == "Intel Arc B580 Graphics"
    assert device.architecture == "Xe2-HPG (Battlemage)"
    assert device.firmware_version == "203.0.0.1519"
    assert device.numa_node is None
    assert device.device_nodes == ("/dev/dri/card1",)
    assert device.memory_kind is MemoryKind.AGGREGATE
    (reading,) = machine.read()
    expected: dict[Series, Number] = {
        **clocks(
            "graphics",
            actual=0,
            max=2850,
            min=400,
        ),
        **clocks(
            "media",
            actual=0,
            max=1500,
            min=1200,
        ),
        ("throttle_active", "power"): 0,
        ("throttle_active", "thermal_hardware"): 0,
        ("temperature_celsius", "gpu"): 54,
        ("temperature_celsius", "memory"): 56,
        ("temperature_celsius", "soc"): 58,
        ("temperature_limit_celsius", "gpu", "target"): 60,
        ("temperature_limit_celsius", "gpu", "slowdown"): 100,
        ("temperature_limit_celsius", "gpu", "shutdown"): 125,
        ("temperature_limit_celsius", "memory", "slowdown"): 105,
        ("temperature_limit_celsius", "memory", "shutdown"): 120,
        ("temperature_limit_celsius", "soc", "slowdown"): 100,
        ("temperature_limit_celsius", "soc", "shutdown"): 125,
        ("fan_speed_rpm", "0"): 1116,
        ("fan_speed_rpm", "1"): 1235,
        ("fan_speed_rpm", "2"): 0,
        ("fan_speed_ratio", "0"): pytest.approx(1116 / 2160),  # type: ignore[dict-item]
        ("fan_speed_ratio", "1"): pytest.approx(1235 / 2160),  # type: ignore[dict-item]
        ("fan_speed_ratio", "2"): 0,
        ("power_limit_watts", "enforced"): 190,
        ("power_limit_watts", "critical"): 380,
        ("energy_joules_total", "hardware"): 11031.745544,
    }
    assert reading.values == expected
    assert "energy_joules_total" not in reading.sources, "the card's own counter"
    assert reading.absent == {
        ("power_watts",): Absence.NOT_COLLECTED,
        ("power_component_watts", "package"): Absence.NOT_COLLECTED,
        ("utilization_ratio",): Absence.NOT_COLLECTED,
        ("memory_used_bytes",): Absence.UNSUPPORTED,
    }


def test_arc_a380_on_xe(recorded: Recorded) -> None:
    machine = recorded("a380-xe")
    (device,) = machine.devices()
    assert device.id == "intel:0000:08:00.0"
    assert device.model == "Intel Arc A380 Graphics"
    assert device.architecture == "Xe-HPG (Alchemist)"
    assert device.firmware_version == "101.0.10.2177"
    (reading,) = machine.read()
    assert reading.values == {
        **clocks(
            "graphics",
            actual=0,
            max=2450,
            min=300,
        ),
        ("throttle_active", "power"): 0,
        ("throttle_active", "thermal_hardware"): 0,
        ("temperature_celsius", "gpu"): 56,
        ("temperature_celsius", "memory"): 54,
        ("fan_speed_rpm", "0"): 945,
        ("fan_speed_rpm", "1"): 0,
        ("voltage_volts", "package"): 0.605,
        ("power_limit_watts", "enforced"): 55,
        ("energy_joules_total", "hardware"): 59540.97052,
    }
    assert reading.sources["energy_joules_total"] == "hwmon pkg"
    assert "power and energy are the GPU package's: no counter of the whole card counts" in (
        reading.notes
    )


def test_arc_a380_on_i915(recorded: Recorded) -> None:
    machine = recorded("a380-i915")
    (device,) = machine.devices()
    assert device.id == "intel:0000:0b:00.0"
    assert device.firmware_version is None
    (reading,) = machine.read()
    assert reading.values == {
        **clocks(
            "graphics",
            actual=600,
            max=2450,
            min=300,
        ),
        ("throttle_active", "power"): 0,
        ("throttle_active", "thermal_hardware"): 0,
        ("temperature_celsius", "gpu"): 55,
        ("fan_speed_rpm", "0"): 0,
        ("voltage_volts", "gpu"): 0.603,
        ("power_limit_watts", "enforced"): 55,
        ("energy_joules_total", "hardware"): 25637.161804,
    }
    assert ("power_limit_watts", "default") not in reading.values, "a rating of 0 is unknown"
    assert reading.notes == (), "no hang is recorded"


def test_comet_lake_on_an_old_i915(recorded: Recorded) -> None:
    machine = recorded("cometlake")
    (device,) = machine.devices()
    assert device.id == "intel:0000:00:02.0"
    assert device.model == "Intel UHD Graphics (Comet Lake)"
    assert device.memory_kind is MemoryKind.SHARED
    (reading,) = machine.read()
    assert reading.values == clocks(
        "graphics",
        actual=300,
        max=1150,
        min=300,
    )
    assert reading.absent["pcie_link_generation", "current"] is Absence.UNSUPPORTED
    assert reading.absent["pcie_link_width_lanes", "current"] is Absence.UNSUPPORTED


def test_energy_of_two_readings_is_power(recorded: Recorded) -> None:
    machine = recorded("b580")
    machine.read()
    card = machine.device_file("0000:09:00.0", "hwmon/hwmon2/energy1_input")
    package = machine.device_file("0000:09:00.0", "hwmon/hwmon2/energy2_input")
    card.write_text("11451745544\n")
    package.write_text("19314248107\n")
    machine.clock.advance(2.0)
    (reading,) = machine.read()
    assert reading.values["power_watts",] == pytest.approx(210.0)
    assert reading.values["power_component_watts", "package"] == pytest.approx(150.0)


def test_card_whose_own_counter_stays_at_0_has_the_packages(recorded: Recorded) -> None:
    """What xe of kernel 6.16 shows for a B580: `energy1` (card) 0, `energy2` (pkg) counting."""
    machine = recorded("b580")
    card = machine.device_file("0000:09:00.0", "hwmon/hwmon2/energy1_input")
    package = machine.device_file("0000:09:00.0", "hwmon/hwmon2/energy2_input")
    card.write_text("0\n")
    (reading,) = machine.read()
    assert reading.values["energy_joules_total", "hardware"] == 19014.248107
    package.write_text("19214248107\n")
    machine.clock.advance(2.0)
    (reading,) = machine.read()
    assert reading.values["power_watts",] == pytest.approx(100.0)
    assert ("power_component_watts", "package") not in reading.values
    assert reading.sources["power_watts"] == "hwmon pkg"


def test_residency_of_two_readings_bounds_the_busy_ratio(recorded: Recorded) -> None:
    machine = recorded("b580")
    machine.read()
    main = machine.device_file("0000:09:00.0", "tile0/gt0/gtidle/idle_residency_ms")
    main.write_text(f"{308607 + 500}\n")
    machine.clock.advance(2.0)
    (reading,) = machine.read()
    assert reading.values["utilization_ratio",] == pytest.approx(0.75)
    assert reading.sources["utilization_ratio"] == "gtidle"
    assert "utilization is an upper bound: the time outside the idle state" in reading.notes


def test_groups_that_are_off_bring_nothing(recorded: Recorded) -> None:
    (reading,) = recorded("a380-xe").read(groups=frozenset())
    assert not any(key == "voltage_volts" for key, *_ in reading.values)


@pytest.mark.parametrize("name", ["a380-i915", "a380-xe", "b580", "cometlake"])
def test_every_number_of_a_recorded_card_is_believed(recorded: Recorded, name: str) -> None:
    machine = recorded(name)
    assert_all_believed(machine.devices(), machine.read())
