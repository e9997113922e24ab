"""What a snapshot holds: a value or a reason for each quantity, derived values, who hears of it."""

import msgspec
import pytest

from accelwatch.schema.absence import Absence
from accelwatch.schema.device import Device, DeviceKind
from accelwatch.schema.metrics import host_metrics, reading_metrics
from accelwatch.schema.reading import Reading
from store.reporting import Node, device, power


def test_every_quantity_has_a_value_or_a_reason(node: Node) -> None:
    reading = node.view().reading
    known = {series[0] for series in (*reading.values, *reading.absent)}
    assert {row.key for row in reading_metrics()} <= known
    assert reading.absent["fan_speed_ratio",] is Absence.UNSUPPORTED
    assert reading.absent["core_utilization_ratio",] is Absence.NOT_COLLECTED
    assert reading.absent["busy_seconds_total",] is Absence.UNSUPPORTED


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
    absent = node.view().reading.absent
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
    known = {s[0] for s in (*snapshot.node.reading.values, *snapshot.node.reading.absent)}
    assert {row.key for row in host_metrics()} <= known
    assert not {row.key for row in reading_metrics()} & known


def test_listeners_hear_of_completed_cycles_until_they_leave(node: Node) -> None:
    heard: list[int] = []
    leave = node.store.subscribe(lambda: heard.append(node.store.version))
    node.read("n:0", power())
    assert heard == []
    node.cycle()
    assert len(heard) == 1
    leave()
    node.cycle()
    assert len(heard) == 1
