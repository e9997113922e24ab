"""Windows against the same worked out sample by sample, and what they take of memory."""

import asyncio
import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accelwatch.base.errors import UsageError
from accelwatch.base.slices import LongWork
from accelwatch.expr.needs import WindowNeed, window_bytes
from accelwatch.expr.series_history import SeriesHistory
from accelwatch.expr.vocabulary.windows import WindowKind
from accelwatch.fleet.follow.frames import RawDevice
from accelwatch.fleet.state.fleet_status import sampled
from accelwatch.fleet.state.history import STEPS, History
from accelwatch.fleet.state.nodes.devices import FleetDevice, ReadDevice, StreamDevice
from accelwatch.fleet.table import windows as windows_module
from accelwatch.fleet.table.buckets import CHUNK_ROWS, Buckets
from accelwatch.fleet.table.columns import Columns
from accelwatch.fleet.table.jobs import Jobs
from accelwatch.fleet.table.window import Window
from accelwatch.fleet.table.windows import Arrivals, Windows, WindowsError
from accelwatch.schema.metrics import Series
from support.fleet.manual_fleet import Bench
from support.machines import composed as machines

POWER, USED, ECC = ("power_watts",), ("memory_used_bytes",), ("ecc_errors_total", "volatile")
nan = math.nan


class Sample(NamedTuple):
    """What one row says at a tick."""

    # NaN where there is none.
    value: float
    # How long before the tick it arrived.
    late_s: float = 0.0
    # Whether anything has arrived since the tick before.
    received: bool = True
    # Whether something else stands in the row from now on.
    other: bool = False
    # Whether another job has started there.
    starts_job: bool = False


class Feed:
    """Windows fed by hand, and the samples of each row as they were reported."""

    def __init__(self, rows: int, interval_s: float = 1.0, shift: int = 0) -> None:
        self.now = 1000.0
        self.interval_s = interval_s
        self.windows = Windows()
        for number in range(
            shift
        ):  # each series starts its buckets a second later than the one before
            self.windows.request(("shift", str(number)), 10, "avg")
        self.shift = shift
        self.arrived = np.full(rows, nan)
        self.generation = np.ones(rows, dtype=np.uint32)
        self.samples: list[list[tuple[float, float, float]]] = [[] for _ in range(rows)]
        self.jobs = np.zeros(rows, dtype=np.uint32)
        # When the first sample was taken of the job of each row; infinite before.
        self.job_since = [-math.inf] * rows

    def tick(self, samples: Sequence[Sample], after_s: float = 1.0) -> None:
        self.now += after_s
        for row, sample in enumerate(samples):
            if sample.other:
                self.generation[row] += 1
                self.samples[row] = []
            if sample.received:
                if self.job_since[row] == math.inf:
                    self.job_since[row] = self.now
                self.arrived[row] = self.now - sample.late_s
                if not math.isnan(sample.value):
                    self.samples[row].append((self.now, self.now - sample.late_s, sample.value))
            if sample.starts_job:
                self.jobs[row] += 1
                self.job_since[row] = math.inf
        values = np.array([sample.value for sample in samples])
        rows = len(samples)
        interval_s = np.full(rows, self.interval_s)
        received = Arrivals(rows, self.arrived, interval_s, self.generation, self.running())
        self.windows.sample(self.now, received, lambda _series: values)

    def running(self) -> Jobs:
        """The job of each row."""
        return Jobs(self.jobs.copy())

    def run(self, values: Iterable[float]) -> None:
        """A second for each value of the only row."""
        for value in values:
            self.tick([Sample(value, received=not math.isnan(value))])

    def expected(self, window: Window, row: int) -> float:
        """What a window says of a row, worked out from its samples."""
        start = math.floor((self.now - self.shift) / 10) * 10 + self.shift - window.count * 10
        counted = max(start, self.job_start(row)) if window.of_job else start
        inside = [value for at, _, value in self.samples[row] if at >= counted]
        if window.kind is WindowKind.AGE:
            return self.now - self.samples[row][-1][1] if self.samples[row] else nan
        least = max((self.now - start) / max(self.interval_s, 1.0) * 0.5, 1.0)
        if len(inside) < least or math.isnan(self.arrived[row]):
            return nan
        simple = {
            WindowKind.AVG: sum(inside) / len(inside),
            WindowKind.MIN: min(inside),
            WindowKind.MAX: max(inside),
            WindowKind.SHARE: sum(value != 0 for value in inside) / len(inside),
            WindowKind.CHANGED: float(np.float32(min(inside)) != np.float32(max(inside))),
        }
        if window.kind in (WindowKind.DELTA, WindowKind.QUANTILE):
            return self.of_means(window, row, counted)
        if window.kind in simple:
            return simple[window.kind]
        rise = span = 0.0
        limit = max(300.0, 3 * max(self.interval_s, 1.0))
        for before, after in itertools.pairwise(self.samples[row]):
            gap = after[1] - before[1]
            if after[0] >= counted and after[2] >= before[2] and gap <= limit:
                rise, span = rise + after[2] - before[2], span + max(gap, 0.0)
        if window.kind is WindowKind.INCREASE:
            return rise
        return rise / span if span > 0 else nan

    def job_start(self, row: int) -> float:
        """Where the first bucket starts that is all of the job's."""
        if math.isinf(self.job_since[row]):
            return self.job_since[row]
        return (math.floor((self.job_since[row] - self.shift) / 10) + 1) * 10 + self.shift

    def of_means(self, window: Window, row: int, start: float) -> float:
        """What is asked of the means of buckets."""
        buckets: dict[int, list[float]] = {}
        for at, _, value in self.samples[row]:
            if at >= start:
                buckets.setdefault(math.floor((at - self.shift) / 10), []).append(value)
        present = math.floor((self.now - self.shift) / 10)
        means = [sum(some) / len(some) for at, some in sorted(buckets.items()) if at != present]
        if window.kind is WindowKind.QUANTILE:
            return float(np.quantile(means, window.quantile)) if means else nan
        opened = buckets.get(present)
        newest = sum(opened) / len(opened) if opened else (means or [0.0])[-1]
        return newest - means[0] if means else 0.0


