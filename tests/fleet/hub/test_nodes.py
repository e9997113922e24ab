"""One node of the fleet: how fresh it is, whose devices it has, whose clock is believed."""

import math

import msgspec
import pytest

from accelwatch.fleet.follow.failures.faults import Reason, TargetFault
from accelwatch.fleet.names import NodeState
from accelwatch.fleet.state.inventory.file import Expected
from accelwatch.fleet.state.nodes.devices import ReadDevice
from accelwatch.fleet.state.nodes.liveness import LATEST_S, Skew, Thresholds, is_time
from accelwatch.fleet.state.nodes.node import Node, speaks_for
from accelwatch.fleet.state.nodes.source import TargetSource
from accelwatch.fleet.table.columns import ColumnStore
from accelwatch.fleet.target import targets_of
from accelwatch.schema.device import DeviceKind
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number, Reading
from accelwatch.schema.snapshot import DeviceView
from support.machines import composed as machines

THRESHOLDS = Thresholds()
REFUSED = TargetFault(Reason.CONNECT, "refused")
EXPECTED = Expected(first_seen=0.0, last_seen=0.0)


def power(watts: float, index: int = 0) -> DeviceView:
    values: dict[Series, Number] = {("power_watts",): watts}
    return machines.view(index, reading=Reading(device_id=machines.device(index).id, values=values))


def node(*names: str, expected: Expected | None = None) -> tuple[Node, list[TargetSource]]:
    """A node of targets of these dialects, of which nothing has arrived; known since 100 s."""
    one = Node("a", expected, 100.0)
    targets = targets_of([f"a:{port}" for port in range(9000, 9000 + len(names))])
    for name, target in zip(names, targets, strict=True):
        source = one.sources[target.key] = TargetSource(target, ColumnStore())
        source.dialect = name
    return one, list(one.sources.values())


def arrive(source: TargetSource, at: float, *views: DeviceView, interval_s: float = 1.0) -> None:
    source.read(views, interval_s)
    source.arrive(None, machines.NOW, at)


@pytest.mark.parametrize(
    ("interval_s", "ages"),
    [
        (0.5, (2.5, 10.0, 30.0)),
        (1.0, (2.5, 10.0, 30.0)),
        (2.0, (4.0, 10.0, 30.0)),
        (4.0, (7.0, 12.0, 30.0)),
        (10.0, (16.0, 30.0, 60.0)),
    ],
)
def test_a_node_is_up_slow_and_stale_up_to_these_ages(
    interval_s: float, ages: tuple[float, float, float]
) -> None:
    states = [NodeState.UP, NodeState.SLOW, NodeState.STALE, NodeState.DOWN]
    assert THRESHOLDS.state(0.0, interval_s) is NodeState.UP
    for at, age_s in enumerate(ages):
        assert THRESHOLDS.state(age_s, interval_s) is states[at]
        assert THRESHOLDS.state(age_s + 0.01, interval_s) is states[at + 1]


@pytest.mark.parametrize(
    ("interval_s", "waited_s"), [(1.0, 10.0), (3.0, 10.0), (4.0, 12.0), (20.0, 60.0)]
)
def test_a_broken_connection_is_waited_for(interval_s: float, waited_s: float) -> None:
    one, (source,) = node("dcgm-exporter")
    arrive(source, 100.0, power(1.0), interval_s=interval_s)
    calm = one.state(100.0 + waited_s + 0.1, THRESHOLDS)
    source.fail(REFUSED)
    assert one.state(100.0, THRESHOLDS) is NodeState.UP
    assert one.state(100.0 + waited_s, THRESHOLDS) is NodeState.SLOW
    assert one.state(100.0 + waited_s + 0.1, THRESHOLDS) is NodeState.DOWN
    assert calm in (NodeState.SLOW, NodeState.STALE)


def test_a_node_that_was_never_seen_stays_so_whatever_happens() -> None:
    one, (source,) = node("")
    assert one.name == "a"
    source.fail(REFUSED)
    for now in (100.0, 1000.0):
        assert one.state(now, THRESHOLDS) is NodeState.NEVER
    assert one.age_s(1000.0) is None


@pytest.mark.parametrize(
    ("broken", "now", "state"),
    [
        (0, 130.0, NodeState.STALE),
        (0, 130.1, NodeState.DOWN),
        (1, 130.0, NodeState.STALE),
        (2, 110.0, NodeState.STALE),
        (2, 110.1, NodeState.DOWN),
    ],
)
def test_a_node_known_from_before_has_until_these_times_to_answer_again(
    broken: int, now: float, state: NodeState
) -> None:
    one, sources = node("", "", expected=EXPECTED)
    for source in sources[:broken]:
        source.fail(REFUSED)
    assert one.state(now, THRESHOLDS) is state


