"""Which incidents are listed, in which order, by which filter; and what each is called."""

import msgspec
import pytest

from accelwatch.alerting.rules.verdict import Evidence
from accelwatch.base.errors import ExpressionError
from accelwatch.fleet.picture.incidents import entity_of, listed, location_of, seconds_of
from accelwatch.fleet.wire import IncidentNow
from accelwatch.tui.incidents.filters import incident_filter, labels_of
from accelwatch.tui.state.board import Board
from accelwatch.tui.theme.appearance import Appearance
from accelwatch.tui.theme.preferences import Preferences
from accelwatch.tui.views.graphs.incident_graphs import (
    IncidentHistory,
    drawable,
    incident_strip,
    reasons,
)
from support.incidents.incident_documents import (
    everything,
    graphs,
    hint,
    incident_now,
    job,
    lost,
    low_power,
    muted,
    over,
    past,
    storm,
)
from support.incidents.incident_samples import incident


def title(found: IncidentNow) -> str:
    """That of the graphs of an incident."""
    board = Board(Preferences(), Appearance())
    strip = incident_strip(board, found.incident, IncidentHistory(graphs=graphs()), 120, 10)
    return "".join(text for text, _ in strip[0])


def test_graphs_of_an_incident_that_is_over_say_until_when() -> None:
    closed = msgspec.structs.replace(low_power().incident, closed=over().incident.closed)
    assert "last 15 min" in title(low_power())
    text = title(msgspec.structs.replace(low_power(), incident=closed))
    assert "15 min until 08:00" in text
    assert "last" not in text


def ids(*, sort: str = "worst", descending: bool = True, text: str = "") -> list[str]:
    """Ids of the incidents that are listed."""
    known = everything()
    keeps = incident_filter(text, labels_of(current.incident for current in known))
    rows = listed(known, keeps=keeps, sort=sort, descending=descending)
    return [row.incident.id for row in rows]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("", ["i1", "i30", "i6", "i7", "i5", "i4", "i3"]),
        ("muted", ["i4"]),
        ("ADA", ["i1", "i7"]),
        ("n026", ["i30"]),
        ('severity == "info"', ["i5"]),
        ('severity == "critical" and state == "open"', ["i1", "i4"]),
        ('node == "n002" and device == "nvidia3"', ["i7"]),
        ('job == "48103"', ["i6"]),
        ('user == "ada" and pool == "train"', ["i1", "i7"]),
        ('matches(rule, "^storage") and group == ""', ["i25", "i26", "i27", "i28"]),
    ],
)
def test_a_text_or_a_condition_keeps(text: str, kept: list[str]) -> None:
    assert ids(text=text) == kept


@pytest.mark.parametrize("text", ['severity == "loud"', "severty == 1", "pond == 'x'"])
def test_a_condition_with_a_mistake_is_refused(text: str) -> None:
    with pytest.raises(ExpressionError):
        incident_filter(text, ())


@pytest.mark.parametrize(
    ("sort", "descending", "first", "last"),
    [
        ("newest", True, "i30", "i4"),
        ("newest", False, "i4", "i30"),
        ("where", False, "i6", "i30"),
        ("where", True, "i30", "i6"),
        ("title", False, "i5", "i30"),
        ("rule", False, "i6", "i30"),
        ("job", False, "i1", "i4"),
        ("job", True, "i6", "i4"),
        ("worst", False, "i3", "i1"),
    ],
)
def test_what_has_no_name_comes_last_either_way(
    sort: str, descending: bool, first: str, last: str
) -> None:
    order = ids(sort=sort, descending=descending)
    assert (order[0], order[-1]) == (first, last)


def test_without_those_that_are_over() -> None:
    rows = listed([over(), lost()], over=False)
    assert [row.incident.id for row in rows] == ["i1"]


