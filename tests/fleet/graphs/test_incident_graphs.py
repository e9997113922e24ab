"""The graphs of an incident: what is drawn of it, over which time, and what is said where nothing is."""

import pytest

from accelwatch.alerting.rules.document import Scope
from accelwatch.alerting.rules.verdict import Entity, Evidence
from accelwatch.fleet.graphs.peers import MOST_PEERS
from accelwatch.schema.timestamps import unix_seconds
from support.fleet.job_fleet import POWER, JobFleet, device_id
from support.machines import composed as machines

PEERS = {("b", 0): 300.0, ("c", 0): 400.0, ("d", 0): 500.0}


def fleet_of_four(interval_s: float = 1.0) -> JobFleet:
    return JobFleet("abcd", jobs=dict.fromkeys("abcd", "7"), interval_s=interval_s)


def test_the_line_of_the_device_and_the_quartiles_of_its_peers() -> None:
    fleet = fleet_of_four()
    fleet.draw({("a", 0): 400.0, **PEERS}, steps=30)
    fleet.draw({("a", 0): 200.0, **PEERS}, steps=10)
    drawn = fleet.graphs(fleet.incident())
    (graph,) = drawn.main
    assert (graph.name, graph.unit, graph.rate, graph.peers) == ("power_watts", "watts", False, 3)
    assert drawn.line == "a nvidia0"
    assert drawn.band == "other devices of job 7 and model NVIDIA H100 80GB HBM3"
    # The open step has started, and nothing was reported in it.
    assert graph.values[-12:] == (400.0, *[200.0] * 10, None)
    assert graph.lower_quartile[-12:] == (*[350.0] * 11, None)
    assert graph.median[-12:] == (*[400.0] * 11, None)
    assert graph.upper_quartile[-12:] == (*[450.0] * 11, None)
    assert len({len(line) for line in (graph.values, graph.median, graph.lower_quartile)}) == 1
    assert unix_seconds(drawn.end) == fleet.clock.wall() + drawn.step_s
    assert drawn.notes == ()


def test_missing_samples_of_the_device_are_a_gap_beside_a_whole_band() -> None:
    fleet = fleet_of_four()
    fleet.draw({("a", 0): 400.0, **PEERS}, steps=30)
    fleet.draw({("a", 0): None, **PEERS}, steps=5)
    fleet.draw({("a", 0): 400.0, **PEERS}, steps=2)
    (graph,) = fleet.graphs(fleet.incident()).main
    assert graph.values[-9:-1] == (400.0, *[None] * 5, 400.0, 400.0)
    assert graph.median[-9:-1] == (400.0,) * 8


def test_missing_samples_of_all_peers_are_a_gap_of_the_band() -> None:
    fleet = fleet_of_four()
    fleet.draw({("a", 0): 400.0, **PEERS}, steps=30)
    fleet.draw({("a", 0): 400.0}, steps=3)
    (graph,) = fleet.graphs(fleet.incident()).main
    assert graph.values[-5:-1] == (400.0,) * 4
    assert graph.median[-5:-1] == (400.0, None, None, None)


def test_of_a_node_the_median_of_its_devices_is_drawn() -> None:
    fleet = JobFleet("ab", jobs=dict.fromkeys("ab", "7"))
    watts = {("a", 0): 100.0, ("a", 1): 200.0, ("a", 2): 600.0, ("b", 0): 500.0}
    fleet.draw(watts, steps=30)
    drawn = fleet.graphs(fleet.incident(index=None))
    (graph,) = drawn.main
    assert drawn.line == "the median of the 3 devices of a"
    assert graph.values[-3:-1] == (200.0, 200.0)
    assert graph.median[-3:-1] == (500.0, 500.0)


def test_one_device_alone_has_a_line_and_no_band() -> None:
    fleet = JobFleet("a")
    fleet.draw({("a", 0): 400.0}, steps=30)
    drawn = fleet.graphs(fleet.incident())
    (graph,) = drawn.main
    assert (graph.peers, drawn.band) == (0, "")
    assert set(graph.median) == {None}
    assert graph.values[-2] == 400.0


def test_at_most_three_are_drawn_in_the_order_of_the_evidence() -> None:
    fleet = fleet_of_four()
    fleet.draw({("a", 0): 400.0, **PEERS}, steps=30)
    signals = ("memory_used_bytes", "temperature_celsius", "power_watts", "utilization_ratio")
    drawn = fleet.graphs(fleet.incident(signals=signals))
    names = [graph.name for graph in drawn.main]
    assert names == ["memory_used_bytes", "temperature_celsius.gpu", "power_watts"]