def test_a_node_known_from_before_that_no_target_stands_for_is_down() -> None:
    one, _ = node(expected=EXPECTED)
    assert one.state(100.0, THRESHOLDS) is NodeState.DOWN


@pytest.mark.parametrize(("interval_s", "behind_s"), [(1.0, 30.0), (5.0, 30.0), (10.0, 60.0)])
def test_a_source_far_behind_the_newest_has_no_devices_in_the_node(
    interval_s: float, behind_s: float
) -> None:
    one, (first, second, silent) = node("dcgm-exporter", "all-smi", "node_exporter")
    one.gather(lambda _: 0)
    shape = one.shape
    arrive(first, 100.0, power(1.0, 0), interval_s=interval_s)
    arrive(second, 100.0 + behind_s, power(2.0, 1))
    assert not one.settled
    one.gather(lambda _: 0)
    assert one.shape == shape + 1
    assert one.settled
    assert [held.device.index for held in one.devices.values()] == [0, 1]
    arrive(second, 100.1 + behind_s, power(2.0, 1))
    assert not one.settled
    one.gather(lambda _: 0)
    assert [held.device.index for held in one.devices.values()] == [1]
    assert one.age_s(101.1 + behind_s) == pytest.approx(1.0)
    assert silent.arrived is None


def test_the_source_that_is_trusted_most_is_queried_first() -> None:
    one, (first, second) = node("all-smi", "dcgm-exporter")
    arrive(first, 100.0, power(1.0))
    arrive(second, 100.0, power(2.0))
    (key,) = {machines.device(0).id}
    for order, watts in ((["dcgm-exporter", "all-smi"], 2.0), (["all-smi", "dcgm-exporter"], 1.0)):
        one.gather(order.index)
        assert one.devices[key].number(("power_watts",)) == watts
        assert one.origin(one.devices[key]) is (second if watts == 2.0 else first)


def test_a_device_comes_from_the_source_that_has_it_and_the_host_too() -> None:
    one, (first, second) = node("all-smi", "node_exporter")
    host = msgspec.structs.replace(
        power(5.0), device=machines.device(0, id="host:a", kind=DeviceKind.HOST)
    )
    arrive(first, 100.0, power(1.0, 0))
    arrive(second, 100.0, power(2.0, 1), host)
    one.gather(lambda _: 0)
    shown = one.host
    assert shown is not None
    assert shown is second.host
    assert one.origin(shown) is second
    by_index = {held.device.index: held for held in one.devices.values()}
    assert (one.origin(by_index[0]), one.origin(by_index[1])) == (first, second)
    assert one.origin(ReadDevice(power(1.0, 0))) is None


def test_a_device_is_missing_by_id_and_by_identity() -> None:
    known = [machines.device(index) for index in (0, 1)]
    other = machines.device(1, id="nvidia:by another exporter")
    expected = Expected(first_seen=0.0, last_seen=0.0, devices={one.id: one for one in known})
    one, (source,) = node("dcgm-exporter", expected=expected)
    assert [device.index for device in one.missing()] == [0, 1]
    arrive(source, 100.0, power(1.0, 0))
    one.gather(lambda _: 0)
    assert [device.index for device in one.missing()] == [1]
    arrive(source, 100.0, power(1.0, 0), msgspec.structs.replace(power(1.0, 1), device=other))
    one.gather(lambda _: 0)
    assert list(one.missing()) == []
    one.expected = None
    assert list(one.missing()) == []


def test_a_device_that_has_a_uuid_only_now_is_the_one_at_its_address() -> None:
    plain = machines.device(0, id="nvidia:0000:01:00.0", uuid=None)
    named = machines.device(0, uuid="GPU-5ca1ab1e-0000-4000-8000-000000000009")
    expected = Expected(first_seen=0.0, last_seen=0.0, devices={plain.id: plain})
    one, (source,) = node("dcgm-exporter", expected=expected)
    assert plain.pci_bus_id == named.pci_bus_id
    arrive(source, 100.0, msgspec.structs.replace(power(1.0, 0), device=named))
    one.gather(lambda _: 0)
    assert list(one.missing()) == []
    other = msgspec.structs.replace(named, uuid="GPU-5ca1ab1e-0000-4000-8000-00000000000a")
    one.expected = msgspec.structs.replace(expected, devices={"b": other})
    assert [device.uuid for device in one.missing()] == [other.uuid]


_EXPECTED_UUID = "GPU-5ca1ab1e-0000-4000-8000-000000000009"
_SWAPPED_UUID = "GPU-5ca1ab1e-0000-4000-8000-00000000000a"


