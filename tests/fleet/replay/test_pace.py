"""Where a recording is while it plays."""

from accelwatch.base.clock import ManualClock
from accelwatch.fleet.replay.pace import SPEEDS, Pace


def paced() -> tuple[Pace, ManualClock]:
    clock = ManualClock()
    return Pace(1000.0, 1600.0, clock.monotonic), clock


def test_it_goes_on_with_the_clock_times_the_speed() -> None:
    pace, clock = paced()
    assert (pace.position, pace.speed, pace.playing) == (1000.0, 60.0, True)
    clock.advance(2)
    assert pace.position == 1120.0
    pace.faster(1)
    clock.advance(1)
    assert (pace.speed, pace.position) == (300.0, 1420.0)
    clock.advance(10)
    assert (pace.position, pace.is_finished) == (1600.0, True)


def test_it_stops_and_goes_on_where_it_was() -> None:
    pace, clock = paced()
    clock.advance(1)
    pace.pause()
    clock.advance(100)
    assert (pace.position, pace.playing, pace.is_finished) == (1060.0, False, False)
    pace.pause()
    clock.advance(1)
    assert pace.position == 1120.0


def test_at_the_end_pause_starts_again() -> None:
    pace, _ = paced()
    pace.seek(9999)
    assert pace.is_finished
    pace.pause()
    assert (pace.position, pace.playing) == (1000.0, True)


def test_with_loop_it_starts_again_by_itself() -> None:
    pace, clock = paced()
    pace.loop = True
    clock.advance(11)
    assert (pace.position, pace.is_finished) == (1060.0, False)
    pace.stop()
    pace.seek(1600)
    assert pace.is_finished


def test_seeking_stays_inside_and_speeds_stay_in_the_list() -> None:
    pace, _ = paced()
    pace.seek(0)
    assert pace.position == 1000.0
    pace.faster(-100)
    assert pace.speed == SPEEDS[0] == 1.0
    pace.faster(100)
    assert pace.speed == SPEEDS[-1] == 3600.0
