"""What other kernels and cards show: missing parts, nonsense, a driver without fdinfo, one reading."""

import pytest

from accelwatch.backend import Context, Request
from accelwatch.base.absence import Absence
from accelwatch.schema.reading import Reading
from accelwatch_intel import IntelBackend
from support.machines.intel_machines import B580, Composed

TILE = "tile0/gt0"
CLIENT = "drm-driver:\ti915\ndrm-pdev:\t{card}\ndrm-client-id:\t7\ndrm-engine-render:\t5 ns\n"


@pytest.mark.parametrize("nonsense", ["627200", "-1", "2", "17179869183"])
def test_a_throttle_file_that_is_no_flag_is_an_error(composed: Composed, nonsense: str) -> None:
    machine = composed("arc-b580")
    machine.device_file(B580, f"{TILE}/freq0/throttle/reason_pl2").write_text(nonsense)
    (reading,) = machine.read()
    assert reading.absent["throttle_active", "power"] is Absence.ERROR
    assert reading.values["throttle_active", "thermal_hardware"] == 0


def test_an_active_throttle_word_settles_a_reason_of_which_another_fails(
    composed: Composed,
) -> None:
    machine = composed("arc-b580")
    folder = machine.device_file(B580, f"{TILE}/freq0/throttle")
    (folder / "reason_pl2").write_text("nonsense")
    (folder / "reason_pl4").write_text("1\n")
    (reading,) = machine.read()
    assert reading.values["throttle_active", "power"] == 1


@pytest.mark.parametrize(
    ("text", "reason"),
    [("pos:\t0\nflags:\t02\n", Absence.UNSUPPORTED), ("potatoes", Absence.UNSUPPORTED)],
    ids=["a driver without fdinfo", "nonsense"],
)
def test_memory_is_absent_when_a_client_does_not_report(
    composed: Composed, text: str, reason: Absence
) -> None:
    machine = composed("arc-b580")
    (machine.root / "proc/4100/fdinfo/3").write_text(text)
    (reading,) = machine.read()
    assert reading.absent["memory_used_bytes",] is reason
    assert ("utilization_ratio",) not in reading.values


def test_memory_is_absent_where_clients_report_only_their_engines(composed: Composed) -> None:
    machine = composed("arc-b580")
    for path in machine.root.glob("proc/*/fdinfo/*"):
        path.write_text(CLIENT.format(card=B580))
    (reading,) = machine.read()
    assert reading.absent["memory_used_bytes",] is Absence.UNSUPPORTED


def test_a_file_of_another_card_without_fdinfo_takes_no_sum_away(composed: Composed) -> None:
    machine = composed("arc-b580")
    machine.process(4200, "Xorg", "pos:\t0\n", node="renderD129")
    machine.tree.link("sys/class/drm/renderD129/device", "sys/bus/pci/devices/0000:41:00.0")
    (reading,) = machine.read()
    assert ("memory_used_bytes",) in reading.values


def test_a_residency_that_stands_still_on_a_sleeping_gt_is_an_error(composed: Composed) -> None:
    machine = composed("arc-b580")
    machine.tree.link("proc/self/ns/pid", "/pid:[4026532999]")
    machine.device_file(B580, f"{TILE}/freq0/act_freq").write_text("0\n")
    machine.read()
    machine.clock.advance(1.0)
    (reading,) = machine.read()
    assert reading.absent["utilization_ratio",] is Absence.ERROR


def test_i915_with_rc6_off_has_no_load_by_residency(composed: Composed) -> None:
    machine = composed("arc-a770-faulty")
    for gt in machine.root.glob("sys/devices/**/drm/card*/gt/gt*"):
        (gt / "rc6_enable").write_text("0\n")
    machine.tree.link("proc/self/ns/pid", "/pid:[4026532999]")
    readings: list[Reading] = []
    for _ in range(2):
        readings = machine.read()
        machine.clock.advance(1.0)
    assert ("utilization_ratio",) not in readings[0].values


def test_one_single_reading_has_power_and_load(composed: Composed) -> None:
    machine = composed("arc-b580")
    (machine.root / "proc/4100/fdinfo/3").write_text("pos:\t0\n")
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        machine.clock.advance(seconds)
        for file, moved in (
            ("hwmon/hwmon4/energy1_input", 15_000_000),
            ("hwmon/hwmon4/energy2_input", 12_000_000),
            (f"{TILE}/gtidle/idle_residency_ms", 25),
        ):
            path = machine.device_file(B580, file)
            path.write_text(f"{int(path.read_text()) + moved}\n")

    context = Context(
        root=machine.root, clock=machine.clock, options={"sysman": "off"}, one_shot=True
    )
    backend = IntelBackend(context, pause)
    (device,) = backend.discover()
    (reading,) = backend.read(device, Request(groups=frozenset({"components"})))
    assert pauses == [0.1]
    assert reading.values["power_watts",] == pytest.approx(150.0)
    assert reading.values["power_component_watts", "package"] == pytest.approx(120.0)
    assert reading.values["utilization_ratio",] == pytest.approx(0.75)
    assert reading.sources["utilization_ratio"] == "gtidle"


@pytest.mark.parametrize(
    ("file", "text", "series"),
    [
        ("hwmon/hwmon4/fan1_input", "4294967295", ("fan_speed_rpm", "0")),
        ("hwmon/hwmon4/fan1_max", "18", ("fan_speed_ratio", "0")),
        ("hwmon/hwmon4/temp2_input", "-273150", ("temperature_celsius", "gpu")),
        (f"{TILE}/freq0/act_freq", "627200", ("clock_hertz", "graphics")),
        (f"{TILE}/freq0/act_freq", "2_450", ("clock_hertz", "graphics")),
    ],
)
def test_numbers_that_cannot_be_true_are_errors(
    composed: Composed, file: str, text: str, series: tuple[str, ...]
) -> None:
    machine = composed("arc-b580")
    machine.device_file(B580, file).write_text(text)
    (reading,) = machine.read()
    assert reading.absent[series] is Absence.ERROR


def test_an_energy_counter_that_leaps_is_no_power(composed: Composed) -> None:
    machine = composed("arc-b580")
    machine.read()
    machine.clock.advance(1.0)
    machine.device_file(B580, "hwmon/hwmon4/energy1_input").write_text("9223372036854775807\n")
    (reading,) = machine.read()
    assert reading.absent["power_watts",] is Absence.ERROR


def test_a_memory_size_beyond_any_card_is_left_out(composed: Composed) -> None:
    machine = composed("max1550-two-tiles")
    for file in machine.root.glob("sys/devices/**/physical_vram_size_bytes"):
        file.write_text("18446744073709551615\n")
    whole, *_ = machine.read()
    assert ("memory_size_bytes",) not in whole.values


def test_counters_that_all_stand_still_for_once_report_nothing(composed: Composed) -> None:
    machine = composed("arc-b580")
    machine.tree.link("proc/self/ns/pid", "/pid:[4026532999]")
    context = Context(
        root=machine.root, clock=machine.clock, options={"sysman": "off"}, one_shot=True
    )
    backend = IntelBackend(context, machine.clock.advance)
    (reading,) = backend.read(backend.discover()[0], Request())
    assert reading.absent["power_watts",] is Absence.NOT_COLLECTED
    assert reading.absent["utilization_ratio",] is Absence.NOT_COLLECTED
