"""One device from its discovery on: what its view says before, between and after readings."""

from pathlib import Path

import msgspec
import pytest

from accelwatch.base.absence import Absence
from accelwatch.node.store.reports import CRASHED, Events, Failure
from accelwatch.schema.device import DeviceState
from accelwatch.schema.event import Category, ErrorEvent
from accelwatch.schema.health import Health
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number, Reading
from accelwatch.schema.snapshot import absences
from node.store.reporting import Node, device, power

ENERGY, BUSY = ("energy_joules_total",), ("busy_seconds_total",)


def test_a_device_that_was_only_discovered_is_silent_since_then() -> None:
    node = Node()
    node.clock.advance(7.0)
    node.slots(device(0))
    discovered = node.clock.wall()
    node.clock.advance(100.0)
    view = node.view()
    assert (view.state, view.state_since) == (DeviceState.UNRESPONSIVE, discovered)
    assert (view.reading.values, view.reading.absent) == ({}, {("*",): Absence.NOT_COLLECTED})
    assert (view.sample_time, view.sample_age_s) == (None, None)
    assert (view.health, view.health_reasons) == (Health.UNKNOWN, ("not read yet",))
    assert (view.event_counts, view.histograms) == ((), {})
    assert node.store.snapshot().errors == ()


def test_a_partition_that_was_just_identified_is_silent_since_then(node: Node) -> None:
    node.clock.advance(2.0)
    node.identified("n:0", device(0), device(0, id="n:0/p0", parent_id="n:0"))
    assert node.view("n:0/p0").state_since == node.clock.wall()


def test_a_device_that_is_read_is_ok_since_its_first_reading() -> None:
    node = Node()
    node.slots(device(0))
    node.clock.advance(1.0)
    node.read("n:0", power())
    first = node.clock.wall()
    node.clock.advance(1.0)
    node.read("n:0", power())
    view = node.view()
    assert (view.state, view.state_since) == (DeviceState.OK, first)
    assert (view.sample_time, view.sample_age_s) == (first + 1.0, 0.0)


def test_the_age_of_a_reading_is_never_negative(node: Node) -> None:
    node.clock.advance(-1.0)
    assert node.view().sample_age_s == 0.0


@pytest.mark.parametrize(
    ("interval_s", "timeout_s", "limit_s"), [(2.0, 0.0, 6.0), (0.5, 0.0, 1.5), (2.0, 3.0, 7.0)]
)
def test_when_a_reading_is_stale(interval_s: float, timeout_s: float, limit_s: float) -> None:
    node = Node(interval_s=interval_s, timeout_s=timeout_s)
    node.slots(device(0))
    node.read("n:0", power())
    read_at = node.clock.wall()
    node.clock.advance(limit_s)
    assert node.view().state is DeviceState.OK
    node.clock.advance(0.4)
    view = node.view()
    assert (view.state, view.state_since) == (DeviceState.UNRESPONSIVE, read_at + limit_s)
    assert view.health_reasons == (f"no reading for {limit_s + 0.4:.0f} s",)


def _answer(age_s: float, pace_s: float, busy: float = 1.0) -> Reading:
    return msgspec.structs.replace(power(utilization_ratio=busy), age_s=age_s, pace_s=pace_s)


def test_a_reading_is_as_old_as_its_source_says() -> None:
    node = Node()
    node.slots(device(0))
    node.read("n:0", _answer(age_s=1.5, pace_s=0.0))
    view = node.view()
    assert (view.sample_age_s, view.sample_time) == (1.5, node.clock.wall() - 1.5)


def test_an_answer_of_a_slow_source_is_stale_after_three_of_its_paces() -> None:
    node = Node(interval_s=1.0)
    node.slots(device(0))
    node.read("n:0", _answer(age_s=2.0, pace_s=4.0))
    read_at = node.clock.wall() - 2.0
    node.clock.advance(10.0)
    assert node.view().state is DeviceState.OK
    node.clock.advance(0.5)
    view = node.view()
    assert (view.state, view.state_since) == (DeviceState.UNRESPONSIVE, read_at + 12.0)


