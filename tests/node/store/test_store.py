"""What a snapshot holds: a value or a reason for each quantity, derived values, who hears of it."""

import msgspec
import pytest

from accelwatch.base.absence import Absence
from accelwatch.node import store as store_package
from accelwatch.node.store.reports import Events
from accelwatch.schema.catalogue.lookup import host_metrics, reading_metrics
from accelwatch.schema.device import Device, DeviceKind
from accelwatch.schema.event import Category, ErrorEvent
from accelwatch.schema.json import wire
from accelwatch.schema.reading import Reading
from accelwatch.schema.snapshot import absences, with_absences
from node.store.reporting import Node, device, power


def test_every_quantity_has_a_value_or_a_reason(node: Node) -> None:
    view = node.view()
    absent = absences(view)
    known = {series[0] for series in (*view.reading.values, *absent)}
    assert {row.key for row in reading_metrics()} <= known
    assert absent["fan_speed_ratio",] is Absence.UNSUPPORTED
    assert absent["core_utilization_ratio",] is Absence.NOT_COLLECTED
    assert absent["busy_seconds_total",] is Absence.UNSUPPORTED


def test_what_nobody_reported_is_worked_out_once(node: Node) -> None:
    before = node.view()
    node.read("n:0", power(watts=301.0))
    after = node.view()
    assert before.reading.values != after.reading.values
    assert after.unreported is before.unreported
    assert after.reading.absent == {}


def test_what_is_read_for_the_first_time_is_silent_no_more(node: Node) -> None:
    assert absences(node.view())["fan_speed_ratio",] is Absence.UNSUPPORTED
    reading = power()
    values = {**reading.values, ("fan_speed_ratio", "0"): 0.5}
    node.read("n:0", msgspec.structs.replace(reading, values=values))
    assert ("fan_speed_ratio",) not in absences(node.view())
    absent = {("fan_speed_ratio", "0"): Absence.PERMISSION}
    node.read("n:0", msgspec.structs.replace(reading, absent=absent))
    assert ("fan_speed_ratio",) not in absences(node.view())
    assert absences(node.view())["fan_speed_ratio", "0"] is Absence.PERMISSION


def test_a_value_that_no_catalogue_knows_is_left_out_and_noted(node: Node) -> None:
    reading = power()
    values = {**reading.values, ("no_such_quantity",): 1.0, ("fan_speed_ratio",): 0.5}
    node.read("n:0", msgspec.structs.replace(reading, values=values))
    view = node.view()
    assert ("no_such_quantity",) not in view.reading.values
    assert absences(view)["fan_speed_ratio",] is Absence.UNSUPPORTED
    assert view.reading.notes == (
        "left out, not in the catalogue: ('no_such_quantity',), ('fan_speed_ratio',)",
    )


def test_a_reason_of_the_backend_for_a_quantity_over_time_is_replaced(node: Node) -> None:
    absent = {("busy_seconds_total",): Absence.ERROR}
    node.read("n:0", msgspec.structs.replace(power(), absent=absent))
    view = node.view()
    assert view.reading.absent == {("busy_seconds_total",): Absence.UNSUPPORTED}
    assert ("busy_seconds_total",) not in view.unreported


def test_processes_that_were_not_read_have_a_reason(node: Node) -> None:
    node.read("n:0", msgspec.structs.replace(power(), processes=None))
    assert absences(node.view())["processes",] is Absence.NOT_COLLECTED
    node.read("n:0", msgspec.structs.replace(power(), processes=()))
    assert ("processes",) not in absences(node.view())
    refused = {("processes",): Absence.PERMISSION}
    node.read("n:0", msgspec.structs.replace(power(), processes=None, absent=refused))
    assert absences(node.view())["processes",] is Absence.PERMISSION


def test_a_program_gets_complete_readings(node: Node) -> None:
    snapshot = node.store.snapshot()
    whole = with_absences(snapshot)
    assert whole.devices[0].reading.absent == absences(snapshot.devices[0])
    assert whole.devices[0].unreported == {}
    assert wire.encode(whole) == wire.encode(snapshot)


def test_derived_values_are_in_the_reading(node: Node) -> None:
    node.clock.advance(1.0)
    node.read("n:0", power(watts=300.0, utilization_ratio=0.5))
    reading = node.view().reading
    assert reading.values["energy_joules_total", "integrated"] == pytest.approx(200.0)
    assert reading.values["window_power_max_watts",] == 300.0
    assert reading.values["busy_seconds_total",] == 0.0
    assert ("energy_joules_total",) not in reading.absent
    assert ("busy_seconds_total",) not in reading.absent


def test_a_derived_value_replaces_the_reason_why_the_device_has_none(node: Node) -> None:
    unsupported = {("energy_joules_total",): Absence.UNSUPPORTED}
    node.read("n:0", msgspec.structs.replace(power(), absent=unsupported))
    assert ("energy_joules_total",) not in node.view().reading.absent


def test_a_single_reading_has_no_values_that_need_two() -> None:
    node = Node(one_shot=True)
    node.slots(device(0))
    node.read("n:0", power(utilization_ratio=0.5))
    absent = absences(node.view())
    assert absent["energy_joules_total",] is Absence.NOT_COLLECTED
    assert absent["busy_seconds_total",] is Absence.NOT_COLLECTED
    assert absent["window_power_max_watts",] is Absence.NOT_COLLECTED


def test_the_host_is_the_node_and_no_device() -> None:
    node = Node()
    host = Device(
        id="host", vendor="host", backend="host", index=0, name="node", kind=DeviceKind.HOST
    )
    node.slots(host, backend="host")
    node.read(
        "host", Reading(device_id="host", values={("host_uptime_seconds",): 5.0}), backend="host"
    )
    snapshot = node.store.snapshot()
    assert snapshot.devices == ()
    assert snapshot.node is not None
    known = {s[0] for s in (*snapshot.node.reading.values, *absences(snapshot.node))}
    assert {row.key for row in host_metrics()} <= known
    assert not {row.key for row in reading_metrics()} & known


def test_listeners_are_notified_of_completed_cycles_until_they_leave(node: Node) -> None:
    versions: list[int] = []
    leave = node.store.subscribe(lambda: versions.append(node.store.version))
    node.read("n:0", power())
    assert versions == []
    node.cycle()
    assert len(versions) == 1
    leave()
    node.cycle()
    assert len(versions) == 1


def test_how_a_node_stands_changes_with_states_and_events_and_not_with_values(node: Node) -> None:
    unchanged = node.store.state_key()
    node.read("n:0", power(watts=301.0))
    node.cycle()
    assert node.store.state_key() == unchanged
    node.failed("n:0", Absence.TIMEOUT)
    hung = node.store.state_key()
    assert hung != unchanged
    for subject in ("", "0000:ff:00.0"):  # at once, and when its device is known
        before = node.store.state_key()
        event = ErrorEvent(
            code="xid_79", category=Category.BUS, time=1.0, text="", source="x", subject=subject
        )
        node.store.apply(Events(backend="x", events=(event,)))
        assert node.store.state_key() != before


def test_the_package_has_no_other_name_than_its_store() -> None:
    assert store_package.Store is store_package.store.Store
    with pytest.raises(AttributeError, match="^Shop$"):
        _ = store_package.Shop
