"""Frames of the snapshots of one node."""

import math

import msgspec
import numpy as np
import pytest

from accelwatch.agent.detection.node_frames import RECENT_S, NodeFrames
from accelwatch.base.absence import Absence
from accelwatch.detection.arrays import Floats
from accelwatch.detection.frame import DeviceState, Frame, NodeState
from accelwatch.detection.signals.device_signals import DEVICE_SIGNALS
from accelwatch.detection.signals.node_signals import NODE_SIGNALS
from accelwatch.schema import device as schema
from accelwatch.schema.device import DeviceKind
from accelwatch.schema.event import Category, ErrorEvent
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number, Reading
from accelwatch.schema.snapshot import DeviceView, Owner, Snapshot
from support.machines import composed

POWER: Series = ("power_watts",)
_DEVICE = {signal.series: position for position, signal in enumerate(DEVICE_SIGNALS)}
_NODE = {signal.series: position for position, signal in enumerate(NODE_SIGNALS)}


def frame_of(snapshot: Snapshot, at: float = 100.0) -> Frame:
    return NodeFrames().frame(snapshot, at, 15.0)


def of_devices(frame: Frame, series: Series) -> list[float]:
    row: Floats = frame.devices[_DEVICE[series]]
    numbers: list[float] = row.tolist()
    return numbers


def of_node(frame: Frame, *series: str) -> float:
    return float(frame.nodes[_NODE[series], 0])


def host(values: dict[Series, Number], age_s: float = 1.0) -> DeviceView:
    device = composed.device(0, id="host", name="host", kind=DeviceKind.HOST)
    reading = Reading(device_id="host", values=values)
    return composed.view(0, device=device, reading=reading, sample_age_s=age_s)


def with_job(index: int, job: str) -> DeviceView:
    return composed.view(index, owners=(Owner(kind="job", job_id=job),))


def event(**changes: object) -> ErrorEvent:
    one = ErrorEvent(
        code="xid_79", category=Category.BUS, time=composed.NOW, text="gone", source="kernel_log"
    )
    return msgspec.structs.replace(one, **changes)


def test_rows_are_devices_with_their_values_state_job_and_model() -> None:
    frame = frame_of(composed.snapshot(with_job(0, "4711"), composed.view(1)))
    assert frame.names.nodes == ("n01",)
    assert frame.names.devices == (composed.device(0).id, composed.device(1).id)
    assert of_devices(frame, POWER) == [642.125, 643.125]
    assert frame.job.tolist() == [0, -1]
    assert frame.names.jobs == ("4711",)
    assert frame.model.tolist() == [0, 0]
    assert frame.device_state.tolist() == [DeviceState.READ] * 2
    assert frame.node_state.tolist() == [NodeState.UP]
    assert frame.single_node


def test_partitions_are_no_rows() -> None:
    frame = frame_of(composed.snapshot(composed.view(0), composed.mig_view(1, 0)))
    assert frame.names.devices == (composed.device(0).id,)


def test_what_is_not_there_is_unknown_and_not_0() -> None:
    frame = frame_of(composed.snapshot(composed.view(0), composed.lost_view(1)))
    assert of_devices(frame, POWER)[0] > 0
    assert math.isnan(of_devices(frame, POWER)[1])
    assert math.isnan(of_devices(frame, ("fan_speed_ratio", "0"))[0])
    assert np.isnan(frame.nodes).all()
    assert frame.device_state.tolist() == [DeviceState.READ, DeviceState.LOST]
    assert (frame.device_sampled - frame.now).tolist() == [-0.25, -600.0]


def test_of_a_device_whose_first_reading_is_awaited_nothing_is_known() -> None:
    awaited = composed.view(
        0,
        state=schema.DeviceState.UNRESPONSIVE,
        reading=Reading(device_id="x", values={}, absent={("*",): Absence.NOT_COLLECTED}),
        sample_time=None,
        sample_age_s=None,
    )
    frame = frame_of(composed.snapshot(awaited))
    assert frame.device_state.tolist() == [DeviceState.UNKNOWN]
    assert frame.device_sampled.tolist() == [-math.inf]


def test_a_device_that_is_not_listed_any_more_keeps_its_row_and_is_nobodys_concern() -> None:
    frames = NodeFrames()
    frames.frame(composed.snapshot(composed.view(0), composed.view(1)), 100.0, 15.0)
    frame = frames.frame(composed.snapshot(composed.view(1)), 115.0, 15.0)
    assert frame.device_state.tolist() == [DeviceState.AWAY, DeviceState.READ]
    assert math.isnan(of_devices(frame, POWER)[0])


