"""Nodes that stopped answering together are shown as one outage."""

from collections.abc import Sequence
from datetime import datetime

import pytest

from accelwatch.fleet.outages import (
    NodeHealth,
    largest_outages,
    outage_text,
    outages,
    since_and_why,
)
from support.dashboards.fleets import fleet_document
from support.machines.composed import NOW

REFUSED = "cannot connect: Connection refused"
LATE = "no answer in time"
WHOLE = "check the hub's network or the agents' roll-out first"


def out(
    count: int, age_s: float | None = 20.0, why: str = REFUSED, state: str = "down", first: int = 1
) -> list[NodeHealth]:
    return [NodeHealth(f"n{first + at:03d}", state, age_s, why) for at in range(count)]


def clock(age_s: float) -> str:
    return datetime.fromtimestamp(NOW - age_s).astimezone().strftime("%H:%M:%S")


def text(nodes: Sequence[NodeHealth], total: int) -> list[str]:
    return [outage_text(one, NOW) for one in largest_outages(nodes, total, NOW)]


def test_a_whole_fleet_that_falls_silent_is_one_sentence() -> None:
    nodes = [*out(798, 20.0), *out(2, 18.0, LATE, first=799)]
    (found,) = outages(nodes, 800, NOW)
    assert outage_text(found.outage, NOW) == (
        f"all 800 nodes unreachable since {clock(20)}, 798 of them connection refused,"
        " 2 no answer in time"
    )
    assert found.outage.what_to_do == WHOLE
    assert found.nodes == tuple(one.node for one in nodes)


def test_one_cause_of_all_is_shown_without_a_count() -> None:
    assert text(out(3), 9) == [f"3 of 9 nodes unreachable since {clock(20)}: connection refused"]


def test_where_no_cause_is_known_none_is_shown() -> None:
    assert text(out(3, why=""), 9) == [f"3 of 9 nodes unreachable since {clock(20)}"]


@pytest.mark.parametrize(("count", "found"), [(2, 0), (3, 1)])
def test_two_nodes_are_two_failures(count: int, found: int) -> None:
    assert len(outages(out(count), 100, NOW)) == found


@pytest.mark.parametrize(("gap_s", "found"), [(30.0, [6]), (31.0, [3, 3])])
def test_nodes_that_stopped_at_other_times_are_another_outage(
    gap_s: float, found: list[int]
) -> None:
    nodes = [*out(3, 20.0), *out(3, 20.0 + gap_s, first=4)]
    assert [one.outage.nodes for one in outages(nodes, 100, NOW)] == found


def test_nodes_read_in_turn_stop_one_after_the_other() -> None:
    """Polled every minute, 60 nodes answered last at as many moments."""
    nodes = [one for at in range(60) for one in out(1, 20.0 + at, first=at)]
    (found,) = outages(nodes, 60, NOW)
    assert outage_text(found.outage, NOW).startswith(f"all 60 nodes unreachable since {clock(79)}")


@pytest.mark.parametrize(("apart_s", "found"), [(25.0, 0), (10.0, 0), (5.0, 0), (1.8, 1)])
def test_nodes_that_stop_one_by_one_for_long_do_not_stop_together(
    apart_s: float, found: int
) -> None:
    nodes = [one for at in range(100) for one in out(1, 20.0 + at * apart_s, first=at)]
    assert [one.outage.nodes for one in outages(nodes, 100, NOW)] == [100] * found


@pytest.mark.parametrize("first_s", [900.0, 20.0])
def test_many_that_stop_at_once_are_an_outage_among_those_that_stop_one_by_one(
    first_s: float,
) -> None:
    one_by_one = [one for at in range(30) for one in out(1, 80.0 + at * 25.0, first=at)]
    nodes = [*one_by_one, *out(50, first_s, first=100)]
    (found,) = outages(nodes, 80, NOW)
    assert found.outage.nodes >= 50
    assert found.outage.nodes - 50 <= 1


def test_a_roll_out_over_ten_minutes_is_outages_of_three() -> None:
    nodes = [one for at in range(601) for one in out(1, 20.0 + at, first=at)]
    found = outages(nodes, 601, NOW)
    assert [one.outage.nodes for one in found] == [181, 181, 181, 58]
    assert clock(620) in outage_text(found[0].outage, NOW)


def test_nodes_that_never_answered_are_an_outage_of_their_own() -> None:
    nodes = [*out(4, None, state="never"), *out(3, first=5)]
    assert text(nodes, 9) == [
        "4 of 9 nodes have never answered: connection refused",
        f"3 of 9 nodes unreachable since {clock(20)}: connection refused",
    ]


@pytest.mark.parametrize(
    ("state", "why", "found"),
    [
        ("down", "", 1),
        ("stale", "", 0),
        ("stale", REFUSED, 1),
        ("never", "", 0),
        ("never", REFUSED, 1),
        ("slow", REFUSED, 0),
        ("up", REFUSED, 0),
    ],
)
def test_a_hub_that_has_just_started_has_no_outage(state: str, why: str, found: int) -> None:
    """It knows its nodes before it has asked them: these are stale or never, and nothing failed."""
    assert len(outages(out(5, why=why, state=state), 5, NOW)) == found


@pytest.mark.parametrize(
    ("count", "age_s", "what"),
    [
        (50, 20.0, WHOLE),
        (49, 20.0, "check what they share first: rack, switch, power, the agents' roll-out"),
        (49, None, "start their agents, or take them out of the targets"),
        (50, None, WHOLE),
    ],
)
def test_what_to_look_at_goes_by_how_many_there_are(
    count: int, age_s: float | None, what: str
) -> None:
    nodes = out(count, age_s, state="never" if age_s is None else "down")
    assert outages(nodes, 100, NOW)[0].outage.what_to_do == what


def test_an_outage_of_another_day_is_shown_with_its_date() -> None:
    (found,) = largest_outages(out(3, 90_000.0), 3, NOW)
    day = datetime.fromtimestamp(NOW - 90_000).astimezone().strftime("%Y-%m-%d %H:%M")
    assert since_and_why(found, NOW) == f"not answered since {day}: connection refused"


def test_only_the_largest_are_shown() -> None:
    nodes = [one for at in range(20) for one in out(3 + at, 60.0 * (at + 1), first=100 * at)]
    found = largest_outages(nodes, 2000, NOW)
    assert [one.nodes for one in found] == list(range(22, 14, -1))


def test_a_document_lists_outages_before_the_problems_of_the_hub() -> None:
    found = largest_outages(out(3), 3, NOW)
    sums = fleet_document(problems=("dns: no answer",), outages=found)
    assert sums.troubles == (
        f"all 3 nodes unreachable since {clock(20)}: connection refused; {WHOLE}",
        "dns: no answer",
    )
