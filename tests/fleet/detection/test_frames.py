"""Frames out of an archive as a back-test reads it."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from accelwatch.archive.history.layout import DEVICES, NODES
from accelwatch.archive.history.reading.reader import Archive
from accelwatch.base.slices import LongWork, at_once
from accelwatch.detection.frame import DeviceState, Frame, NodeState
from accelwatch.detection.signals.device_signals import DEVICE_SIGNALS
from accelwatch.detection.signals.node_signals import NODE_SIGNALS
from accelwatch.fleet.backtest.context.archive_rule_context import ArchiveRuleContext
from accelwatch.fleet.backtest.context.stream import intervals
from accelwatch.fleet.detection.frames import Frames
from accelwatch.schema.event import severity
from support.archives.synthetic_fleet import Fault, Plan, archive

AT = 1207.0


def frames_of(folder: Path, *, mended: tuple[str, ...] = ()) -> Iterator[Frame]:
    """Every frame of an archive."""
    found = Archive(folder)
    step = found.description.interval_s
    context = ArchiveRuleContext(found, step)
    frames = Frames(context.event_history, step, found.series(), lambda _nodes, _now: mended)
    columns = context.columns(frames.needs, lambda _rule: None)
    devices = found.samples(DEVICES, columns.samples.series)
    nodes = found.samples(NODES, columns.samples.node_series)
    for interval in intervals(
        (devices, columns.samples.series),
        (nodes, columns.samples.node_series),
        step,
        found.description.start,
        1e12,
    ):
        context.now = interval.time
        context.device_index.meet(devices.entities, nodes.entities)
        columns.add_samples(interval.time, interval.devices, interval.nodes)
        context.event_history.advance(interval.time)
        at_once(columns.refresh(LongWork()))
        yield at_once(frames.frame(columns, LongWork()))


def made(folder: Path, *faults: Fault) -> None:
    archive(
        folder,
        Plan(nodes=4, devices=2, spare=1, seconds=2400, seed=3, sessions=False, faults=faults),
    )


def test_a_healthy_fleet(tmp_path: Path) -> None:
    made(tmp_path)
    frame = list(frames_of(tmp_path, mended=("node002",)))[20]
    names = frame.names

    assert len(names.nodes) == len(frame.node_state) == 4
    assert len(names.devices) == len(frame.node_of) == len(set(names.devices)) == 8
    assert frame.devices.shape == (len(DEVICE_SIGNALS), 8)
    assert frame.nodes.shape == (len(NODE_SIGNALS), 4)
    assert np.bincount(frame.node_of).tolist() == [2, 2, 2, 2]
    assert (frame.device_state == DeviceState.READ).all()
    assert (frame.node_state == NodeState.UP).all()
    assert (frame.now - frame.device_sampled < 60).all()
    assert (frame.now - frame.node_sampled < 60).all()
    power = [row.series for row in DEVICE_SIGNALS].index(("power_watts",))
    assert (frame.devices[power] > 0).all()
    assert {names.models[code] for code in frame.model} == {"NVIDIA B200"}
    running = frame.job >= 0
    assert 0 < running.sum() < 8
    assert dict(zip(names.nodes, frame.maintenance.tolist(), strict=True)) == {
        name: name == "node002" for name in names.nodes
    }


def test_names_are_the_same_object_as_long_as_nothing_changes(tmp_path: Path) -> None:
    made(tmp_path)
    frames = list(frames_of(tmp_path))

    assert frames[30].names is frames[20].names
    assert (frames[30].device_generation == frames[20].device_generation).all()
    assert (frames[30].node_generation == frames[20].node_generation).all()


def test_a_device_that_is_lost_keeps_its_row(tmp_path: Path) -> None:
    made(tmp_path, Fault("lost", 2, AT, 900.0, 1))
    frames = list(frames_of(tmp_path))

    last = frames[-20]
    assert (last.device_state == DeviceState.LOST).sum() == 1
    assert last.names.devices == frames[20].names.devices
    assert (last.device_generation == frames[20].device_generation).all()


@pytest.mark.parametrize(("kind", "of_device"), [("ecc", True), ("storage", False)])
def test_each_event_is_in_one_frame(tmp_path: Path, kind: str, of_device: bool) -> None:
    made(tmp_path, Fault(kind, 2, AT, 300.0, 1))
    frames = list(frames_of(tmp_path))
    logged = [(event.node, event.device, event.code) for event in Archive(tmp_path).events()]

    events = [
        (frame.names.nodes[event.node], event.event.device_id or None, event.event.code)
        for frame in frames
        for event in frame.events
    ]
    assert sorted(events, key=str) == sorted(logged, key=str)
    assert any(device for _, device, _ in events) == of_device
    for frame in frames:
        for event in frame.events:
            assert frame.now - 60 < event.event.time <= frame.now
            assert event.severity == severity(event.event)
            if event.event.device_id:
                assert frame.names.devices[event.device] == event.event.device_id
                assert frame.node_of[event.device] == event.node
            else:
                assert event.device == -1


def test_the_same_archive_gives_the_same_frames(tmp_path: Path) -> None:
    made(tmp_path, Fault("lost", 2, AT, 900.0, 1))
    for one, other in zip(frames_of(tmp_path), frames_of(tmp_path), strict=True):
        np.testing.assert_array_equal(one.devices, other.devices)
        np.testing.assert_array_equal(one.nodes, other.nodes)