@pytest.mark.parametrize(
    ("expected_uuid", "present_uuid", "missing"),
    [
        (_EXPECTED_UUID, None, False),
        (None, _EXPECTED_UUID, False),
        (None, None, False),
        (_EXPECTED_UUID, _EXPECTED_UUID, False),
        (_EXPECTED_UUID, _SWAPPED_UUID, True),
    ],
)
def test_a_device_is_missing_where_its_address_has_a_card_of_another_uuid_only(
    expected_uuid: str | None, present_uuid: str | None, missing: bool
) -> None:
    known = machines.device(0, id="nvidia:known", uuid=expected_uuid)
    present = machines.device(0, id="nvidia:present", uuid=present_uuid)
    assert known.pci_bus_id == present.pci_bus_id
    expected = Expected(first_seen=0.0, last_seen=0.0, devices={known.id: known})
    one, (source,) = node("dcgm-exporter", expected=expected)
    arrive(source, 100.0, msgspec.structs.replace(power(1.0, 0), device=present))
    one.gather(lambda _: 0)
    assert [device.id for device in one.missing()] == ([known.id] if missing else [])


def test_a_device_without_a_uuid_stands_only_for_one_at_its_address() -> None:
    known = machines.device(0, id="nvidia:known", uuid=_EXPECTED_UUID)
    present = machines.device(1, id="nvidia:present", uuid=None)
    expected = Expected(first_seen=0.0, last_seen=0.0, devices={known.id: known})
    one, (source,) = node("dcgm-exporter", expected=expected)
    arrive(source, 100.0, msgspec.structs.replace(power(1.0, 0), device=present))
    one.gather(lambda _: 0)
    assert [device.id for device in one.missing()] == [known.id]


def test_a_device_with_its_uuid_is_there_whatever_its_number() -> None:
    known = machines.device(0, id="neuron:a", vendor="neuron", name="neuron0", uuid=_EXPECTED_UUID)
    moved = msgspec.structs.replace(
        known, id="neuron:b", index=1, name="neuron1", pci_bus_id="0000:99:00.0"
    )
    expected = Expected(first_seen=0.0, last_seen=0.0, devices={known.id: known})
    one, (source,) = node("neuron-monitor", expected=expected)
    arrive(source, 100.0, msgspec.structs.replace(power(1.0, 0), device=moved))
    one.gather(lambda _: 0)
    assert list(one.missing()) == []


def test_a_step_is_due_once() -> None:
    one, _ = node()
    assert [one.due(step) for step in (0, 0, 1, 1, 3, 2)] == [True, False, True, False, True, True]


def test_the_labels_of_a_node_are_those_of_all_its_targets_the_last_ones_win() -> None:
    one = Node("a", None, 0.0)
    for port, labels in ((1, {"rack": "r1", "row": "1"}), (2, {"rack": "r2"})):
        (target,) = targets_of([f"a:{port}"], labels)
        one.sources[target.key] = TargetSource(target, ColumnStore())
    assert one.labels == {"rack": "r2", "row": "1"}


def test_only_an_up_or_a_slow_node_speaks_for_its_devices() -> None:
    assert [one for one in NodeState if speaks_for(one)] == [NodeState.UP, NodeState.SLOW]


def test_the_largest_of_the_last_eight_differences_is_how_far_a_clock_runs_ahead() -> None:
    skew = Skew()
    assert (skew.seconds, skew.ours(5.0)) == (None, 5.0)
    skew.observe(1100.0, 1000.0)
    for at in range(7):
        skew.observe(1090.0 + at, 1000.0 + at)
        assert skew.seconds == 100.0
    skew.observe(1090.0, 1000.0)
    assert skew.seconds == 90.0


@pytest.mark.parametrize(
    ("ahead_s", "time", "ours"),
    [
        (60.0, 1000.0, 1000.0),
        (60.5, 1000.0, 939.5),
        (-60.0, 1000.0, 1000.0),
        (-60.5, 1000.0, 1060.5),
        (100.0, 99.0, 0.0),
        # Not known.
        (-100.0, 0.0, 0.0),
        (100.0, 100.5, 0.5),
        (-100.0, LATEST_S - 99.0, LATEST_S),
        (-100.0, LATEST_S - 101.0, LATEST_S - 1.0),
    ],
)
def test_only_a_large_skew_is_taken_out_of_a_time_and_a_time_it_stays(
    ahead_s: float, time: float, ours: float
) -> None:
    skew = Skew()
    skew.observe(5000.0 + ahead_s, 5000.0)
    assert skew.ours(time) == ours


@pytest.mark.parametrize(
    ("seconds", "can_be"),
    [
        (0.0, True),
        (LATEST_S, True),
        (-0.001, False),
        (LATEST_S + 1, False),
        (math.nan, False),
        (math.inf, False),
    ],
)
def test_a_time_is_of_a_year_that_can_be_written(seconds: float, can_be: bool) -> None:
    assert is_time(seconds) is can_be