def test_the_same_answer_reported_again_is_no_second_sample() -> None:
    node = Node(groups=frozenset({"histograms"}))
    node.slots(device(0))
    node.read("n:0", _answer(age_s=0.0, pace_s=2.0))
    node.clock.advance(1.0)
    node.read("n:0", _answer(age_s=0.999, pace_s=2.0))
    assert node.view().histograms["sampled_utilization_ratio"][0][-1] == 1
    node.clock.advance(1.0)
    node.read("n:0", _answer(age_s=0.0, pace_s=2.0))
    assert node.view().histograms["sampled_utilization_ratio"][0][-1] == 2
    assert node.view().reading.values["busy_seconds_total",] == pytest.approx(2.0)


def test_a_single_reading_never_grows_stale() -> None:
    node = Node(one_shot=True)
    node.slots(device(0))
    node.read("n:0", power())
    node.clock.advance(1e6)
    assert node.view().state is DeviceState.OK
    assert node.store.snapshot().interval_s is None


def test_a_single_reading_is_not_taken_back_by_a_later_failure() -> None:
    node = Node(one_shot=True)
    node.slots(device(0), device(1))
    node.read("n:0", power())
    node.failed("n:0", Absence.TIMEOUT)
    node.failed("n:1", Absence.TIMEOUT)
    assert node.view("n:0").reading.values["power_watts",] == 100.0
    assert node.view("n:1").reading.absent == {("*",): Absence.TIMEOUT}


def test_followed_devices_have_histograms_and_others_none() -> None:
    node = Node(groups=frozenset({"histograms"}))
    node.slots(device(0))
    node.read("n:0", power(utilization_ratio=0.5))
    node.clock.advance(1.0)
    node.read("n:0", power(utilization_ratio=0.5))
    assert node.view().histograms
    part = device(0, id="n:0/p0", parent_id="n:0")
    node.identified("n:0", device(0), part)
    node.read("n:0", power(), power("n:0/p0"))
    assert node.view("n:0/p0").histograms == {}
    assert ENERGY not in node.view("n:0/p0").reading.values


def reading(values: dict[Series, Number], absent: dict[Series, Absence] | None = None) -> Reading:
    return Reading(device_id="n:0", values=values, absent=absent or {})


@pytest.mark.parametrize(
    ("values", "absent", "energy", "busy"),
    [
        ({("power_watts",): 1.0}, {}, Absence.NOT_COLLECTED, Absence.UNSUPPORTED),
        ({("utilization_ratio",): 1.0}, {}, Absence.UNSUPPORTED, Absence.NOT_COLLECTED),
        ({}, {("utilization_ratio",): Absence.ERROR}, Absence.UNSUPPORTED, Absence.ERROR),
        ({}, {}, Absence.UNSUPPORTED, Absence.UNSUPPORTED),
    ],
)
def test_why_a_single_reading_has_no_quantity_over_time(
    values: dict[Series, Number], absent: dict[Series, Absence], energy: Absence, busy: Absence
) -> None:
    node = Node(one_shot=True)
    node.slots(device(0))
    node.read("n:0", reading({("memory_size_bytes",): 1, **values}, absent))
    found = absences(node.view())
    assert (found[ENERGY], found[BUSY]) == (energy, busy)


def test_energy_that_the_device_counts_itself_is_not_absent() -> None:
    node = Node(one_shot=True)
    node.slots(device(0))
    counted = ("energy_joules_total", "hardware")
    node.read("n:0", reading({("power_watts",): 1.0, counted: 5.0}))
    view = node.view()
    assert view.reading.values[counted] == 5.0
    assert ENERGY not in absences(view)


def test_the_reason_for_one_label_stays_beside_a_value_of_another(node: Node) -> None:
    node.read(
        "n:0",
        reading(
            {("power_watts",): 1.0},
            {("energy_joules_total", "hardware"): Absence.PERMISSION, ENERGY: Absence.ERROR},
        ),
    )
    absent = absences(node.view())
    assert absent["energy_joules_total", "hardware"] is Absence.PERMISSION
    assert ENERGY not in absent