def test_beside_the_evidence_there_is_what_shows_the_work() -> None:
    fleet = fleet_of_four()
    fleet.draw({("a", 0): 400.0, **PEERS}, steps=30)
    drawn = fleet.graphs(fleet.incident())
    assert [(graph.name, graph.evidence) for graph in drawn.graphs] == [
        ("power_watts", True),
        ("temperature_celsius.gpu", False),
        ("utilization_ratio", False),
    ]
    assert len({len(graph.values) for graph in drawn.graphs}) == 1


def test_a_part_of_a_rule_names_its_series() -> None:
    fleet = fleet_of_four()
    fleet.draw({("a", 0): 400.0, **PEERS}, steps=30)
    drawn = fleet.graphs(fleet.incident(signals=('avg(power_watts, "5m") < 0.6 * x',)))
    assert [graph.name for graph in drawn.main] == ["power_watts"]


def test_of_an_event_power_and_temperature_are_drawn() -> None:
    fleet = fleet_of_four()
    fleet.draw({("a", 0): 400.0, **PEERS}, steps=30)
    drawn = fleet.graphs(fleet.incident(signals=("nvidia_xid_79",)))
    assert not any(graph.evidence for graph in drawn.graphs)
    assert [graph.name for graph in drawn.main] == ["power_watts", "temperature_celsius.gpu"]
    assert drawn.notes == ()


def test_of_what_no_history_is_kept_it_says_so() -> None:
    fleet = fleet_of_four()
    fleet.draw({("a", 0): 400.0, **PEERS}, steps=30)
    signals = ("power_watts", "clock_hertz.sm", "host_memory_available_bytes")
    drawn = fleet.graphs(fleet.incident(signals=signals))
    assert [graph.name for graph in drawn.main] == ["power_watts"]
    assert drawn.notes == (
        "no history of clock_hertz.sm is kept on this hub",
        "no history of host_memory_available_bytes is kept on this hub",
    )


def test_it_says_what_the_device_has_not_reported() -> None:
    fleet = fleet_of_four()
    fleet.draw({("a", 0): None, **PEERS}, steps=30)
    drawn = fleet.graphs(fleet.incident())
    assert [graph.name for graph in drawn.main] == [
        "temperature_celsius.gpu",
        "utilization_ratio",
    ]
    assert drawn.notes == ("no graph of power_watts: a nvidia0 reported none in the last 15 min",)


def test_a_series_that_rules_have_windows_over_is_drawn_as_far_as_they_reach() -> None:
    fleet = fleet_of_four()
    fleet.fleet.table.windows.request(("clock_hertz", "sm"), 120, "avg")
    for step in range(40):
        watts = {("a", 0): 1.0e9 if step >= 30 else 2.0e9, **dict.fromkeys(PEERS, 2.0e9)}
        fleet.report({key: {("clock_hertz", "sm"): hertz} for key, hertz in watts.items()})
        fleet.fleet.table.refresh(
            fleet.fleet.nodes.values(), fleet.fleet.table.windows.series, fleet.clock.monotonic()
        )
        fleet.fleet.table.sample(fleet.clock.monotonic(), fleet.fleet.groups.jobs())
        fleet.clock.advance(10.0)
    (graph,) = fleet.graphs(fleet.incident(signals=("clock_hertz.sm",))).main
    assert graph.peers == 3
    assert graph.values[-3:] == (1.0e9,) * 3
    assert graph.median[-3:] == (2.0e9,) * 3
    assert graph.values[0] is None


def test_the_graph_starts_minutes_before_the_incident() -> None:
    fleet = fleet_of_four()
    fleet.draw({("a", 0): 400.0, **PEERS}, steps=90)
    drawn = fleet.graphs(fleet.incident(ago_s=60.0))
    started = unix_seconds(drawn.since)
    start = unix_seconds(drawn.end) - drawn.step_s * len(drawn.main[0].values)
    assert 600.0 <= started - start <= 610.0


@pytest.mark.parametrize(
    ("source", "ago_s"), [("detector", 200.0), ("detector:peer", 200.0), ("kmsg", 60.0)]
)
def test_the_start_is_as_the_detector_dates_it(source: str, ago_s: float) -> None:
    fleet = fleet_of_four()
    fleet.draw({("a", 0): 400.0, **PEERS}, steps=90)
    now = fleet.clock.wall()
    since = Evidence(signal="power_watts", text="x", since=now - 200.0, source=source)
    later = Evidence(signal="power_watts", text="y", since=now - 10.0, source=source)
    drawn = fleet.graphs(fleet.incident(ago_s=60.0, evidence=(since, later)))
    assert now - unix_seconds(drawn.since) == pytest.approx(ago_s, abs=0.01)
    start = unix_seconds(drawn.end) - drawn.step_s * len(drawn.main[0].values)
    assert 600.0 <= unix_seconds(drawn.since) - start <= 610.0