def check(feed: Feed, requested: Sequence[Window]) -> None:
    for window in requested:
        shown = window.value().tolist()
        wanted = [feed.expected(window, row) for row in range(len(shown))]
        for row, (got, want) in enumerate(zip(shown, wanted, strict=True)):
            note = (window.kind, window.count, row, feed.now)
            assert got == pytest.approx(want, rel=1e-5, abs=1e-4, nan_ok=True), note


values = st.one_of(
    st.just(nan), st.just(0.0), st.floats(0, 1000, width=32), st.integers(0, 5).map(float)
)
samples = st.builds(
    Sample,
    value=values,
    late_s=st.sampled_from([0.0, 0.25, 0.5]),
    received=st.sampled_from([True, True, True, False]),
    other=st.sampled_from([False] * 30 + [True]),
)
steps = st.tuples(
    st.tuples(samples, samples, samples),
    st.sampled_from([1.0, 1.0, 1.0, 1.0, 3.0, 7.5, 25.0, 400.0]),
)


@settings(max_examples=80, deadline=None)
@given(
    st.lists(steps, min_size=1, max_size=40),
    st.lists(
        st.tuples(
            st.integers(1, 60),
            st.sampled_from(list(WindowKind)),
            st.sampled_from([0.0, 0.25, 0.95, 1.0]),
        ),
        min_size=1,
        max_size=5,
    ),
    st.sampled_from([1.0, 5.0, 15.0, 200.0]),
    st.integers(0, 9),
)
def test_a_window_says_what_its_samples_say(
    ticks: list[tuple[tuple[Sample, Sample, Sample], float]],
    requested: list[tuple[int, WindowKind, float]],
    interval_s: float,
    shift: int,
) -> None:
    feed = Feed(3, interval_s, shift)
    windows = [
        feed.windows.request(POWER, 0 if kind is WindowKind.AGE else seconds, kind, share)
        for seconds, kind, share in requested
    ]
    for rows, after_s in ticks:
        feed.tick(rows, after_s)
        check(feed, windows)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(values, st.sampled_from([1.0, 1.0, 1.0, 2.5, 15.0, 320.0])),
        min_size=1,
        max_size=50,
    ),
    st.integers(10, 60),
    st.sampled_from([1.0, 5.0]),
    st.sampled_from([POWER, ECC]),
)
def test_a_hub_and_an_agent_say_the_same_of_the_past(
    ticks: list[tuple[float, float]], seconds: int, interval_s: float, series: Series
) -> None:
    feed = Feed(1, interval_s)
    needs = [
        WindowNeed(kind, series, 0 if kind is WindowKind.AGE else seconds, 0.9)
        for kind in WindowKind
    ]
    windows = [feed.windows.request(series, need.seconds, need.kind, 0.9) for need in needs]
    past: SeriesHistory | None = None
    for value, after_s in ticks:
        feed.tick([Sample(value)], after_s)
        if not math.isnan(value):
            past = past or SeriesHistory(needs)
            past.add(feed.now, value, interval_s)
        for need, window in zip(needs, windows, strict=True):
            scalar = None if past is None else past.window(feed.now, need, interval_s)
            vector = float(window.value()[0])
            wanted = nan if scalar is None else scalar
            assert vector == pytest.approx(wanted, rel=1e-5, abs=1e-4, nan_ok=True), need