def test_numbers_that_cannot_be_true_are_reported_once_a_quantity(node: Node) -> None:
    refused = {
        ("temperature_celsius", "gpu"): "255 is not believed",
        ("temperature_celsius", "memory"): "256 is not believed",
        ("power_watts",): "65535 is not believed",
    }
    node.read("n:0", msgspec.structs.replace(power(), implausible=refused))
    errors = node.store.snapshot().errors
    assert [(e.backend, e.device_id, e.code, e.message) for e in errors] == [
        ("nvidia", "n:0", "implausible", "temperature_celsius.gpu: 255 is not believed"),
        ("nvidia", "n:0", "implausible", "power_watts: 65535 is not believed"),
    ]
    node.failed("n:0", Absence.LOST, "gone")
    assert [error.code for error in node.store.snapshot().errors] == ["gone"]


@pytest.mark.parametrize(
    ("absence", "is_error"),
    [(Absence.SUSPENDED, False), (Absence.NOT_COLLECTED, False), (Absence.PERMISSION, True)],
)
def test_which_failures_are_errors(node: Node, absence: Absence, is_error: bool) -> None:
    node.failed("n:0", absence, "CODE")
    errors = [(e.backend, e.device_id, e.code, e.absence) for e in node.store.snapshot().errors]
    assert errors == ([("nvidia", "n:0", "CODE", absence)] if is_error else [])


@pytest.mark.parametrize("reason", [Absence.LOST, Absence.TIMEOUT])
def test_a_reading_of_which_a_part_never_came_is_degraded(node: Node, reason: Absence) -> None:
    node.read("n:0", msgspec.structs.replace(power(), absent={("fan_speed_ratio",): reason}))
    assert node.view().state is DeviceState.DEGRADED


def test_a_crash_while_it_was_read_is_no_fault_of_the_device(node: Node) -> None:
    node.store.conclude(Failure(absence=Absence.ERROR, code="SIGSEGV"))
    assert node.view().state is DeviceState.OK
    node.failed("n:0", Absence.ERROR, "SIGSEGV")
    assert node.view().state is DeviceState.DEGRADED
    node.failed("n:0", Absence.ERROR, CRASHED)
    view = node.view()
    assert (view.state, view.health) == (DeviceState.UNRESPONSIVE, Health.UNKNOWN)


def test_what_is_over_a_device_wins_over_its_old_reading(node: Node) -> None:
    node.clock.advance(100.0)
    node.failed("n:0", Absence.PERMISSION, "CODE")
    view = node.view()
    assert (view.state, view.reading.absent) == (
        DeviceState.EXCLUDED,
        {("*",): Absence.PERMISSION},
    )


def test_events_and_counters_are_those_of_the_device(node: Node) -> None:
    node.slots(device(0), device(1))
    fault = ErrorEvent(
        code="xid_79",
        category=Category.BUS,
        time=node.clock.wall(),
        text="",
        source="nvml",
        device_id="n:0",
    )
    node.store.apply(Events(backend="nvidia", events=(fault,)))
    assert node.view("n:0").health is Health.DEGRADED
    assert [count.code for count in node.view("n:0").event_counts] == ["xid_79"]
    assert node.view("n:1").event_counts == ()


def test_the_node_reports_its_name_and_its_boot(tmp_path: Path) -> None:
    folder = tmp_path / "proc/sys/kernel/random"
    folder.mkdir(parents=True)
    assert Node(root=tmp_path).store.snapshot().boot_id == ""
    assert Node(root=tmp_path).store.snapshot().boot_time is None
    (folder / "boot_id").write_text("0f4a\n")
    (tmp_path / "proc/stat").write_text("cpu 1 2\nbtime 1795300000\n")
    dmi = tmp_path / "sys/class/dmi/id"
    dmi.mkdir(parents=True)
    (dmi / "product_uuid").write_text("4C4C4544-0032-3510-8054-B4C04F4A4D32\n")
    snapshot = Node(root=tmp_path, interval_s=2.0).store.snapshot()
    assert (snapshot.boot_id, snapshot.host, snapshot.interval_s) == ("0f4a", "node", 2.0)
    assert snapshot.boot_time == 1_795_300_000.0
    assert snapshot.system_uuid == "4c4c4544-0032-3510-8054-b4c04f4a4d32"


