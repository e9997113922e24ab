"""What a dialog of choices paints."""

import asyncio

import pytest

from accelwatch.tui.local.processes.columns import COLUMNS
from accelwatch.tui.screens.dialogs.choice import ChoiceScreen
from accelwatch.tui.widgets.row_list import RowList
from support.dashboards.fleets import FleetStage
from support.dashboards.fleets import on as on_fleet
from support.dashboards.local import FedSource, Stage, board_of, node, on, running

TITLES = [column.title for column in COLUMNS]


def shown(stage: Stage) -> list[str]:
    """The lines of the list of choices, as they are on the terminal."""
    region = stage.app.screen.query_one(RowList).region
    lines = stage.text().splitlines()[region.y : region.bottom]
    return [line[region.x : region.right].rstrip() for line in lines]


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (40, 20)])
def test_the_present_column_is_marked_among_all_of_them(size: tuple[int, int]) -> None:
    async def check(stage: Stage) -> None:
        index = TITLES.index("MEMORY")
        await stage.press("4", "s")
        for step in range(3):
            marked = [
                ("▌ " if n == index + step else "  ") + title for n, title in enumerate(TITLES)
            ]
            assert shown(stage) == marked
            await stage.press("down")

    on(check, size=size)


def test_where_not_all_fit_the_first_ones_are_shown_as_long_as_the_marked_one_is_there() -> None:
    async def check(stage: Stage) -> None:
        index = TITLES.index("MEMORY")
        await stage.press("4", "s")
        lines = shown(stage)
        assert len(TITLES) > len(lines) > index
        assert [line.strip("▌ ") for line in lines] == TITLES[: len(lines)]
        assert [n for n, line in enumerate(lines) if "▌" in line] == [index]

    on(check, size=(80, 12))


def test_a_terminal_that_becomes_shorter_keeps_the_marked_one_in_view() -> None:
    async def check(stage: Stage) -> None:
        await stage.press("4", *["down"] * 12)
        process = stage.app.chosen_process
        assert process is not None
        await stage.pilot.resize_terminal(80, 12)
        await stage.pilot.pause()
        marked = [line for line in stage.text().splitlines() if line.startswith("▌")]
        assert len(marked) == 1
        assert str(process.pid) in marked[0]

    on(check, size=(80, 24))


def inside(stage: Stage) -> list[str]:
    """The lines within the frame of the dialog."""
    region = stage.app.screen.query_one("#dialog").content_region
    lines = stage.text().splitlines()[region.y : region.bottom]
    return [line[region.x : region.right].rstrip() for line in lines]


@pytest.mark.parametrize("size", [(40, 10), (40, 12), (60, 14), (120, 40)])
def test_what_acknowledging_does_is_shown_in_full(size: tuple[int, int]) -> None:
    async def check(stage: FleetStage) -> None:
        await stage.press("down", "down", "A")
        lines = inside(stage)
        assert "The hub forgets missing devices until it sees them again." in " ".join(lines)
        assert [line for line in lines if "Cancel" in line] == ["▌ Cancel"]
        assert lines[-1].endswith(("not expected any more", "…"))

    on_fleet(check, size=size)


@pytest.mark.parametrize(
    ("ascii_only", "shown"),
    [(False, "  SIGKILL  end it at once; it can…"), (True, "  SIGKILL  end it at once; it can~")],
)
def test_a_choice_that_does_not_fit_ends_with_an_ellipsis(ascii_only: bool, shown: str) -> None:
    async def go() -> None:
        board = board_of(ascii_only=ascii_only)
        async with running(FedSource(node()), (40, 20), board=board) as stage:
            await stage.press("4", "K")
            assert shown in inside(stage)

    asyncio.run(go())


TEXT = ["one two three four five six seven eight nine ten", "  set in " + "word " * 12, ""]


@pytest.mark.parametrize("height", [20, 10])
def test_a_text_is_wrapped_as_it_was_set_in_and_cut_with_an_ellipsis(height: int) -> None:
    async def check(stage: Stage) -> None:
        stage.app.push_screen(ChoiceScreen(stage.app.board, "Why", TEXT, [("", "Close")]))
        await stage.press("up")
        lines = inside(stage)
        whole = [
            "one two three four five six seven",
            "eight nine ten",
            "  set in word word word word word",
            "  word word word word word word",
            "  word",
            "",
            "▌ Close",
        ]
        cut = [*whole[:3], "  word word word word word word w…", "▌ Close"]
        assert lines == (whole if height == 20 else cut)

    on(check, size=(40, height))


def test_a_dialog_fits_the_terminal_that_has_changed() -> None:
    async def check(stage: FleetStage) -> None:
        await stage.press("down", "down", "A")
        await stage.pilot.resize_terminal(40, 10)
        await stage.press("up")
        assert "The hub forgets missing devices until it sees them again." in " ".join(
            inside(stage)
        )

    on_fleet(check, size=(120, 40))


@pytest.mark.parametrize("key", ["q", "escape"])
def test_q_closes_a_dialog_and_not_the_program(key: str) -> None:
    async def check(stage: Stage) -> None:
        await stage.press("w", key)
        assert stage.screen_name == "local"
        assert stage.app.is_running

    on(check)


@pytest.mark.parametrize("dialog", ["w", "slash", "colon"])
def test_ctrl_c_ends_the_program_from_a_dialog_too(dialog: str) -> None:
    async def check(stage: Stage) -> None:
        await stage.press(dialog, "ctrl+c")
        assert not stage.app.is_running

    on(check)
