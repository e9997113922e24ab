"""Files of Intel cards that hold nonsense, stand still, jump or cannot be read."""

from collections.abc import Callable

import pytest

from accelwatch.base.absence import Absence
from accelwatch.schema.reading import complete
from support.machines.intel_machines import B580, PORT, Composed

Fail = Callable[[str, Absence], None]


def test_nonsense_in_files_is_an_error_and_no_value(composed: Composed) -> None:
    machine = composed("arc-a770-faulty")
    (reading,) = machine.read()
    assert reading.values == {
        ("clock_hertz", "graphics"): 300_000_000,
        ("clock_limit_hertz", "graphics", "max"): 2_400_000_000,
        ("throttle_active", "power"): 1,
        ("throttle_active", "thermal_hardware"): 1,
        ("temperature_celsius", "memory"): 104,
        ("temperature_limit_celsius", "memory", "slowdown"): 105,
        ("fan_speed_rpm", "0"): 0,
        ("pcie_errors_total", "nonfatal"): 41,
        ("memory_used_bytes",): 4 * (1 << 20),
    }
    for series in (
        ("clock_limit_hertz", "graphics", "min"),
        ("temperature_celsius", "gpu"),
        ("energy_joules_total", "hardware"),
        ("power_watts",),
        ("utilization_ratio",),
    ):
        assert reading.absent[series] is Absence.ERROR
    assert reading.notes == ("the driver holds a device core dump of a hang (devcoredump)",)


@pytest.mark.parametrize("reason", list(Absence))
def test_an_unreadable_file_gives_its_reason(
    composed: Composed, fail: Fail, reason: Absence
) -> None:
    fail("temp2_input", reason)
    fail("act_freq", reason)
    fail("energy1_input", reason)
    (reading,) = composed("arc-b580").read()
    assert reading.absent["temperature_celsius", "gpu"] is reason
    assert reading.absent["clock_hertz", "graphics"] is reason
    assert reading.absent["power_watts",] is reason
    assert reading.values["temperature_celsius", "memory"] == 72


def test_an_energy_counter_that_stands_still_is_no_power(composed: Composed) -> None:
    machine = composed("arc-b580")
    machine.read()
    machine.clock.advance(1.0)
    (reading,) = machine.read()
    assert reading.absent["power_watts",] is Absence.ERROR


@pytest.mark.parametrize(
    ("card", "package", "joules", "source"),
    [
        ("0", "30123456789", 30123.456789, "hwmon pkg"),
        ("40123456789", "0", 40123.456789, "sysfs"),
        ("1", "30123456789", 0.000001, "sysfs"),
    ],
)
def test_energy_is_the_widest_counter_that_counts(
    composed: Composed, card: str, package: str, joules: float, source: str
) -> None:
    machine = composed("arc-b580")
    machine.device_file(B580, "hwmon/hwmon4/energy1_input").write_text(card)
    machine.device_file(B580, "hwmon/hwmon4/energy2_input").write_text(package)
    (reading,) = machine.read()
    assert reading.values["energy_joules_total", "hardware"] == joules
    assert reading.sources.get("energy_joules_total", reading.sources["*"]) == source
    assert any("the GPU package's" in note for note in reading.notes) == (source == "hwmon pkg")


def test_counters_that_never_counted_are_no_energy(composed: Composed) -> None:
    machine = composed("arc-b580")
    for number in (1, 2):
        machine.device_file(B580, f"hwmon/hwmon4/energy{number}_input").write_text("0\n")
    (reading,) = machine.read()
    assert reading.absent["energy_joules_total", "hardware"] is Absence.ERROR
    assert ("energy_joules_total", "hardware") not in reading.values


def test_a_counter_of_something_else_is_not_the_cards(composed: Composed) -> None:
    machine = composed("arc-b580")
    for number in (1, 2):
        machine.device_file(B580, f"hwmon/hwmon4/energy{number}_label").write_text("vram\n")
    (reading,) = machine.read()
    assert not any(series[0] == "energy_joules_total" for series in reading.values)


