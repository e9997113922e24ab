"""Without colours every cell has the terminal's own two, on every screen and in every dialog."""

import asyncio

import pytest
from rich.color import Color

from accelwatch.tui.state.board import Board
from accelwatch.tui.theme.appearance import Appearance, appearance_for
from accelwatch.tui.theme.palettes import PALETTES, Palette
from accelwatch.tui.theme.preferences import Preferences
from accelwatch.tui.widgets.row_list import RowList
from support.dashboards.fleets import FAULTS, FedFleet, fleet_view, following
from support.dashboards.local import FedSource, Stage, board_of, hung, lost, node, running

KEYS: dict[str, tuple[str, ...]] = {
    "local": (),
    "a message": ("c",),
    "filter": ("slash", "x"),
    "dialog": ("4", "K"),
    "settings": ("f2",),
    "another theme": ("T",),
}


def coloured(stage: Stage) -> list[str]:
    """Texts with a colour of their own."""
    strips = stage.app.screen._compositor.render_strips()
    looks = [
        (segment.text, segment.style) for strip in strips for segment in strip if segment.style
    ]
    return [
        text
        for text, style in looks
        if any(color and not color.is_default for color in (style.color, style.bgcolor))
    ]


@pytest.mark.parametrize("environ", [{"NO_COLOR": "1"}, {"TERM": "vt100"}])
@pytest.mark.parametrize("name", KEYS)
def test_a_machine_is_shown_without_colours(
    name: str, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable, value in environ.items():
        monkeypatch.setenv(variable, value)
    looks = appearance_for(environ, utf8=True, ascii_only=False)

    async def go() -> None:
        source = FedSource(node(8, d3=lost(3), d5=hung(5)))
        async with running(source, (80, 24), board=Board(Preferences(), looks)) as stage:
            await stage.press(*KEYS[name])
            assert coloured(stage) == []
            assert "q quit" in stage.text() or name != "local"

    asyncio.run(go())


def test_a_fleet_is_shown_without_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")

    async def go() -> None:
        board = Board(Preferences(), Appearance(colourless=True))
        async with following(FedFleet(fleet_view(12, faults=FAULTS)), board=board) as stage:
            for key in ("E", "m", "s"):
                await stage.press(key)
                assert coloured(stage) == []

    asyncio.run(go())


def test_a_line_is_painted_anew_only_when_it_or_its_look_is_another() -> None:
    paint = board_of().paint
    before = paint.strip([("a", "text")], 5)
    assert paint.strip([("a", "text")], 5) is before
    assert paint.strip([("b", "text")], 5).text == "b    "
    assert paint.strip([("a", "text")], 6).cell_length == 6
    for other in (paint.strip([("a", "dim")], 5), paint.strip([("a", "text")], 5, "selected")):
        assert other.text == before.text
        assert other != before


@pytest.mark.parametrize("palette", [one for one in PALETTES.values() if one.name != "mono"])
def test_no_graph_has_the_colour_of_a_fault(palette: Palette) -> None:
    plots = {palette.roles[f"plot{number}"] for number in range(4)}
    assert len(plots) == 4
    assert not plots & {palette.roles["bad"], palette.roles["warn"]}


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
def test_a_selected_row_stands_out_up_to_the_edge(size: tuple[int, int]) -> None:
    async def go() -> None:
        async with following(FedFleet(fleet_view(4, faults=FAULTS)), size) as stage:
            nodes = stage.app.screen.query_one("#nodes", RowList)
            (strip,) = nodes.draw([1 + nodes.cursor - nodes.top])
            assert strip.cell_length == size[0]
            *_, last = strip
            assert last.style is not None
            assert last.style.bgcolor == Color.parse("#26404f")

    asyncio.run(go())