@pytest.mark.parametrize(
    ("current", "location", "entity"),
    [
        (low_power(), "n002 nvidia3", "n002/nvidia3"),
        (job(), "job 48103: n005, n006", "job:48103"),
        (storm()[0], "n025", "n025"),
        (storm()[-1], "rack=r04: n025, n026, n027, n028", ""),
        (muted(), "n009 nvidia0", "n009/nvidia0"),
    ],
)
def test_what_it_is_called_and_how_the_hub_finds_it(
    current: IncidentNow, location: str, entity: str
) -> None:
    assert location_of(current.incident) == location
    assert entity_of(current.incident) == entity


def test_a_rack_is_called_by_its_name() -> None:
    rack = msgspec.structs.replace(job().incident, scope="rack", rack="r7", job="", nodes=())
    assert (location_of(rack), entity_of(rack)) == ("rack r7", "rack:r7")


def test_growth_of_a_counter_is_drawn_and_what_is_not_kept_is_named() -> None:
    incident = low_power().incident
    throttled = "throttle_active.thermal_hardware"
    known = IncidentHistory(was_requested=True, device=past())
    assert drawable(incident, known) == ["power_watts", "utilization_ratio"]
    whys = [why.partition(":")[0] for why in reasons(incident, known)]
    assert whys == [f"no graph of {throttled}"]
    growing = msgspec.structs.replace(past(), growth={throttled: [None] * 80 + [0.2] * 10})
    known = IncidentHistory(was_requested=True, device=growing)
    assert drawable(incident, known)[1] == throttled
    assert reasons(incident, known) == []


def test_beside_peers_the_hub_says_what_is_not_drawn() -> None:
    incident = low_power().incident
    compared = IncidentHistory(was_requested=True, graphs=graphs())
    assert drawable(incident, compared) == ["power_watts", "utilization_ratio"]
    note = "no history of throttle_active.thermal_hardware is kept on this hub"
    assert reasons(incident, compared) == [note]
    lost_graphs = msgspec.structs.replace(graphs(), notes=())
    compared = IncidentHistory(was_requested=True, graphs=lost_graphs)
    assert reasons(lost().incident, compared) == ["no graph of device_up: not a number"]


def test_the_sentence_of_a_finding_needs_no_graph() -> None:
    sentence = Evidence(signal="detector", text="n002 differs", source="detector")
    channel = Evidence(signal="thermal", text="thermal", source="detector:prior")
    current = incident_now(incident(1, evidence=(sentence, channel)))
    compared = IncidentHistory(
        was_requested=True, graphs=msgspec.structs.replace(graphs(), notes=())
    )
    assert reasons(current.incident, compared) == []
    alone = incident_now(incident(1, evidence=(msgspec.structs.replace(channel, source=""),)))
    assert reasons(alone.incident, compared) == ["no graph of thermal: not a number"]


def test_a_text_is_not_drawn_and_the_page_says_so() -> None:
    known = IncidentHistory(was_requested=True, device=past())
    (why,) = reasons(lost().incident, known)
    assert why == "no graph of device_up: not a number"


def test_what_started_before_the_graphs_is_named() -> None:
    known = IncidentHistory(was_requested=True, device=past())
    assert "began before the last 15 min" in reasons(muted().incident, known)[-1]


def test_a_time_that_makes_no_sense_is_none() -> None:
    assert seconds_of("noon") == seconds_of(None) == 0.0
    assert seconds_of(hint().incident.since) > 1e9


def test_what_follows_stands_below_what_leads_its_cause_also_where_that_is_in_a_group() -> None:
    *members, group = storm()
    first = members[0].incident.id

    def following(current: IncidentNow, leader: str) -> IncidentNow:
        return msgspec.structs.replace(
            current, incident=msgspec.structs.replace(current.incident, follows=leader)
        )

    known = [lost(), following(low_power(), "i1"), group, *members, following(hint(), first)]
    rows = listed(known)
    assert [(row.incident.id, row.members) for row in rows] == [
        ("i1", 1),
        (group.incident.id, len(members) + 1),
    ]
    shown = listed(known, unfolded=["i1"])
    assert [(row.incident.id, row.member) for row in shown[:2]] == [("i1", False), ("i7", True)]
    alone = [row.incident.id for row in listed([following(low_power(), "i1")])]
    assert alone == ["i7"]