def test_values_of_the_host_are_those_of_the_node_folded() -> None:
    values: dict[Series, Number] = {
        ("host_cpu_utilization_ratio",): 0.5,
        ("host_rdma_port_up", "mlx5_0", "1"): 1,
        ("host_rdma_port_up", "mlx5_1", "1"): 0,
    }
    own: dict[tuple[str, ...], Number] = {("collector_duration_seconds", "nvidia"): 0.1}
    frame = frame_of(composed.snapshot(node=host(values, age_s=7.0), own=own))
    assert of_node(frame, "host_cpu_utilization_ratio") == 0.5
    assert of_node(frame, "host_rdma_port_up", "*", "*") == 0.0
    assert of_node(frame, "collector_duration_seconds", "*") == 0.1
    assert (frame.node_sampled - frame.now).tolist() == [-7.0]


def test_an_interface_that_has_gone_is_a_missing_part_of_a_sum() -> None:
    frames = NodeFrames()

    def up(*names: str) -> float:
        values: dict[Series, Number] = {("host_network_up", name): 1 for name in names}
        frame = frames.frame(composed.snapshot(node=host(values)), 100.0, 15.0)
        return of_node(frame, "host_network_up", "*")

    assert up("ib0") == 1.0
    assert up("ib0", "ib1") == 2.0
    assert math.isnan(up("ib0"))


def test_without_a_host_the_node_is_as_fresh_as_its_devices() -> None:
    frame = frame_of(composed.snapshot(composed.view(0, sample_age_s=9.0), composed.view(1)))
    assert (frame.node_sampled - frame.now).tolist() == [-0.25]


def test_an_event_is_of_its_device_or_of_the_node_and_is_given_once() -> None:
    frames = NodeFrames()
    located = event(device_id=composed.device(1).id)
    snapshot = composed.snapshot(events=(located, event(code="oom")))
    first = frames.frame(snapshot, 100.0, 15.0)
    assert [(each.device, each.event.code) for each in first.events] == [(1, "xid_79"), (-1, "oom")]
    assert first.events[0].severity == "critical"
    assert frames.frame(snapshot, 115.0, 15.0).events == ()


def test_an_event_waits_for_its_device() -> None:
    frames = NodeFrames()
    snapshot = composed.snapshot(events=(event(subject="0000:19:00"),))
    assert frames.frame(snapshot, 100.0, 15.0).events == ()
    [given] = frames.frame(snapshot, 115.0, 15.0).events
    assert given.device == -1


@pytest.mark.parametrize(("age_s", "expected"), [(RECENT_S, 1), (RECENT_S + 1.0, 0)])
def test_what_happened_before_is_no_event_of_now(age_s: float, expected: int) -> None:
    events = (event(time=composed.NOW - age_s),)
    assert len(frame_of(composed.snapshot(events=events)).events) == expected


def test_a_clock_that_is_set_makes_no_minutes() -> None:
    frames = NodeFrames()
    first = frames.frame(composed.snapshot(), 100.0, 15.0)
    second = frames.frame(composed.snapshot(time=composed.NOW + 3600.0), 115.0, 15.0)
    assert second.now - first.now == 15.0


def test_identities_are_those_of_the_newest_frame_and_of_before_where_devices_are_silent() -> None:
    frames = NodeFrames()
    silent = composed.view(1, device=composed.device(1, uuid=None, serial=None))
    frames.frame(composed.snapshot(composed.view(0), silent, boot_time=5.0), 100.0, 15.0)
    now = frames.identities()
    assert (now.nodes, now.booted_at.tolist()) == (("n01",), [5.0])
    assert now.serial.tolist() == [composed.device(0).serial, None]
    before = now._replace(
        uuid=np.array(["x", "y"], dtype=object), serial=np.array(["x", None], dtype=object)
    )
    frames.restore(before)
    assert frames.identities().uuid.tolist() == [composed.device(0).uuid, "y"]
    assert frames.identities().serial.tolist() == [composed.device(0).serial, None]


def test_names_are_the_same_object_while_nothing_changes() -> None:
    frames = NodeFrames()
    names = frames.frame(composed.snapshot(), 100.0, 15.0).names
    assert frames.frame(composed.snapshot(), 115.0, 15.0).names is names
    other = composed.snapshot(with_job(0, "1"))
    assert frames.frame(other, 130.0, 15.0).names is not names
