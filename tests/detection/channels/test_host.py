from collections.abc import Mapping

import numpy as np
import pytest

from accelwatch.detection.channels.host import Host
from accelwatch.detection.evidence import Evidence, Weight
from accelwatch.schema.metrics import Series
from support.detection.ticks import TABLE, Ticks, only, row

INTERRUPTS: Series = ("host_interrupts_total",)
SWITCHES: Series = ("host_context_switches_total",)
RUNNABLE: Series = ("host_runnable_processes",)
PRESSURE: Series = ("host_pressure_ratio", "io", "some")
PAGE_OUT: Series = ("host_paging_bytes_total", "out")
REQUESTS: Series = ("host_nfs_requests_total",)
TRIP: Series = ("host_nfs_round_trip_seconds_total",)
EXECUTION: Series = ("host_nfs_execution_seconds_total",)


def run(
    ticks: Ticks, node: Mapping[Series, float], peers: Mapping[Series, float], count: int = 2
) -> list[Evidence]:
    """Node 2 has these values, all others what peers have."""
    host = Host(TABLE)
    ticks.started(host)
    found: list[Evidence] = []
    for _ in range(count):
        values = {
            series: row(4, peers.get(series, value), r2=value) for series, value in node.items()
        }
        found = host.evidence(ticks.after(node=values, node_median=dict(peers)))
    return found


@pytest.mark.parametrize(
    ("cause", "node", "peers"),
    [
        ("interrupts_collapsed", {INTERRUPTS: 3000.0}, {INTERRUPTS: 10000.0}),
        ("context_switches_collapsed", {SWITCHES: 3000.0}, {SWITCHES: 10000.0}),
        ("nothing_runs", {RUNNABLE: 0.0}, {RUNNABLE: 40.0}),
        ("io_pressure", {PRESSURE: 0.5}, {PRESSURE: 0.1}),
        ("page_out", {PAGE_OUT: 1e9}, {PAGE_OUT: 1e6}),
    ],
)
def test_what_confirms_a_fault_of_a_node(
    cause: str, node: dict[Series, float], peers: dict[Series, float]
) -> None:
    assert run(Ticks(), node, peers, 1) == []
    found = only(run(Ticks(), node, peers, 2))
    assert (found.cause, found.rows.tolist(), found.weight) == (cause, [2], Weight.CONFIRMING)


@pytest.mark.parametrize(
    ("node", "peers"),
    [
        # More than half.
        ({INTERRUPTS: 6000.0}, {INTERRUPTS: 10000.0}),
        # Peers do nothing either.
        ({INTERRUPTS: 1.0}, {INTERRUPTS: 50.0}),
        ({RUNNABLE: 2.0}, {RUNNABLE: 40.0}),
        ({RUNNABLE: 0.0}, {RUNNABLE: 8.0}),
        ({PRESSURE: 0.3}, {PRESSURE: 0.1}),
        ({PRESSURE: 0.05}, {PRESSURE: 0.01}),
        ({PAGE_OUT: 3e7}, {PAGE_OUT: 1e7}),
        ({PAGE_OUT: 1e7}, {PAGE_OUT: 1e6}),
        # Without peers nothing is known.
        ({INTERRUPTS: 1.0}, {}),
        ({RUNNABLE: 0.0}, {}),
    ],
)
def test_each_part_of_a_condition_is_needed(
    node: dict[Series, float], peers: dict[Series, float]
) -> None:
    assert run(Ticks(), node, peers) == []


@pytest.mark.parametrize(
    ("requests", "trip", "execution", "causes"),
    [
        (100.0, 5.0, 100.0, ["nfs_queue"]),
        (100.0, 20.0, 100.0, ["nfs_round_trip"]),
        (100.0, 5.0, 20.0, []),
        (5.0, 5.0, 100.0, []),
        (5.0, 50.0, 100.0, []),
        (100.0, 0.0, 0.0, []),
        (np.nan, 5.0, 100.0, []),
    ],
)
def test_storage_that_queues_or_is_far_away(
    requests: float, trip: float, execution: float, causes: list[str]
) -> None:
    idle = {REQUESTS: 1.0, TRIP: 0.001, EXECUTION: 0.001}
    found = run(Ticks(), {REQUESTS: requests, TRIP: trip, EXECUTION: execution}, idle)
    assert [(item.cause, item.family) for item in found] == [(cause, "storage") for cause in causes]


def test_what_many_have_is_waited_for() -> None:
    busy = {REQUESTS: 100.0, TRIP: 20.0, EXECUTION: 100.0}
    assert only(run(Ticks(), busy, busy)).advice == "wait"


@pytest.mark.parametrize("reason", ["maintenance", "held", "silent"])
def test_nothing_is_reported_of_what_is_not_evaluated(reason: str) -> None:
    ticks = Ticks(held=reason == "held")
    ticks.maintenance = {2} if reason == "maintenance" else set()
    ticks.silent = {2} if reason == "silent" else set()
    assert run(ticks, {RUNNABLE: 0.0}, {RUNNABLE: 40.0}, 4) == []


class Storage:
    """Four nodes that save now and then: seconds that each request waits."""

    def __init__(self) -> None:
        self.ticks, self.host = Ticks(), Host(TABLE)
        self.ticks.started(self.host)

    def run(self, count: int, *wait_s: float) -> list[Evidence]:
        requests, found = np.full(4, 100.0), []
        waits = np.array(wait_s if len(wait_s) == 4 else wait_s * 4)
        node = {REQUESTS: requests, TRIP: requests * 0.12, EXECUTION: requests * waits}
        for _ in range(count):
            found = self.host.evidence(self.ticks.after(node=node, node_median=node))
        return found


def test_saves_that_wait_as_they_always_did_say_nothing() -> None:
    storage = Storage()
    storage.run(42, 1.6)
    assert storage.run(10, 1.7) == []


def test_a_stall_is_shared_and_shows_through_a_change_of_phase() -> None:
    storage = Storage()
    storage.run(42, 1.6)
    storage.ticks.held = True
    assert storage.run(1, 15.0) == []
    found = only(storage.run(1, 15.0), "nfs_queue")
    assert (found.rows.tolist(), found.advice, found.score.min()) == ([0, 1, 2, 3], "wait", 8.0)


def test_a_stall_of_hours_does_not_become_usual() -> None:
    storage = Storage()
    storage.run(42, 1.6)
    assert only(storage.run(480, 15.0), "nfs_queue").score.min() == 8.0


def test_a_node_whose_storage_alone_stalls_only_confirms() -> None:
    storage = Storage()
    storage.run(42, 1.6)
    found = only(storage.run(2, 1.6, 1.6, 15.0, 1.6), "nfs_queue")
    assert (found.rows.tolist(), found.advice, found.score.tolist()) == ([2], "", [6.0])


@pytest.mark.parametrize(("before_s", "after_s"), [(1.6, 3.9), (0.2, 3.1)])
def test_a_stall_is_long_and_longer_than_ever(before_s: float, after_s: float) -> None:
    storage = Storage()
    storage.run(42, before_s)
    assert all(item.score.max() < 8.0 for item in storage.run(10, after_s))


def test_the_first_requests_have_nothing_to_be_compared_with() -> None:
    storage = Storage()
    storage.run(20, 1.6)
    assert all(item.score.max() < 8.0 for item in storage.run(10, 15.0))
