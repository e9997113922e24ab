from accelwatch.node.sampler.turns.schedule import Ticks


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


def test_who_joins_later_ticks_with_the_others() -> None:
    assert Ticks.joining(100.0, 2.0, 100.0).next == 102.0
    assert Ticks.joining(100.0, 2.0, 100.9).next == 102.0


def test_the_first_tick_is_not_soon_after_the_work_that_was_just_done() -> None:
    assert Ticks.joining(100.0, 2.0, 101.1).next == 104.0
    assert Ticks.joining(100.0, 2.0, 103.0).next == 104.0
