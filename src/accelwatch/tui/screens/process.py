"""One process: who it is, what it did in the last minutes, and, when asked for, its environment."""

from collections.abc import Callable, Mapping

from accelwatch.schema.reading import Process
from accelwatch.tui import process_facts, strip_graphs
from accelwatch.tui.board import Board
from accelwatch.tui.environment import read_environment
from accelwatch.tui.lines import Line
from accelwatch.tui.screens.page import PageScreen


class Sight:
    """How much of the environment is shown: nothing, names, or names and values."""

    def __init__(self, level: int) -> None:
        self.level = level
        self.environment: Mapping[str, str] | str = {}


def process_screen(
    board: Board,
    process: Process,
    now: Callable[[], float],
    *,
    local: bool,
    environment: bool = False,
) -> PageScreen:
    """The screen; `e` shows the names of its environment, and once more their values."""
    sight = Sight(0)

    def look() -> None:
        sight.level = min(sight.level + 1, 2)
        sight.environment = read_environment(process, local=local)

    def write(width: int) -> list[Line]:
        glyphs = board.paint.glyphs
        current = next(
            (one for one in board.snapshot.processes() if process_facts.same(process, one)), None
        )
        given = process_facts.lines(current or process, board.snapshot, width, glyphs)
        if current is None:
            given.insert(0, [(" this process has ended", "warn")])
        if sight.level:
            given += process_facts.environment_lines(
                sight.environment, width, glyphs, shown=sight.level > 1
            )
        return given

    def handle(action: str) -> bool:
        if action == "environment":
            look()
        return action == "environment"

    if environment:
        look()
    return PageScreen(
        board,
        "process",
        write,
        now,
        draw=lambda width, height: strip_graphs.process_strip(board, process, width, height),
        heights=lambda rows: min(rows // 3, 9) if rows >= 20 else 0,
        handle=handle,
    )
