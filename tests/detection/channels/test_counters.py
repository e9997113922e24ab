import numpy as np

from accelwatch.detection.channels.components.error_rates import log_e
from accelwatch.detection.channels.counters import Counters
from accelwatch.detection.evidence import Channel, Evidence
from accelwatch.schema.metrics import Series
from support.detection.ticks import TABLE, Ticks, only, row

REMAPS: Series = ("memory_remapped_rows", "corrected")
CRC: Series = ("interconnect_errors_total", "nvlink", "crc_flit")


def started(ticks: Ticks) -> Counters:
    counters = Counters(TABLE)
    ticks.started(counters)
    return counters


def day(
    ticks: Ticks, counters: Counters, series: Series, errors: dict[int, float]
) -> Evidence | None:
    """A day in which device 2 has errors at these hours; the strongest evidence of it."""
    best: Evidence | None = None
    for number in range(2880):
        hour = number / 120
        amount = errors.get(int(hour), 0.0) if hour == int(hour) else 0.0
        for item in counters.evidence(ticks.after(increase={series: row(16, 0, r2=amount)})):
            assert item.rows.tolist() == [2]
            if best is None or item.score[0] > best.score[0]:
                best = item
    return best


def test_episodes_on_one_device_of_a_fleet_without_any() -> None:
    ticks = Ticks()
    counters = started(ticks)
    found = day(ticks, counters, REMAPS, {2: 1, 5: 1, 9: 1, 14: 1, 20: 1})
    assert found is not None
    assert (found.channel, found.family) == (Channel.COUNTER, "ecc")
    assert found.score[0] >= 8.0


def test_a_burst_within_an_hour_is_one_episode() -> None:
    ticks = Ticks()
    counters = started(ticks)
    assert day(ticks, counters, REMAPS, {3: 5000}) is None


def test_what_a_row_always_had_is_no_news() -> None:
    ticks = Ticks()
    counters = started(ticks)
    usual = {2: 1.0, 8: 1.0, 14: 1.0, 20: 1.0}
    day(ticks, counters, REMAPS, usual)
    scores = [day(ticks, counters, REMAPS, usual) for _ in range(4)]
    last = scores[-1]
    assert last is None or last.score[0] < 8.0


def spoke_at(ticks: Ticks, counters: Counters, errors: dict[int, float], hours: int) -> list[bool]:
    """Whether device 2 has something to say, at each tick of so many hours."""
    spoke: list[bool] = []
    for number in range(120 * hours):
        amount = errors.get(number // 120 % 24, 0.0) if number % 120 == 0 else 0.0
        found = counters.evidence(ticks.after(increase={REMAPS: row(16, 0, r2=amount)}))
        spoke.append(bool(found))
    return spoke


def test_errors_of_each_day_do_not_end_with_the_day() -> None:
    ticks = Ticks()
    counters = started(ticks)
    errors = dict.fromkeys(range(0, 24, 4), 1.0)
    spoke = spoke_at(ticks, counters, errors, 68)
    assert all(spoke[spoke.index(True) :])


def test_errors_that_stopped_a_day_ago_are_over_and_not_usual() -> None:
    ticks = Ticks()
    counters = started(ticks)
    errors = dict.fromkeys(range(0, 24, 4), 1.0)
    assert any(spoke_at(ticks, counters, errors, 24))
    assert not spoke_at(ticks, counters, {}, 30)[-1]
    again = spoke_at(ticks, counters, errors, 24)
    assert any(again)


def test_a_line_with_ten_times_its_errors_speaks_within_a_quarter_of_an_hour() -> None:
    ticks = Ticks()
    counters = started(ticks)
    rng = np.random.default_rng(5)
    for _ in range(1200):
        usual = rng.poisson(0.3, 16).astype(float)
        assert counters.evidence(ticks.after(increase={CRC: usual})) == []
    spoke: list[list[Evidence]] = []
    for _ in range(60):
        bad = rng.poisson(0.3, 16).astype(float)
        bad[2] = rng.poisson(6.0)
        spoke.append(counters.evidence(ticks.after(increase={CRC: bad})))
    # Once it speaks it goes on, over the ends of windows.
    first = next(at for at, found in enumerate(spoke) if found)
    assert first <= 30
    for found in spoke[first:]:
        assert (only(found).family, only(found).rows.tolist()) == ("nvlink", [2])
    assert only(spoke[-1]).sustained_s[0] == 30.0 * (59 - first)


def test_a_line_that_had_hardly_any_errors_and_has_one_in_ten_minutes_speaks_within_the_hour() -> (
    None
):
    ticks = Ticks()
    counters = started(ticks)
    for _ in range(1200):
        assert counters.evidence(ticks.after(increase={CRC: 0.0})) == []
    found = [
        counters.evidence(ticks.after(increase={CRC: row(16, 0.0, r2=float(number % 20 == 0))}))
        for number in range(120)
    ]
    strong = [bool(each) and only(each).score[0] >= 8.0 for each in found]
    assert only(found[-1]).rows.tolist() == [2]
    assert 40 < strong.index(True) <= 100


def test_a_line_that_always_had_some_errors_has_no_more_in_an_hour() -> None:
    ticks = Ticks()
    counters = started(ticks)
    rng = np.random.default_rng(7)
    for _ in range(1200):
        usual = rng.poisson(1 / 6, 16).astype(float)
        assert counters.evidence(ticks.after(increase={CRC: usual})) == []


def test_a_line_whose_errors_have_stopped_speaks_for_five_minutes_more() -> None:
    ticks = Ticks()
    counters = started(ticks)
    for errors in [0.0] * 1200 + [6.0] * 30:
        found = counters.evidence(ticks.after(increase={CRC: row(16, 0.0, r2=errors)}))
    assert only(found).rows.tolist() == [2]
    spoke = [bool(counters.evidence(ticks.after(increase={CRC: 0.0}))) for _ in range(40)]
    assert spoke == [True] * 9 + [False] * 31


def test_unknown_increases_and_maintenance_say_nothing() -> None:
    ticks = Ticks()
    counters = started(ticks)
    ticks.missing = {2}
    assert day(ticks, counters, REMAPS, dict.fromkeys(range(0, 24, 2), 1.0)) is None
    ticks.missing, ticks.maintenance = set(), {0}
    assert day(ticks, counters, REMAPS, dict.fromkeys(range(0, 24, 2), 1.0)) is None


def test_the_e_value_has_a_mean_of_one_under_the_known_rate() -> None:
    rng = np.random.default_rng(1)
    rates = rng.gamma(2.0, 1 / 100.0, 200_000)
    events = rng.poisson(rates * 50.0).astype(float)
    shape, rate_s, seconds = (np.full(events.size, value) for value in (2.0, 100.0, 50.0))
    mean = np.exp(log_e(shape, rate_s, events, seconds, 3.0)).mean()
    assert abs(mean - 1.0) < 0.05