def test_a_window_ends_now_and_starts_at_an_edge() -> None:
    feed = Feed(1)
    window = feed.windows.request(POWER, 20, "max")
    feed.run([500.0, *[1.0] * 28])  # the peak is in the bucket from 1000
    assert (feed.now, window.span_s, window.value().tolist()) == (1029.0, 29.0, [500.0])
    feed.run([1.0])
    assert (feed.now, window.span_s, window.value().tolist()) == (1030.0, 20.0, [1.0])


@pytest.mark.parametrize(
    ("counter", "grown"),
    [
        ([100.0, 110.0, 120.0], 20.0),
        ([1e12, 5.0, 10.0], 5.0),  # reset
        ([2**32 - 3.0, 2.0, 4.0], 2.0),  # wrapped
        ([1e12, 1e12 - 1, 1e12 + 1], 2.0),  # sent an older number and then a newer one
        ([7.0, 7.0, 7.0], 0.0),
    ],
)
def test_a_counter_that_falls_is_no_spike(counter: list[float], grown: float) -> None:
    feed = Feed(1)
    increase, rate = (
        feed.windows.request(ECC, 10, "increase"),
        feed.windows.request(ECC, 10, "rate"),
    )
    feed.run([counter[0]] * 9 + counter)
    assert increase.value().tolist() == [grown]
    falls = sum(after < before for before, after in itertools.pairwise(counter))
    assert rate.value()[0] == pytest.approx(grown / (11 - falls))


def test_what_grew_while_nobody_listened_counts_when_it_is_known_but_is_no_rate() -> None:
    feed = Feed(1)
    increase, rate = (
        feed.windows.request(ECC, 60, "increase"),
        feed.windows.request(ECC, 60, "rate"),
    )
    feed.run([10.0 * second for second in range(60)])
    feed.run([nan] * 30)
    assert increase.value()[0] > 0
    feed.run([10.0 * second for second in range(90, 130)])
    assert rate.value()[0] == pytest.approx(10.0)
    feed.run([nan] * 301)
    feed.run([5000.0] * 60)
    assert (increase.value()[0], rate.value()[0]) == (0.0, 0.0)


def test_a_row_with_too_few_samples_is_not_known_and_says_how_many_it_has() -> None:
    feed = Feed(1)
    window = feed.windows.request(POWER, 30, "avg")
    feed.run([5.0] * 14)
    assert math.isnan(window.value()[0])
    assert (window.samples()[0], window.expected()[0]) == (14.0, 34.0)
    assert window.coverage()[0] == pytest.approx(14 / 34)
    feed.run([5.0] * 6)
    assert window.value().tolist() == [5.0]
    feed.run([nan] * 60)
    assert (window.coverage()[0], window.samples()[0]) == (0.0, 0.0)


def test_who_is_polled_every_minute_is_not_expected_every_second() -> None:
    feed = Feed(1, interval_s=60.0)
    window = feed.windows.request(POWER, 300, "avg")
    for value in (1.0, 2.0, 3.0, 4.0, 5.0):
        feed.tick([Sample(value)], 60.0)
    assert window.value()[0] == pytest.approx(3.0)