@pytest.mark.parametrize(
    ("files", "limits"),
    [
        ({"power1_cap": "0"}, {"critical": 380}),
        ({"power1_crit": "0"}, {"enforced": 190}),
        (
            {"power1_cap": "0", "power2_label": "pkg", "power2_max": "120000000"},
            {"enforced": 120, "critical": 380},
        ),
        (
            {"power2_label": "pkg", "power2_max": "120000000", "power2_crit": "250000000"},
            {"enforced": 190, "critical": 380},
        ),
        (
            {"power2_label": "vram", "power2_rated_max": "9000000"},
            {"enforced": 190, "critical": 380},
        ),
    ],
)
def test_a_power_limit_is_the_widest_channels_that_reports_it(
    composed: Composed, files: dict[str, str], limits: dict[str, int]
) -> None:
    machine = composed("arc-b580")
    for name, text in files.items():
        machine.device_file(B580, f"hwmon/hwmon4/{name}").write_text(text)
    (reading,) = machine.read()
    watts = {s[1]: value for s, value in reading.values.items() if s[0] == "power_limit_watts"}
    assert watts == limits


def test_an_energy_counter_that_was_reset_starts_anew(composed: Composed) -> None:
    machine = composed("arc-b580")
    machine.read()
    machine.device_file(B580, "hwmon/hwmon4/energy1_input").write_text("1000000\n")
    machine.clock.advance(1.0)
    assert machine.read()[0].absent["power_watts",] is Absence.NOT_COLLECTED
    machine.device_file(B580, "hwmon/hwmon4/energy1_input").write_text("61000000\n")
    machine.clock.advance(1.0)
    assert machine.read()[0].values["power_watts",] == pytest.approx(60.0)


def test_steps_of_the_wall_clock_do_not_matter(composed: Composed) -> None:
    machine = composed("arc-b580")
    machine.read()
    machine.clock.step_wall(-3600)
    machine.device_file(B580, "hwmon/hwmon4/energy1_input").write_text("40223456789\n")
    machine.clock.advance(1.0)
    assert machine.read()[0].values["power_watts",] == pytest.approx(100.0)


def test_a_hang_record_of_i915_is_noted(composed: Composed) -> None:
    machine = composed("laptop-meteor-lake")
    assert machine.read()[0].notes == ()
    (machine.root / "sys/devices/pci0000:00/0000:00:02.0/drm/card0/error").write_text(
        "GPU HANG: ecode 12:1:85dcfdfb\n"
    )
    assert any("GPU hang" in note for note in machine.read()[0].notes)


@pytest.mark.parametrize("celsius", ["-60000", "999000", "4294967295"])
def test_a_broken_sensor_is_an_error(composed: Composed, celsius: str) -> None:
    machine = composed("arc-b580")
    machine.device_file(B580, "hwmon/hwmon4/temp2_input").write_text(celsius)
    (reading,) = machine.read()
    assert reading.absent["temperature_celsius", "gpu"] is Absence.ERROR


@pytest.mark.parametrize("megahertz", ["627200", "-1", "4294967295"])
def test_a_clock_that_cannot_be_is_an_error(composed: Composed, megahertz: str) -> None:
    machine = composed("arc-b580")
    machine.device_file(B580, "tile0/gt0/freq0/act_freq").write_text(megahertz)
    (reading,) = machine.read()
    assert reading.absent["clock_hertz", "graphics"] is Absence.ERROR


LINK_FILES = [f"{state}_link_{what}" for state in ("current", "max") for what in ("speed", "width")]
NOT_AT_ALL = [Absence.PERMISSION, Absence.ERROR, Absence.UNSUPPORTED]


@pytest.mark.parametrize("reason", NOT_AT_ALL)
@pytest.mark.parametrize("name", LINK_FILES)
def test_one_unreadable_link_file_makes_no_false_link(
    composed: Composed, fail: Fail, name: str, reason: Absence
) -> None:
    fail(f"{B580}/{name}", reason)
    (reading,) = composed("arc-b580").read()
    for state in ("current", "max"):
        assert reading.values["pcie_link_generation", state] == 4
        assert reading.values["pcie_link_width_lanes", state] == 8


