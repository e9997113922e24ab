"""One process: who it is, what it did in the last minutes, and, when asked for, its environment."""

from collections.abc import Callable, Mapping

from accelwatch.schema.reading import Process
from accelwatch.tui.drawing.lines import Line
from accelwatch.tui.local import process_facts
from accelwatch.tui.local.environment import read_environment
from accelwatch.tui.screens.page import PageScreen
from accelwatch.tui.state.board import Board
from accelwatch.tui.views import strip_graphs


class Sight:
    """How much of the environment is shown: nothing, its names, or the values of some of them too."""

    def __init__(self, board: Board, process: Process, *, local: bool) -> None:
        self._board = board
        self._process = process
        self._local = local
        self._environment: Mapping[str, str] | str | None = None
        self._shown: set[str] = set()
        self._names: list[str] = []
        """The name that each line is about; empty for lines about none."""
        self._heading = 0
        """Number of the environment's first line."""

    def write(self, width: int) -> list[Line]:
        """All lines, and note which name each is about."""
        board, process = self._board, self._process
        glyphs, shot = board.paint.glyphs, board.snapshot
        current = next(
            (candidate for candidate in shot.processes() if process_facts.same(process, candidate)),
            None,
        )
        given = process_facts.lines(current or process, shot, width, glyphs)
        if current is None:
            given.insert(0, [(" this process has ended", "warn")])
        self._names = [""] * len(given)
        if self._environment is not None:
            given.append([])
            self._heading = len(given)
            environment = process_facts.environment_lines(
                self._environment, width, glyphs, self._shown
            )
            self._names += ["", *(name for name, _ in environment)]
            given += [line for _, line in environment]
        return given

    def heading(self) -> int:
        """Number of the environment's first line."""
        return self._heading

    def look(self, visible: range) -> bool:
        """Show names first, then the values of those in view; hide them when all in view are shown.

        False when the environment is not in view: then it is to be brought there, and nothing else.
        """
        if self._environment is None:
            self._environment = read_environment(self._process, local=self._local)
            return False
        if not visible or visible[-1] < self._heading:
            return False
        seen = {name for name in self._names[visible.start : visible.stop] if name}
        if seen <= self._shown:
            self._shown.clear()
        else:
            self._shown |= seen
        return True


def process_screen(
    board: Board,
    process: Process,
    now: Callable[[], float],
    *,
    local: bool,
    environment: bool = False,
) -> PageScreen:
    """The screen; `e` brings the names of its environment into view, and once more the values there."""
    sight = Sight(board, process, local=local)

    def handle(action: str) -> bool:
        if action == "environment" and not sight.look(screen.lines_in_view):
            screen.bring_to_top(sight.heading)
        return action == "environment"

    screen = PageScreen(
        board,
        "process",
        sight.write,
        now,
        draw=lambda width, height: strip_graphs.process_strip(board, process, width, height),
        heights=lambda rows: min(rows // 3, 9) if rows >= 20 else 0,
        handle=handle,
    )
    if environment:
        handle("environment")
    return screen