def test_a_row_without_a_sample_is_nothing() -> None:
    feed = Feed(2)
    window = feed.windows.request(POWER, 10, "share")
    for _ in range(20):
        feed.tick([Sample(1.0), Sample(nan, received=False)])
    assert window.value()[0] == 1.0
    assert math.isnan(window.value()[1])
    assert math.isnan(window.expected()[1]) or window.expected()[1] > 0
    assert window.coverage().tolist() == [1.0, 0.0]


def test_a_longer_window_keeps_what_was_gathered_and_a_shorter_one_gives_it_up() -> None:
    feed = Feed(1)
    short = feed.windows.request(POWER, 20, "max")
    feed.run([9.0] + [1.0] * 19)
    long = feed.windows.request(POWER, 60, "max")
    feed.run([1.0] * 30)
    assert (short.value()[0], long.value()[0]) == (1.0, 9.0)
    both = feed.windows.bytes
    feed.windows.release(long)
    assert 0 < feed.windows.bytes < both
    assert short.value()[0] == 1.0
    feed.windows.release(short)
    assert (feed.windows.series, feed.windows.bytes) == ((), 0)


def test_rules_check_says_what_windows_take() -> None:
    feed = Feed(1)
    requested = [(POWER, 900, "avg"), (POWER, 60, "max"), (ECC, 300, "rate"), (USED, 0, "age")]
    for series, seconds, kind in requested:
        feed.windows.request(series, seconds, kind)
    feed.run([1.0])
    needs = [WindowNeed(kind, series, seconds) for series, seconds, kind in requested]
    assert feed.windows.bytes == window_bytes(needs, 1, 0)


def test_series_close_their_buckets_one_after_another() -> None:
    feed = Feed(1)
    requested = [feed.windows.request(("x", str(number)), 10, "avg") for number in range(10)]
    feed.run([1.0] * 30)
    spans = {window.span_s for window in requested}
    assert spans == {float(second) for second in range(10, 20)}


@pytest.mark.parametrize(
    ("series", "values", "changed"),
    [
        (POWER, [0.1] * 25, 0.0),
        (POWER, [0.1] * 24 + [0.2], 1.0),
        (ECC, [7.0] * 25, 0.0),
        (ECC, [7.0] * 24 + [6.0], 0.0),  # a counter that falls has not grown
        (ECC, [7.0] * 24 + [8.0], 1.0),
    ],
)
def test_a_constant_has_not_changed(series: Series, values: list[float], changed: float) -> None:
    feed = Feed(1)
    window = feed.windows.request(series, 20, "changed")
    feed.run(values)
    assert window.value().tolist() == [changed]


def test_an_age_goes_on_when_nothing_is_received() -> None:
    feed = Feed(2)
    age = feed.windows.request(POWER, 0, "age")
    feed.tick([Sample(1.0, late_s=0.25), Sample(nan, received=False)])
    feed.tick([Sample(nan), Sample(nan, received=False)], after_s=3600)
    assert age.value()[0] == 3600.25
    assert math.isnan(age.value()[1])
    feed.windows.release(age)
    assert feed.windows.series == ()


def test_rows_straddle_parts() -> None:
    rows = CHUNK_ROWS + 3
    feed = Feed(rows)
    window = feed.windows.request(POWER, 10, "avg")
    for _ in range(25):
        feed.tick([Sample(float(row)) for row in range(rows)])
    assert window.value().tolist() == [pytest.approx(float(row)) for row in range(rows)]


@pytest.mark.parametrize("seconds", [0, -1, nan, math.inf, 86_401])
def test_a_length_that_makes_no_sense_is_refused(seconds: float) -> None:
    with pytest.raises(UsageError, match="longer than 0 s"):
        Windows().request(POWER, seconds, "avg")


def test_windows_that_take_too_much_are_refused_and_the_dearest_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(windows_module, "MOST_BYTES", 4 << 20)
    feed = Feed(CHUNK_ROWS)
    feed.windows.request(POWER, 3600, "avg")
    feed.windows.request(USED, 10, "max")
    feed.tick([Sample(1.0)] * CHUNK_ROWS)
    before = feed.windows.bytes
    with pytest.raises(WindowsError) as caught:
        feed.windows.request(ECC, 7200, "rate")
    text = str(caught.value)
    assert "windows over 1024 devices would take 8 MiB, and the most is 4 MiB" in text
    dear = text.index("rate of ecc_errors_total.volatile over 7200 s (6 MiB)")
    assert dear < text.index("avg of power_watts over 3600 s (2 MiB)")
    assert feed.windows.bytes == before
    assert feed.windows.series == (POWER, USED)
    feed.windows.check(CHUNK_ROWS)
    with pytest.raises(WindowsError, match="windows over 8000 devices"):
        feed.windows.check(8000)


