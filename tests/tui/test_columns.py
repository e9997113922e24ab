"""Columns give way by rank, grow by share or cell by cell, and their heading can be clicked."""

import pytest

from accelwatch.tui.drawing import columns
from accelwatch.tui.drawing.columns import GAP, Column, filled, fitting, needed, shared
from accelwatch.tui.drawing.glyphs import UNICODE

A = Column(title="A", cell="a", width=4, id="a")
B = Column(title="BEES", cell="b", width=6, id="b", rank=2, grow=1, sort="b")
C = Column(title="C", cell="c", width=8, id="c", rank=3, grow=2, most=9, sort="c")
SIGN = Column(title="", cell="b", width=1, id="b", sort="b")


@pytest.mark.parametrize(
    ("width", "ids"), [(22, "abc"), (21, "ab"), (12, "ab"), (11, "a"), (1, "a")]
)
def test_columns_of_a_high_rank_give_way_first_and_rank_one_stays(width: int, ids: str) -> None:
    assert "".join(column.id for column in fitting((A, B, C), width)) == ids


def test_a_sign_stands_for_a_column_that_gave_way() -> None:
    assert fitting((A, B, C), 12, SIGN) == [A, B]
    assert fitting((A, B, C), 11, SIGN) == [SIGN, A]


def test_what_is_left_is_shared_or_filled_up_to_a_limit() -> None:
    assert needed((A, B, C)) == 4 + 6 + 8 + 2 * GAP
    assert shared((A, B, C), 7) == [4, 8, 12]
    assert shared((A,), 7) == [4]
    assert filled((A, B, C), 7) == [4, 12, 9]
    assert filled((A,), 7) == [4]


def test_the_first_sorted_title_is_marked_and_a_title_gives_room_to_the_mark() -> None:
    columns_shown = [(SIGN, 1), (B, 4), (B, 4), (C, 3)]
    line = columns.heading(columns_shown, 30, UNICODE, sort="b", descending=False)
    assert [text for text, role in line if role == "sorted"] == [f"BEE{UNICODE.up}"]
    assert not [
        text for text, role in columns.heading(columns_shown, 30, UNICODE) if role == "sorted"
    ]


def test_a_click_finds_its_column() -> None:
    columns_shown = [(A, 4), (B, 6)]
    found = [columns.at(columns_shown, x) for x in (0, 6, 7, 14, 15)]
    assert found == [A, A, B, B, None]