@pytest.mark.parametrize(
    "uuid",
    [
        "",
        "00000000-0000-0000-0000-000000000000",
        "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF",
        "03000200-0400-0500-0006-000700080009",
        "\xe9",
    ],
)
def test_a_uuid_that_many_boards_bear_is_none(tmp_path: Path, uuid: str) -> None:
    dmi = tmp_path / "sys/class/dmi/id"
    dmi.mkdir(parents=True)
    (dmi / "product_uuid").write_text(uuid)
    assert Node(root=tmp_path).store.snapshot().system_uuid == ""


@pytest.mark.parametrize(
    ("subject", "device_id"),
    [
        ("n:0", "n:0"),
        ("GPU-0", "n:0"),
        ("nvidia0", "n:0"),
        ("/dev/nvidia0", "n:0"),
        ("0000:65:00.0", "n:0"),
        ("00000000:65:00.0", "n:0"),
        ("0000:65:00.1", ""),
        ("nvidia1", ""),
        ("", ""),
    ],
)
def test_what_an_event_may_call_a_device(subject: str, device_id: str) -> None:
    node = Node()
    node.slots(device(0))
    whole = device(
        0, uuid="GPU-0", pci_bus_id="0000:65:00.0", device_nodes=("/dev/nvidia0",), name="nvidia0"
    )
    part = device(0, id="n:0/p0", parent_id="n:0", name="nvidia1")
    node.identified("n:0", whole, part)
    event = ErrorEvent(
        code="x",
        category=Category.OTHER,
        time=1.0,
        text="",
        source="kernel_log",
        subject=subject,
    )
    node.store.apply(Events(backend="kernel_log", events=(event,)))
    assert [found.device_id for found in node.store.snapshot().events] == [device_id]


def test_a_device_is_lost_after_two_cycles_without_it(node: Node) -> None:
    node.slots()
    node.cycle()
    assert node.view().state is DeviceState.OK
    node.cycle(backend="host")
    assert node.view().state is DeviceState.OK
    node.clock.advance(1.0)
    node.cycle()
    view = node.view()
    assert (view.state, view.state_since) == (DeviceState.LOST, node.clock.wall())
    assert [(e.code, e.message) for e in node.store.snapshot().errors] == [
        ("not_discovered", "no longer discovered")
    ]


def test_a_device_discovered_again_in_time_is_not_lost(node: Node) -> None:
    node.slots()
    node.cycle()
    node.slots(device(0))
    for _ in range(3):
        node.cycle()
    assert node.view().state is DeviceState.OK


def test_discovered_twice_in_vain_does_not_give_more_time(node: Node) -> None:
    for _ in range(2):
        node.slots()
        node.cycle()
    assert node.view().state is DeviceState.LOST


def test_another_backend_that_finds_nothing_loses_no_device(node: Node) -> None:
    node.slots(backend="amd")
    for _ in range(3):
        node.cycle(backend="amd")
        node.cycle()
    assert node.view().state is DeviceState.OK


def test_a_reading_of_a_device_that_left_its_slot_is_not_taken(node: Node) -> None:
    node.slots()
    node.read("n:0", power(watts=5.0))
    assert node.view().reading.values["power_watts",] == 100.0


def test_the_longest_lost_are_forgotten_first() -> None:
    node = Node()
    for number in range(65):
        node.slots(device(number))
        node.read(f"n:{number}", power(f"n:{number}"))
        node.slots()
        node.cycle()
        node.cycle()
        assert len(node.views()) == min(number + 1, 64)
        node.clock.advance(1.0)
    assert "n:0" not in node.views()


def test_a_lost_device_that_is_back_goes_on_with_what_it_had_gathered(node: Node) -> None:
    node.clock.advance(1.0)
    node.read("n:0", power())
    node.slots()
    node.cycle()
    node.cycle()
    assert node.view().state is DeviceState.LOST
    node.slots(device(0))
    node.identified("n:0", device(0))
    node.read("n:0", power())
    assert node.view().reading.values["energy_joules_total", "integrated"] >= 100.0