def test_a_fleet_that_outgrows_its_windows_says_for_how_many_there_is_no_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    feed = Feed(2 * CHUNK_ROWS)
    window = feed.windows.request(POWER, 100, "avg")
    monkeypatch.setattr(windows_module, "MOST_BYTES", 100_000)
    for _ in range(60):
        feed.tick([Sample(1.0)] * (2 * CHUNK_ROWS))
    known = window.value()
    assert 0 < feed.windows.left_out < 2 * CHUNK_ROWS
    assert len(known) == 2 * CHUNK_ROWS
    assert int(np.isnan(known).sum()) == feed.windows.left_out
    assert feed.windows.bytes <= 100_000


def test_the_measured_set_of_a_large_fleet_fits() -> None:
    windows = Windows()
    for number in range(12):
        windows.request(("gauge", str(number)), 900, "avg")
        windows.request(("gauge", str(number)), 900, "min")
    for number in range(14):
        windows.request(("counter", str(number)), 900, "increase")
    windows.check(8000)


def test_buckets_keep_the_newest_and_forget_what_was_left_out() -> None:
    buckets = Buckets(3, np.float32, nan)
    buckets.grow(2)
    for bucket in range(5):
        buckets.store(bucket, np.array([float(bucket), 0.0]))
    assert buckets.read(0, 2, 4) == [2.0, 3.0, 4.0]
    assert buckets.fold(np.fmax, 2, 4).tolist() == [4.0, 0.0]
    buckets.skip(5, 5)
    assert buckets.fold(np.fmax, 5, 5).tolist() == pytest.approx([nan, nan], nan_ok=True)
    longer = buckets.resized(5, 5)
    assert longer.fold(np.fmin, 1, 5).tolist() == [3.0, 0.0]
    assert longer.resized(1, 5).read(0, 5, 5) == [pytest.approx(nan, nan_ok=True)]
    buckets.skip(6, 1_000_000)
    assert np.isnan(buckets.fold(np.fmax, 999_998, 1_000_000)).all()


def drawing(power: float) -> FleetDevice:
    view = machines.view(0)
    values: dict[Series, float] = {POWER: power}
    return ReadDevice(
        msgspec.structs.replace(view, reading=msgspec.structs.replace(view.reading, values=values))
    )


COLUMNS = Columns((POWER,), ())


def streaming(power: float) -> FleetDevice:
    device = StreamDevice(machines.device(0), COLUMNS)
    raw = msgspec.Raw(msgspec.msgpack.encode((power,)))
    device.update(RawDevice(0, "ok", 0.0, "ok", 0.0, raw))
    return device


@pytest.mark.parametrize("made", [drawing, streaming])
def test_history_straddles_parts_and_takes_the_first_of_a_step(
    made: Callable[[float], FleetDevice],
) -> None:
    history = History()
    rows = (CHUNK_ROWS - 1, CHUNK_ROWS)
    history.store(10, [(rows[0], made(1.0)), (rows[1], made(2.0))])
    history.store(10, [(rows[0], made(9.0)), (rows[1], made(9.0))])
    history.store(12, [(rows[1], made(3.0))])
    history.store(9, [(rows[0], made(9.0))])
    assert history.rows(rows[0], 12)[POWER][-5:] == [None, None, 1.0, None, None]
    assert history.rows(rows[1], 12)[POWER][-5:] == [None, None, 2.0, None, 3.0]
    history.clear(rows[1])
    assert history.rows(rows[1], 12) == {}
    assert history.rows(5000, 12) == {}
    assert history.rows(rows[0], 12 + STEPS)[POWER] == [None] * STEPS


