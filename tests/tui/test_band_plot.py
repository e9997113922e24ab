"""A line in front of a band: what is missing is blank, and every spike and fall is seen."""

import pytest

from accelwatch.tui.drawing.band_plot import BandPlot, band_rows
from accelwatch.tui.drawing.lines import Line, plain, width_of

KINDS = ("braille", "block", "ascii")
ROLES = ("line", "band")


def plot(*line: float | None, band: tuple[float, float] | None = None) -> BandPlot:
    """A line from 0 to 100, and a band that is everywhere the same."""
    lower, upper = (None, None) if band is None else band
    return BandPlot(line, (lower,) * len(line), (upper,) * len(line), 0.0, 100.0)


def drawn(what: BandPlot, width: int, height: int, kind: str = "ascii") -> list[str]:
    return [plain(line) for line in band_rows(what, width, height, kind, ROLES)]


def roles(lines: list[Line]) -> set[str]:
    """Roles of what is not blank."""
    return {role for line in lines for text, role in line if text.strip()}


def test_the_line_is_in_front_of_the_band() -> None:
    assert drawn(plot(*[50.0] * 4, band=(0.0, 50.0)), 4, 5) == [
        "    ",
        "    ",
        "****",
        "::::",
        "::::",
    ]


def test_a_line_outside_of_the_band_hides_nothing_of_it() -> None:
    rows = drawn(plot(*[0.0] * 3, band=(75.0, 100.0)), 3, 5)
    assert rows == [":::", ":::", "   ", "   ", "***"]


def test_a_gap_is_blank_and_no_line_goes_through_it() -> None:
    assert drawn(plot(0.0, None, None, 100.0), 4, 3) == ["   *", "    ", "*   "]


def test_a_gap_of_the_band_is_blank() -> None:
    what = BandPlot((0.0,) * 3, (50.0, None, 50.0), (100.0, None, 100.0), 0.0, 100.0)
    assert drawn(what, 3, 3) == [": :", ": :", "***"]


def test_a_fall_is_one_stroke() -> None:
    assert drawn(plot(100.0, 0.0), 2, 4) == ["* ", " *", " *", " *"]
    assert drawn(plot(0.0, 100.0), 2, 4) == [" *", " *", " *", "* "]


def test_a_spike_among_more_steps_than_columns_is_seen() -> None:
    values = [10.0] * 100
    values[37] = 100.0
    rows = drawn(plot(*values), 10, 6)
    assert rows[0] == "   *      "


def test_fewer_steps_than_columns_fill_several() -> None:
    assert drawn(plot(0.0, 100.0), 4, 2) == ["  **", "**  "]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [(1, 1), (7, 3), (40, 6)])
def test_it_has_exactly_its_size(kind: str, size: tuple[int, int]) -> None:
    width, height = size
    lines = band_rows(plot(5.0, None, 90.0, band=(20.0, 60.0)), width, height, kind, ROLES)
    assert [width_of(line) for line in lines] == [width] * height
    assert all(role in ROLES for line in lines for _, role in line)


@pytest.mark.parametrize("kind", KINDS)
def test_line_and_band_have_roles_of_their_own(kind: str) -> None:
    what = plot(*[5.0] * 8, band=(60.0, 100.0))
    assert roles(band_rows(what, 4, 4, kind, ROLES)) == {"line", "band"}
    assert roles(band_rows(plot(*[5.0] * 8), 4, 4, kind, ROLES)) == {"line"}


def test_ascii_draws_nothing_else() -> None:
    assert "".join(drawn(plot(5.0, 90.0, band=(20.0, 60.0)), 30, 6)).isascii()


@pytest.mark.parametrize("values", [(), (None,), (0.0,)])
@pytest.mark.parametrize("kind", KINDS)
def test_anything_can_be_drawn(values: tuple[float | None, ...], kind: str) -> None:
    flat = BandPlot(values, values, values, 0.0, 0.0)
    assert len(band_rows(flat, 5, 2, kind, ROLES)) == 2
    assert band_rows(flat, 0, 2, kind, ROLES) == band_rows(flat, 5, 0, kind, ROLES) == []
