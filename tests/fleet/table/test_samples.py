"""Samples of what rules and the detector read: a past of whatever evidence may name."""

import asyncio
from collections.abc import Mapping

import msgspec
import numpy as np
import pytest

from accelwatch.base.slices import LongWork
from accelwatch.fleet.state import samples as samples_module
from accelwatch.fleet.state.history import STEPS
from accelwatch.schema.metrics import Series
from support.fleet.job_fleet import JobFleet, device_id

CLOCK: Series = ("clock_hertz", "memory")
BYTES: Series = ("interconnect_bytes_total", "nvlink", "receive")
FAN: Series = ("fan_speed_ratio", "0")


class Read(JobFleet):
    """A fleet of which somebody reads the clock of memory and the bytes of links."""

    def step(self, reported: Mapping[tuple[str, int], Mapping[Series, float]]) -> None:
        """Half a minute, at whose end devices say this and a sample is taken."""
        self.clock.advance(30.0)
        if reported:
            self.report(reported)
        table = self.fleet.table
        table.refresh(self.fleet.nodes.values(), (CLOCK, BYTES), self.clock.monotonic())
        asyncio.run(self.fleet.history.sample(LongWork()))

    def row(self, node: str = "a") -> int:
        row = self.fleet.table.rows.get((node, device_id()))
        assert row is not None
        return row

    def recent(self, series: Series, *nodes: str) -> tuple[bool, list[list[float]]]:
        """Whether it grows, and by node the steps from the first with a value of any."""
        rows = np.array([self.row(node) for node in nodes or ("a",)])
        kept = self.fleet.history.recent(series, rows)
        assert kept is not None
        grows, values = kept
        assert values.shape == (STEPS, len(rows))
        first = int((~np.isnan(values)).any(axis=1).argmax())
        return grows, values[first:].T.tolist()


def of_a(series: Series, value: float) -> dict[tuple[str, int], dict[Series, float]]:
    return {("a", 0): {series: value}}


def same(found: list[float], expected: list[float]) -> bool:
    return np.array_equal(found, expected, equal_nan=True)


nan = np.nan


def test_a_sample_fills_the_half_minute_before_it() -> None:
    fleet = Read("a")
    for hertz in (1e9, 2e9):
        fleet.step(of_a(CLOCK, hertz))
    grows, (line,) = fleet.recent(CLOCK)
    assert not grows
    assert same(line, [1e9] * 3 + [2e9] * 3)
    assert CLOCK in fleet.fleet.history.series()


def test_of_what_nobody_reads_nothing_is_kept() -> None:
    fleet = Read("a")
    fleet.step({("a", 0): {FAN: 0.5, CLOCK: 1e9}})
    assert fleet.fleet.history.recent(FAN, np.array([fleet.row()])) is None
    assert FAN not in fleet.fleet.history.series()


def test_who_has_reported_nothing_since_has_a_gap() -> None:
    fleet = Read("ab")
    fleet.step({("a", 0): {CLOCK: 1e9}, ("b", 0): {CLOCK: 3e9}})
    fleet.step({("b", 0): {CLOCK: 3e9}})
    fleet.step({("a", 0): {CLOCK: 1e9}, ("b", 0): {CLOCK: 3e9}})
    _, (line, other) = fleet.recent(CLOCK, "a", "b")
    assert same(line, [1e9] * 3 + [nan] * 3 + [1e9] * 3)
    assert same(other, [3e9] * 9)


def test_of_a_counter_it_is_the_growth_a_second_and_a_reset_is_a_gap() -> None:
    fleet = Read("a")
    for count in (1e15, 1e15 + 60e9, 30e9, 60e9):
        fleet.step(of_a(BYTES, count))
    grows, (line,) = fleet.recent(BYTES)
    assert grows
    assert same(line, [2e9] * 3 + [nan] * 3 + [1e9] * 3)


def test_growth_over_a_missed_sample_is_over_all_of_its_time() -> None:
    fleet = Read("a")
    fleet.step(of_a(BYTES, 0.0))
    fleet.step({})
    fleet.step(of_a(BYTES, 120e9))
    _, (line,) = fleet.recent(BYTES)
    assert same(line, [2e9] * 3)


def test_another_device_in_the_row_has_no_past() -> None:
    fleet = Read("ab")
    fleet.step({("a", 0): {CLOCK: 1e9}, ("b", 0): {CLOCK: 3e9}})
    fleet.devices["a", 0] = {"serial": "another", "uuid": "GPU-another"}
    fleet.step({("a", 0): {CLOCK: 2e9}, ("b", 0): {CLOCK: 3e9}})
    _, (line, other) = fleet.recent(CLOCK, "a", "b")
    assert same(line, [nan] * 3 + [2e9] * 3)
    assert same(other, [3e9] * 6)


def test_no_more_is_kept_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = Read("a")
    for _ in range(40):
        fleet.step(of_a(CLOCK, 1e9))
    _, (line,) = fleet.recent(CLOCK)
    assert len(line) == STEPS
    of_one = fleet.fleet.history.samples.bytes // (STEPS // 3)
    monkeypatch.setattr(samples_module, "MOST_BYTES", 4 * of_one)
    fleet.step(of_a(CLOCK, 1e9))
    assert fleet.fleet.history.samples.bytes == 4 * of_one
    _, (line,) = fleet.recent(CLOCK)
    assert len(line) == 12


def test_windows_are_finer_and_samples_cover_what_was_before() -> None:
    fleet = Read("a")
    for _ in range(4):
        fleet.step(of_a(CLOCK, 1e9))
    fleet.fleet.table.windows.request(CLOCK, 60, "avg")
    for _ in range(3):
        fleet.clock.advance(10.0)
        fleet.report(of_a(CLOCK, 2e9))
        table = fleet.fleet.table
        table.refresh(fleet.fleet.nodes.values(), (CLOCK,), fleet.clock.monotonic())
        table.sample(fleet.clock.monotonic(), fleet.fleet.groups.jobs())
    _, (line,) = fleet.recent(CLOCK)
    assert same(line, [1e9] * 12 + [2e9] * 3)


def test_an_incident_is_drawn_by_a_signal_that_only_the_detector_reads() -> None:
    fleet = Read("abcd", jobs=dict.fromkeys("abcd", "7"))
    for hertz in [2e9] * 8 + [1e9] * 8:
        fleet.step({(node, 0): {CLOCK: hertz if node == "a" else 2e9} for node in "abcd"})
    drawn = fleet.graphs(fleet.incident(signals=("clock_hertz.memory",), ago_s=240.0))
    (graph,) = drawn.main
    assert (graph.name, graph.unit, graph.peers) == ("clock_hertz.memory", "hertz", 3)
    assert graph.values[-3:] == (1e9,) * 3
    assert graph.median[-3:] == (2e9,) * 3
    assert msgspec.json.decode(msgspec.json.encode(drawn), type=type(drawn)) == drawn
