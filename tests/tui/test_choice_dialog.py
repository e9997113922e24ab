"""What a dialog of choices paints."""

import pytest

from accelwatch.tui.local.process_rows import COLUMNS
from accelwatch.tui.widgets.row_list import RowList
from dashboards import Stage, on

TITLES = [column.title for column in COLUMNS]


def shown(stage: Stage) -> list[str]:
    """The lines of the list of choices, as they are on the terminal."""
    region = stage.app.screen.query_one(RowList).region
    lines = stage.text().splitlines()[region.y : region.bottom]
    return [line[region.x : region.right].rstrip() for line in lines]


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (40, 20)])
def test_the_present_column_is_marked_among_all_of_them(size: tuple[int, int]) -> None:
    async def check(stage: Stage) -> None:
        place = TITLES.index("MEMORY")
        await stage.press("4", "s")
        for step in range(3):
            marked = [
                ("▌ " if n == place + step else "  ") + title for n, title in enumerate(TITLES)
            ]
            assert shown(stage) == marked
            await stage.press("down")

    on(check, size=size)


def test_where_not_all_fit_the_first_ones_are_shown_as_long_as_the_marked_one_is_there() -> None:
    async def check(stage: Stage) -> None:
        place = TITLES.index("MEMORY")
        await stage.press("4", "s")
        lines = shown(stage)
        assert len(TITLES) > len(lines) > place
        assert [line.strip("▌ ") for line in lines] == TITLES[: len(lines)]
        assert [n for n, line in enumerate(lines) if "▌" in line] == [place]

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
