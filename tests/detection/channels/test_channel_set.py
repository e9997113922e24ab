"""All channels over frames that went through the real passes."""

import numpy as np

from accelwatch.detection.baselines.passes import advance
from accelwatch.detection.baselines.state import DetectorState
from accelwatch.detection.channels.channel_set import Channels
from accelwatch.detection.evidence import Channel, Evidence, Subject, Weight
from support.detection.restarts import restore
from support.detection.simulated import Fleet
from support.detection.ticks import TABLE, Ticks


def run(state: DetectorState, channels: Channels, fleet: Fleet, count: int) -> list[Evidence]:
    found: list[Evidence] = []
    for _ in range(count):
        found = channels.evidence(advance(state, fleet.frame()))
    return found


def test_a_healthy_fleet_gives_no_evidence() -> None:
    state, channels, fleet = DetectorState(), Channels(TABLE), Fleet(4)
    for _ in range(200):
        assert run(state, channels, fleet, 1) == []


def test_a_device_with_less_power_than_its_peers() -> None:
    state, channels, fleet = DetectorState(), Channels(TABLE), Fleet(4)
    run(state, channels, fleet, 140)
    fleet.watts[5] *= 0.85
    found = run(state, channels, fleet, 12)
    by_channel = {item.channel: item for item in found}
    assert by_channel[Channel.PEER].rows.tolist() == [5]
    assert by_channel[Channel.PEER].score[0] >= 8.0
    assert all(item.weight is Weight.STATISTICAL for item in found)
    assert {item.subject for item in found} == {Subject.DEVICE}


def test_a_restart_goes_on_where_it_was() -> None:
    state, channels, fleet = DetectorState(), Channels(TABLE), Fleet(4)
    run(state, channels, fleet, 140)
    fleet.watts[5] *= 0.85
    run(state, channels, fleet, 12)
    tick = advance(state, fleet.frame())
    other = Channels(TABLE)
    other.fit(tick.frame)
    restore(channels.state_arrays(), other, (32, 4))
    mine, theirs = channels.evidence(tick), other.evidence(tick)
    assert [item.channel for item in mine] == [item.channel for item in theirs]
    assert [item.score.tolist() for item in mine] == [item.score.tolist() for item in theirs]


def test_a_device_that_was_replaced_has_no_past() -> None:
    ticks, channels = Ticks(), Channels(TABLE)
    series = ("memory_remapped_rows", "uncorrected")
    assert channels.evidence(ticks.after(increase={series: 1.0}))
    tick = ticks.after()
    generation = tick.frame.device_generation.copy()
    generation[3] = 1
    tick = tick._replace(frame=tick.frame._replace(device_generation=generation))
    (found,) = channels.evidence(tick)
    assert found.rows.tolist() == [row for row in range(16) if row != 3]


def test_rows_that_come_and_go() -> None:
    channels = Channels(TABLE)
    for count in (16, 32, 8):
        ticks = Ticks(count=count)
        found = channels.evidence(ticks.after(increase={("ecc_errors_total", "uncorrected"): 1.0}))
        assert np.array_equal(found[0].rows, np.arange(count))
