"""The time line of a recorded fleet as it is drawn."""

import time
from collections.abc import Iterator

import msgspec
import pytest

from accelwatch.fleet.picture.timeline import (
    ALERT,
    INFO,
    WATCH,
    Marker,
    Playback,
    Stretch,
    Timeline,
)
from accelwatch.tui.drawing.glyphs import ASCII, UNICODE
from accelwatch.tui.drawing.lines import plain, width_of
from accelwatch.tui.views.time_line import (
    axis,
    band,
    banner,
    cell_of,
    open_at,
    situation,
    time_at_cell,
    with_position,
)

START = 1_772_323_200.0
DAY = 86_400.0
LINE = Timeline(start=START, end=START + 10 * DAY)


@pytest.fixture(autouse=True)
def _zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "CET-1")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def line(**changes: object) -> Timeline:
    return msgspec.structs.replace(LINE, **changes)


def drawn(timeline: Timeline, width: int = 10) -> str:
    return "".join(sign for sign, _ in band(timeline, width, UNICODE))


def mark(day: float, closed: float | None, level: str = ALERT, rule: str = "lost") -> Marker:
    end = None if closed is None else START + closed * DAY
    return Marker(opened=START + day * DAY, closed=end, level=level, node="n1", rule=rule)


def test_an_empty_span_is_a_rule() -> None:
    assert drawn(LINE) == "──────────"
    assert drawn(line(end=START), 4) == "────"


def test_events_are_as_high_as_there_are_many() -> None:
    counts = [0] * 100
    counts[5], counts[55], counts[56] = 1, 8, 3
    assert drawn(line(events=counts)) == "▂────█────"


def test_a_single_spike_keeps_its_height_however_narrow_the_line() -> None:
    counts = [0] * 4096
    counts[2000] = 7
    assert drawn(line(events=counts), 40).count("█") == 1


def test_incidents_have_the_sign_of_their_level_and_a_stroke_while_they_are_open() -> None:
    marks = [mark(1.5, 3.5), mark(5.5, 5.6, WATCH), mark(8.5, None, WATCH)]
    assert drawn(line(incidents=marks)) == "─✕━━─▲──▲━"
    roles = [role for _, role in band(line(incidents=marks), 10, UNICODE)]
    assert (roles[1], roles[3], roles[5]) == ("bad", "bad", "warn")


def test_an_alert_goes_before_what_is_worth_a_look() -> None:
    marks = [mark(2.1, 2.2, ALERT), mark(2.3, 2.4, WATCH)]
    assert drawn(line(incidents=marks)) == "──✕───────"


def test_an_incident_that_was_opened_before_the_span_has_its_stroke_only() -> None:
    assert drawn(line(incidents=[mark(-1, 1.5)])) == "━━────────"
    assert drawn(line(incidents=[mark(-2, -1)])) == "──────────"
    assert drawn(line(incidents=[mark(11, 12)])) == "──────────"


def test_maintenance_and_silence_are_distinguished() -> None:
    windows = [Stretch(start=START + DAY, end=START + 2.5 * DAY, node="n1")]
    silent = [Stretch(start=START + 4 * DAY, end=START + 4.5 * DAY)]
    assert drawn(line(maintenance=windows, silences=silent)) == "─≈≈─░─────"
    signs = band(line(maintenance=windows, silences=silent), 10, ASCII)
    assert "".join(sign for sign, _ in signs) == "-~~-.-----"


def test_the_position_is_marked_and_says_whether_it_has_the_keys() -> None:
    cells = band(LINE, 5, UNICODE)
    assert [role for _, role in with_position(cells, 2, focused=True)][2] == "cursor"
    assert [role for _, role in with_position(cells, 2, focused=False)][2] == "cursor_away"


