from accelwatch.sampler.schedule import Backoff, Ticks


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


def test_pauses_double_up_to_the_limit() -> None:
    backoff = Backoff(1.0, 60.0)
    assert [backoff.failed(0.0) for _ in range(8)] == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0]


def test_free_failures_cost_no_pause() -> None:
    backoff = Backoff(5.0, 300.0, free=1)
    assert backoff.failed(10.0) == 0.0
    assert backoff.ready(10.0)
    assert backoff.failed(11.0) == 5.0
    assert not backoff.ready(15.9)
    assert backoff.ready(16.0)


def test_a_success_forgets_the_failures() -> None:
    backoff = Backoff()
    backoff.failed(0.0)
    backoff.failed(0.0)
    backoff.succeeded()
    assert backoff.ready(0.0)
    assert backoff.failed(0.0) == 1.0


def test_thousands_of_failures_do_not_overflow() -> None:
    backoff = Backoff()
    for _ in range(5000):
        pause = backoff.failed(0.0)
    assert pause == 60.0
