"""Incidents of a back-test as marks."""

import json
from pathlib import Path
from typing import Any

import pytest

from accelwatch.errors import UsageError
from accelwatch.fleet.picture.timeline import Mark
from accelwatch.fleet.replay.incidents import mark_of, read_marks

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
    "explanation": [],
}


def line(**changes: Any) -> bytes:
    return json.dumps({**LINE, **changes}).encode()


def test_a_line_is_a_mark() -> None:
    assert mark_of(line()) == Mark(
        opened=1767225690.0,
        closed=1767227400.0,
        level="alert",
        node="node017",
        device="nvidia:GPU-1",
        rule="device_lost",
    )


def test_what_does_not_apply_is_null() -> None:
    mark = mark_of(
        line(closed=None, node=None, device=None, rule=None, scope="group", nodes=["a", "b"])
    )
    assert (mark.closed, mark.node, mark.device, mark.rule) == (None, "2 nodes", "", "group")
    assert mark_of(line(node=None, nodes=["a"])).node == "a"


def test_a_file_is_ordered_by_when_incidents_were_opened(tmp_path: Path) -> None:
    path = tmp_path / "incidents.ndjson"
    path.write_bytes(line(opened=2.0) + b"\n\n" + line(opened=1.0, level="watch") + b"\n")
    assert [(mark.opened, mark.level) for mark in read_marks(path)] == [
        (1.0, "watch"),
        (2.0, "alert"),
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"[]", "line 2: Expected `object`"),
        (b"\xff", "line 2: "),
        (line(level="panic"), "line 2: level is alert or watch, not 'panic'"),
        (b'{"level":"alert"}', "line 2: Object missing required field `opened`"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, text: bytes, says: str) -> None:
    path = tmp_path / "incidents.ndjson"
    path.write_bytes(line() + b"\n" + text)
    with pytest.raises(UsageError, match=r"incidents\.ndjson: line 2") as raised:
        read_marks(path)
    assert says in str(raised.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="none: cannot be read: No such file"):
        read_marks(tmp_path / "none")
