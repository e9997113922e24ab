"""Incidents of a back-test as marks."""

import json
from pathlib import Path
from typing import Any

import pytest

from accelwatch.base.errors import UsageError
from accelwatch.fleet.picture.timeline import Marker, Reason
from accelwatch.fleet.replay.incident_notes import LATELY_S, incidents_at, rules_now
from accelwatch.fleet.replay.incidents import parse_marker, read_markers
from accelwatch.fleet.wire import MOST_OPEN

LINE: dict[str, Any] = {
    "opened": 1767225690.0,
    "closed": 1767227400.0,
    "level": "alert",
    "scope": "device",
    "node": "node017",
    "device": "nvidia:GPU-1",
    "job": "4711",
    "nodes": ["node017"],
    "rule": "device_lost",
    "channels": ["log"],
    "advice": "reboot",
    "explanation": [
        {"signal": "device_up", "value": 0, "expected": 1, "z": None, "since": 1767225660.0}
    ],
}


def line(**changes: Any) -> bytes:
    return json.dumps({**LINE, **changes}).encode()


def test_a_line_is_a_mark() -> None:
    assert parse_marker(line()) == Marker(
        opened=1767225690.0,
        closed=1767227400.0,
        level="alert",
        node="node017",
        device="nvidia:GPU-1",
        rule="device_lost",
        rules=("device_lost",),
        scope="device",
        job="4711",
        nodes=("node017",),
        advice="reboot",
        reasons=(Reason(signal="device_up", value=0, expected=1, since=1767225660.0),),
    )


def test_what_the_detector_reports_is_known_where_it_reports_something() -> None:
    assert parse_marker(line()).sentence == ""
    assert parse_marker(line(sentence=None)).sentence == ""
    sentence = "node017 draws 9 % less power than its 59 peers, since 03:12 UTC."
    assert parse_marker(line(sentence=sentence)).sentence == sentence


def test_what_does_not_apply_is_null() -> None:
    mark = parse_marker(
        line(closed=None, node=None, device=None, rule=None, scope="group", nodes=["a", "b"])
    )
    assert (mark.closed, mark.node, mark.device, mark.rule) == (None, "2 nodes", "", "group")
    assert parse_marker(line(node=None, nodes=["a"])).node == "a"


def test_a_file_is_ordered_by_when_incidents_were_opened(tmp_path: Path) -> None:
    path = tmp_path / "incidents.ndjson"
    path.write_bytes(line(opened=2.0) + b"\n\n" + line(opened=1.0, level="watch") + b"\n")
    assert [(mark.opened, mark.level) for mark in read_markers(path)] == [
        (1.0, "watch"),
        (2.0, "alert"),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"[]", "line 2: Expected `object`"),
        (b"\xff", "line 2: "),
        (line(level="panic"), "line 2: level is alert, watch or info, not 'panic'"),
        (b'{"level":"alert"}', "line 2: Object missing required field `opened`"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, text: bytes, message: str) -> None:
    path = tmp_path / "incidents.ndjson"
    path.write_bytes(line() + b"\n" + text)
    with pytest.raises(UsageError, match=r"incidents\.ndjson: line 2") as raised:
        read_markers(path)
    assert message in str(raised.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="none: cannot be read: No such file"):
        read_markers(tmp_path / "none")


def at(now: float, *lines: bytes) -> dict[str, tuple[str, str | None]]:
    """State and end of what is shown at a time, by rule."""
    incidents = incidents_at([parse_marker(one) for one in lines], now)
    return {one.incident.rule: (one.incident.state, one.incident.closed) for one in incidents}


def test_nothing_is_shown_before_it_was_known() -> None:
    started = line(opened=100.0, closed=200.0, rule="a")
    assert at(99.9, started) == {}
    assert at(100.0, started) == {"a": ("open", None)}
    assert at(199.9, started) == {"a": ("open", None)}
    assert at(200.0, started) == {"a": ("closed", "1970-01-01T00:03:20.000Z")}
    assert at(200.0 + LATELY_S + 1, started) == {}
    assert at(1e9, line(opened=100.0, closed=None, rule="b")) == {"b": ("open", None)}


def test_an_incident_as_the_incidents_screen_wants_it() -> None:
    [incidents] = incidents_at([parse_marker(line())], 1767225700.0)
    found = incidents.incident
    assert (found.severity, found.scope, found.node) == ("critical", "device", "node017")
    assert (found.device, found.device_name, found.vendor) == ("nvidia:GPU-1", "1", "nvidia")
    assert (found.jobs, found.advice, found.confidence) == (("4711",), "reboot", "")
    assert [note.text for note in found.evidence] == ["device_up is 0, 1 expected"]
    assert found.since == found.evidence[0].since == "2026-01-01T00:01:00.000Z"
    assert [note.kind for note in found.timeline] == ["opened"]


def test_a_group_is_no_node() -> None:
    many = parse_marker(
        line(scope="group", node=None, device=None, nodes=["a", "b"], level="watch")
    )
    [incidents] = incidents_at([many], 1767225700.0)
    assert (incidents.incident.group, incidents.incident.node, incidents.nodes_total) == (
        "2 nodes",
        "",
        2,
    )
    assert incidents.incident.severity == "warning"
    assert rules_now([incidents]).open == {"warning": 1}


@pytest.mark.parametrize(
    ("level", "severity"), [("alert", "critical"), ("watch", "warning"), ("info", "info")]
)
def test_each_level_has_its_severity(level: str, severity: str) -> None:
    [incidents] = incidents_at([parse_marker(line(level=level))], 1767225700.0)
    assert incidents.incident.severity == severity


def test_the_worst_and_the_latest_are_shown_where_there_are_too_many() -> None:
    lines = [line(opened=float(n), closed=None, level="watch", rule=f"r{n}") for n in range(1100)]
    lines.append(line(opened=1200.0, closed=None, rule="alert"))
    found = at(2000.0, *lines)
    assert len(found) == MOST_OPEN
    assert "alert" in found