@pytest.mark.parametrize("rubbish", ["garbage\n", "255\n", "-1\n", "63\n", "Unknown\n", ""])
@pytest.mark.parametrize("name", LINK_FILES)
def test_rubbish_in_one_link_file_makes_no_false_link(
    composed: Composed, name: str, rubbish: str
) -> None:
    machine = composed("arc-b580")
    machine.device_file(B580, name).write_text(rubbish)
    (reading,) = machine.read()
    for state in ("current", "max"):
        assert reading.values["pcie_link_generation", state] == 4
        assert reading.values["pcie_link_width_lanes", state] == 8


@pytest.mark.parametrize("name", LINK_FILES)
def test_one_unreadable_file_of_the_port_costs_one_value(
    composed: Composed, fail: Fail, name: str
) -> None:
    fail(f"{PORT[1]}/{name}", Absence.ERROR)
    (reading,) = composed("arc-b580").read()
    links = [series for series in reading.values if series[0].startswith("pcie_link_")]
    assert len(links) == 3
    assert all(reading.values[series] in (4, 8) for series in links)


@pytest.mark.parametrize("reason", NOT_AT_ALL)
def test_link_behind_an_unreadable_port_is_absent(
    composed: Composed, fail: Fail, reason: Absence
) -> None:
    fail(f"{PORT[1]}/class", reason)
    (reading,) = composed("arc-b580").read()
    assert not any(series[0].startswith("pcie_link_") for series in reading.values)
    whole = complete(reading, frozenset())
    assert whole.absent["pcie_link_generation",] is reason
    assert whole.absent["pcie_link_width_lanes",] is reason


def test_a_card_that_has_left_the_bus_is_distinguished_from_one_without_a_link(
    composed: Composed,
) -> None:
    machine = composed("arc-b580")
    for name in LINK_FILES:
        machine.device_file(B580, name).write_text("Unknown\n" if "speed" in name else "63\n")
    (reading,) = machine.read()
    for state in ("current", "max"):
        assert reading.absent["pcie_link_generation", state] is Absence.ERROR
        assert reading.absent["pcie_link_width_lanes", state] is Absence.ERROR


@pytest.mark.parametrize(
    ("name", "text"), [("max_link_speed", "16.0 GT/s PCIe\n"), ("max_link_width", "8\n")]
)
def test_a_link_that_fell_to_one_lane_is_reported(composed: Composed, name: str, text: str) -> None:
    machine = composed("arc-b580")
    machine.device_file(B580, name).write_text(text)
    (reading,) = machine.read()
    assert reading.values["pcie_link_generation", "current"] == 1
    assert reading.values["pcie_link_width_lanes", "current"] == 1


@pytest.mark.parametrize(
    ("capable", "status", "expected"),
    [
        ("1\n", "0\n", 0),
        ("1\n", "1\n", 1),
        ("0\n", "1\n", Absence.UNSUPPORTED),
        ("1\n", "7\n", Absence.ERROR),
        ("x\n", "1\n", Absence.ERROR),
        (None, None, Absence.UNSUPPORTED),
        ("1\n", None, Absence.UNSUPPORTED),
    ],
)
def test_a_link_that_lowered_itself_is_reported(
    composed: Composed, capable: str | None, status: str | None, expected: int | Absence
) -> None:
    machine = composed("arc-b580")
    for name, text in (("capable", capable), ("status", status)):
        if text is not None:
            machine.device_file(B580, f"auto_link_downgrade_{name}").write_text(text)
    reading = complete(machine.read()[0], frozenset())
    series = ("pcie_link_downgraded",)
    assert reading.values.get(series, reading.absent.get(series)) == expected


@pytest.mark.parametrize("name", ["capable", "status"])
def test_link_status_is_roots(composed: Composed, fail: Fail, name: str) -> None:
    machine = composed("arc-b580")
    machine.device_file(B580, "auto_link_downgrade_capable").write_text("1\n")
    machine.device_file(B580, "auto_link_downgrade_status").write_text("1\n")
    fail(f"auto_link_downgrade_{name}", Absence.PERMISSION)
    assert machine.read()[0].absent["pcie_link_downgraded",] is Absence.PERMISSION
