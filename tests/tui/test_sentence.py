"""What gives way first where there is no room for the whole sentence."""

import pytest

from accelwatch.schema.status.verdict import NOTHING_WRONG, Verdict
from accelwatch.tui.drawing.glyphs import ASCII, UNICODE
from accelwatch.tui.drawing.lines import plain, width_of
from accelwatch.tui.drawing.sentence import full_sentence, sentence
from support.dashboards.local import texts

LOST = Verdict(summary="fell off the bus", remedy="reboot node", evidence="NVML_ERROR_GPU_IS_LOST")
WHOLE = "18 s  fell off the bus → reboot node (NVML_ERROR_GPU_IS_LOST)"


def at(width: int) -> str:
    return plain(sentence(LOST, width, UNICODE, "bad", since="18 s")).rstrip()


def test_all_of_it_where_there_is_room() -> None:
    assert at(len(WHOLE)) == WHOLE
    assert sentence(LOST, 80, UNICODE, "bad", since="18 s") == [(WHOLE.ljust(80), "bad")]


def test_the_evidence_is_cut_first_then_the_remedy() -> None:
    assert at(50) == "18 s  fell off the bus → reboot node (NVML_ERROR_…"
    assert at(40) == "18 s  fell off the bus → reboot node"
    assert at(36) == "18 s  fell off the bus → reboot node"
    assert at(25) == "18 s  fell off the bus"


def test_since_when_gives_way_before_what_to_do_is_cut_where_that_is_enough() -> None:
    assert at(35) == "fell off the bus → reboot node"
    assert at(30) == "fell off the bus → reboot node"
    assert at(29) == "18 s  fell off the bus"


def test_since_when_gives_way_before_the_verdict() -> None:
    assert at(20) == "fell off the bus"
    shown = plain(sentence(LOST, 22, UNICODE, "bad", status="lost", since="18 s")).rstrip()
    assert shown == "lost  fell off the bus"


@pytest.mark.parametrize("width", range(1, 90))
def test_it_fills_the_width(width: int) -> None:
    assert width_of(sentence(LOST, width, UNICODE, "bad", since="18 s")) == width


def test_without_more_than_ascii() -> None:
    foreign = Verdict(summary="głuchy", remedy="reboot node")
    assert plain(sentence(foreign, 60, ASCII, "bad")).isascii()
    assert "-> reboot node" in plain(sentence(foreign, 60, ASCII, "bad"))


def test_all_of_it_on_several_lines() -> None:
    shown = texts(full_sentence(LOST, 30, UNICODE, "bad"))
    assert " ".join(shown.split()) == WHOLE.removeprefix("18 s  ")
    assert full_sentence(NOTHING_WRONG, 30, UNICODE, "bad") == []
