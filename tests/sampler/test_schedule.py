from accelwatch.sampler.schedule import Ticks


def test_ticks_keep_to_their_grid_however_late_they_are_looked_at() -> None:
    ticks = Ticks(100.0, 1.0)
    assert not ticks.due(99.9)
    assert ticks.due(100.4)
    assert ticks.next == 101.0
    assert ticks.due(101.9)
    assert ticks.next == 102.0


def test_missed_ticks_are_left_out() -> None:
    ticks = Ticks(100.0, 1.0)
    assert ticks.due(3700.5)
    assert ticks.next == 3701.0
    assert not ticks.due(3700.6)