def test_history_of_streams_is_that_of_the_tick_whenever_it_is_decoded() -> None:
    history = History()
    devices = [streaming(float(number)) for number in range(600)]
    for row, device in enumerate(devices):
        history.store(10, [(row, device)])
    for device in devices:
        assert isinstance(device, StreamDevice)
        device.update(RawDevice(0, "ok", 0.0, "ok", 0.0, msgspec.Raw(b"\x91\x00")))
    history.clear(599)
    assert [history.rows(row, 11)[POWER][-2:] for row in range(599)] == [
        [float(number), None] for number in range(599)
    ]
    assert history.rows(599, 11) == {}


def test_a_fleet_fills_its_windows_tick_by_tick() -> None:
    async def main() -> None:
        bench = Bench("a", "b")
        windows = bench.fleet.table.windows
        await sampled(bench.fleet, LongWork().yield_control)  # nobody asks for anything
        power = windows.request(POWER, 20, "avg")
        for second in range(60):
            bench.clock.advance(1)
            bench.report("a", machines.view(0), machines.view(1))
            if second < 30:
                bench.report("b", machines.view(2))
            await sampled(bench.fleet, LongWork().yield_control)
        rows = bench.fleet.table.rows
        a = [rows.get(("a", machines.device(index).id)) or 0 for index in (0, 1)]
        b = rows.get(("b", machines.device(2).id)) or 0
        assert power.value()[a].tolist() == [pytest.approx(642.125), pytest.approx(643.125)]
        assert math.isnan(power.value()[b])
        assert power.coverage()[a].tolist() == [1.0, 1.0]
        other = machines.device(1, serial="another")
        bench.clock.advance(1)
        bench.report("a", machines.view(0), machines.view(1, device=other))
        await sampled(bench.fleet, LongWork().yield_control)
        assert power.value()[a[0]] == pytest.approx(642.125)
        assert math.isnan(power.value()[a[1]])
        assert power.samples()[a[1]] == 1.0
        bench.fleet.close()

    asyncio.run(main())


@pytest.mark.parametrize("empty", [0.0, nan])
def test_what_nobody_reports_takes_no_memory(empty: float) -> None:
    buckets = Buckets(3, np.float32, empty)
    buckets.grow(CHUNK_ROWS + 5)
    none, some = np.full(CHUNK_ROWS + 5, empty), np.full(CHUNK_ROWS + 5, empty)
    rows = np.array([0, CHUNK_ROWS + 4])
    some[CHUNK_ROWS + 4] = 7.0
    for bucket in (10, 11):
        buckets.store(bucket, none)
        buckets.skip(bucket + 1, bucket + 1)
    how = np.add if empty == 0 else np.fmax
    for read in (
        lambda: buckets.fold(how, 10, 12)[rows],
        lambda: buckets.each(10, 12)[:, rows].max(axis=0),
        lambda: buckets.some(10, 12, rows).max(axis=0),
        lambda: [max(buckets.read(row, 10, 12)) for row in rows.tolist()],
        lambda: buckets.resized(5, 12).fold(how, 10, 12)[rows],
    ):
        assert np.array_equal(read(), [empty, empty], equal_nan=True)
    assert buckets.nbytes == 0
    buckets.store(13, some)
    assert buckets.nbytes == 3 * 4 * (CHUNK_ROWS + 5)
    assert buckets.fold(how, 12, 13)[CHUNK_ROWS + 4] == 7.0
    assert buckets.resized(5, 13).fold(how, 10, 13)[CHUNK_ROWS + 4] == 7.0
    assert buckets.resized(5, 13).nbytes == 5 * 4 * (CHUNK_ROWS + 5)


def test_a_long_quantile_is_worked_out_in_small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accelwatch.fleet.table.window._CELLS_AT_ONCE", 12)
    feed = Feed(5, 1.0, 0)
    window = feed.windows.request(POWER, 60, "quantile", quantile=0.9)
    for at in range(75):
        feed.tick([Sample(float(at * (row + 1) % 17)) for row in range(5)])
    assert len(list(window.prepare())) == 3
    check(feed, [window])
    assert list(window.prepare()) == []
    feed.tick([Sample(1.0)] * 5, after_s=10.0)
    steps = window.prepare()
    next(steps)
    feed.tick([Sample(9.0)] * 5, after_s=10.0)
    assert list(steps) == []
    check(feed, [window])
    gauge = feed.windows.request(POWER, 60, "avg")
    assert list(gauge.prepare()) == []