@pytest.mark.parametrize(
    ("day", "shown"),
    [
        (0, "▲ 2026-03-01 01:00:00 CET                       2026-03-11 "),
        (5, " 2026-03-01                  ▲ 2026-03-06 01:00:00 CET     "),
        (10, " 2026-03-01                        2026-03-11 01:00:00 CET ▲"),
    ],
)
def test_the_time_stands_below_its_position_in_the_users_zone(day: float, shown: str) -> None:
    text = plain(axis(LINE, START + day * DAY, 59, UNICODE))
    assert len(text) == 59
    assert text.split() == shown.split()
    assert text.index("▲") == cell_of(LINE, START + day * DAY, 59)


@pytest.mark.parametrize("width", [5, 30, 80, 160])
@pytest.mark.parametrize("day", [0, 3.3, 9.99])
def test_every_line_has_the_width_it_is_given(width: int, day: float) -> None:
    timeline = line(incidents=[mark(1, None, rule="x" * 90)], note="looking")
    for glyphs in (UNICODE, ASCII):
        assert len(band(timeline, width, glyphs)) == width
        assert width_of(axis(timeline, START + day * DAY, width, glyphs)) == width
        assert width_of(situation(timeline, START + day * DAY, width, glyphs)) == width


def test_a_cell_and_the_time_where_it_starts_belong_together() -> None:
    for cell in range(80):
        assert cell_of(LINE, time_at_cell(LINE, cell, 80) + 0.01, 80) == cell


def shown(timeline: Timeline, day: float) -> str:
    return plain(situation(timeline, START + day * DAY, 120, UNICODE))


def test_what_is_open_is_named_alerts_first() -> None:
    marks = [mark(1, 3, ALERT), mark(2, 4, WATCH, "slow"), mark(2.5, 4, ALERT, "hung")]
    timeline = line(incidents=marks)
    assert "open: 3  ✕ hung n1  ✕ lost n1  ▲ slow n1" in shown(timeline, 2.7)
    assert "2 alerts, 1 to watch; none open" in shown(timeline, 5)
    assert "no incidents known" in shown(LINE, 1)
    assert [one.rule for one in open_at(marks, START + 3 * DAY)] == ["hung", "slow"]


def test_maintenance_silence_and_what_is_not_known_yet_are_shown() -> None:
    windows = [Stretch(start=START, end=START + DAY, text="fans")]
    silent = [Stretch(start=START, end=START + DAY)]
    text = shown(line(maintenance=windows, silences=silent, note="looking, 5%"), 0.5)
    assert "maintenance of all nodes: fans" in text
    assert "no data" in text
    assert text.endswith("looking, 5% ")
    assert "maintenance" not in shown(line(maintenance=windows), 1.5)


@pytest.mark.parametrize(
    ("playing", "ended", "text"),
    [(True, False, "▶ 60x"), (False, False, "■ stopped"), (True, True, "■ ended")],
)
def test_the_header_shows_how_it_plays(playing: bool, ended: bool, text: str) -> None:
    playback = Playback(time=START, playing=playing, is_finished=ended, speed=60.0)
    assert banner(playback, UNICODE) == f"{text} 2026-03-01 01:00:00 CET"
    looped = msgspec.structs.replace(playback, loop=True)
    assert ", loop" in banner(looped, ASCII)


def test_what_is_only_recorded_stands_behind_the_rest() -> None:
    marks = [mark(1, 3, INFO, "crash"), mark(1, 3, WATCH, "slow")]
    timeline = line(incidents=marks)
    assert "open: 2  ▲ slow n1  ▲ crash n1" in shown(timeline, 2)
    assert "0 alerts, 1 to watch, 1 only recorded; none open" in shown(timeline, 5)
    roles = dict(situation(timeline, START + 2 * DAY, 120, UNICODE))
    assert (roles["▲ slow n1  "], roles["▲ crash n1  "]) == ("warn", "dim")
    assert ("▲", "warn") in band(timeline, 80, UNICODE)
    assert ("▲", "dim") in band(line(incidents=marks[:1]), 80, UNICODE)
