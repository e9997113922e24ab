"""Pages that an exporter sends again, and pages that really do not change."""

import numpy as np

from accelwatch.detection.baselines.repeats import RepeatState, fresh, repeated
from accelwatch.detection.frame import Frame
from support.detection.simulated import HEAT, LOAD, POWER, Fleet, at

_LEARNED = 30


def _after(state: RepeatState, frame: Frame) -> tuple[RepeatState, list[bool], list[bool]]:
    state, devices, nodes = repeated(state, frame)
    return state, devices.tolist(), nodes.tolist()


def _learned(fleet: Fleet) -> RepeatState:
    state = fresh()
    for _ in range(_LEARNED):
        state, devices, nodes = _after(state, fleet.frame())
        assert not any(devices + nodes)
    return state


def _again(fleet: Fleet, last: Frame, node: int) -> Frame:
    """The next frame, in which a node's devices say what they said."""
    frame, rows = fleet.frame(), fleet.node_of == node
    frame.devices[:, rows] = last.devices[:, rows]
    return frame


def test_a_page_that_is_sent_again_is_noticed_at_once_and_for_an_hour() -> None:
    fleet = Fleet(3)
    state, last = _learned(fleet), fleet.frame()
    state, *_ = _after(state, last)
    for _ in range(120):
        state, devices, nodes = _after(state, _again(fleet, last, 1))
        assert (devices, nodes) == ([False, True, False], [False] * 3)
    # A node that rests says the same for ever, and is believed again.
    for _ in range(5):
        state, devices, _nodes = _after(state, _again(fleet, last, 1))
        assert not any(devices)


def test_one_value_that_changes_is_another_page() -> None:
    fleet = Fleet(3)
    state, last = _learned(fleet), fleet.frame()
    state, *_ = _after(state, last)
    for series, by in ((POWER, 1.0), (HEAT, 1.0), (LOAD, 0.01)):
        last = _again(fleet, last, 1)
        last.devices[at(series), 9] += by
        state, devices, _nodes = _after(state, last)
        assert not any(devices)


def test_devices_that_exchange_their_values_are_another_page() -> None:
    fleet = Fleet(1, each=2)
    state, last = _learned(fleet), fleet.frame()
    state, *_ = _after(state, last)
    frame = _again(fleet, last, 0)
    frame.devices[:] = frame.devices[:, ::-1].copy()
    assert not any(_after(state, frame)[1])


def test_a_frame_without_a_new_sample_repeats_nothing() -> None:
    fleet = Fleet(3)
    state, frame = _learned(fleet), fleet.frame()
    state, *_ = _after(state, frame)
    assert not any(_after(state, frame)[1])


def test_a_node_that_always_rests_repeats_nothing() -> None:
    fleet = Fleet(3)
    state, last = fresh(), fleet.frame()
    for _ in range(_LEARNED):
        state, devices, _nodes = _after(state, _again(fleet, last, 1))
        assert not any(devices)


def test_nodes_come_and_go() -> None:
    state = fresh()
    for nodes in (3, 5, 2, 0):
        state, devices, _nodes = _after(state, Fleet(nodes).frame())
        assert devices == [False] * nodes


def test_values_that_nobody_knows_are_no_page_of_their_own() -> None:
    fleet = Fleet(2)
    state, last = _learned(fleet), fleet.frame()
    state, *_ = _after(state, last)
    frame = _again(fleet, last, 1)
    frame.devices[at(POWER), 9] = np.nan
    assert not any(_after(state, frame)[1])