def test_what_started_before_all_that_is_kept_is_labelled() -> None:
    fleet = fleet_of_four()
    fleet.draw({("a", 0): 400.0, **PEERS}, steps=95)
    drawn = fleet.graphs(fleet.incident(ago_s=7200.0))
    assert len(drawn.main[0].values) == 90
    assert drawn.notes == ("it began 2 h ago, before these graphs",)


def test_of_one_that_is_over_the_picture_ends_where_it_ended() -> None:
    fleet = fleet_of_four()
    fleet.draw({("a", 0): 200.0, **PEERS}, steps=60)
    closed = fleet.clock.wall()
    fleet.draw({("a", 0): 400.0, **PEERS}, steps=10)
    drawn = fleet.graphs(fleet.incident(ago_s=200.0, closed=closed))
    assert 0.0 <= unix_seconds(drawn.end) - closed < drawn.step_s
    assert 400.0 not in drawn.main[0].values


def test_of_one_that_was_over_long_ago_nothing_is_left() -> None:
    fleet = fleet_of_four()
    fleet.draw({("a", 0): 400.0, **PEERS}, steps=90)
    closed = fleet.clock.wall() - 3600.0
    drawn = fleet.graphs(fleet.incident(ago_s=7200.0, closed=closed))
    assert drawn.graphs == ()
    assert drawn.notes == (
        "no graph: it was over before the last 15 min, of which this hub keeps history",
    )


def test_a_lost_device_is_a_gap_with_its_state() -> None:
    fleet = fleet_of_four()
    fleet.draw({("a", 0): 400.0, **PEERS}, steps=30)
    for _ in range(4):
        lost = machines.lost_view(0)
        fleet.fleet.read(fleet.keys["a"], [lost], fleet.clock.wall(), 1.0)
        fleet.draw(PEERS)
    (graph,) = fleet.graphs(fleet.incident()).main
    assert graph.absent == "lost"
    assert graph.values[-5:] == (None,) * 5
    assert graph.values[-6] == 400.0


def test_who_is_polled_every_half_minute_has_a_line_without_holes() -> None:
    fleet = fleet_of_four(interval_s=30.0)
    fleet.draw({("a", 0): 400.0, **PEERS}, steps=30, every_s=30.0)
    drawn = fleet.graphs(fleet.incident())
    (graph,) = drawn.main
    assert drawn.step_s == 40.0
    assert set(graph.values) == {400.0}
    assert set(graph.median) == {400.0}


@pytest.mark.parametrize(
    ("entity", "note"),
    [
        (Entity(scope=Scope.JOB, job="7"), "history is kept of devices, and this is about a job"),
        (
            Entity(scope=Scope.DEVICE, group="rack=r7"),
            "history is kept of devices, and this is about a group",
        ),
        (
            Entity(scope=Scope.DEVICE, node="z", device="x"),
            "this hub knows no device of z, or not this one",
        ),
    ],
)
def test_of_what_is_no_device_nothing_is_drawn(entity: Entity, note: str) -> None:
    fleet = fleet_of_four()
    fleet.draw({("a", 0): 400.0}, steps=3)
    drawn = fleet.graphs(fleet.incident(entity=entity))
    assert drawn.graphs == ()
    assert drawn.notes == (f"no graph: {note}",)


def test_a_device_of_a_thousand_nodes_is_beside_some_of_them() -> None:
    names = [f"n{number}" for number in range(MOST_PEERS + 200)]
    fleet = JobFleet(names, jobs=dict.fromkeys(names, "7"))
    fleet.report({(name, 0): {POWER: float(at)} for at, name in enumerate(names)})
    drawn = fleet.graphs(fleet.incident("n0"))
    (graph,) = drawn.main
    assert graph.peers == MOST_PEERS
    chosen = f"other devices, evenly chosen of {len(names) - 1}, of job 7 "
    assert drawn.band.startswith(chosen)
    assert graph.median[-1] == pytest.approx(len(names) / 2, rel=0.01)
    assert device_id() in fleet.fleet.nodes["n0"].devices
