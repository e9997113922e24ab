"""One process: who it is, what it did in the last minutes, and, on request, its environment."""

from collections.abc import Callable, Mapping

from accelwatch.schema.reading import Process
from accelwatch.tui.drawing.lines import Line
from accelwatch.tui.local.processes import facts as process_facts
from accelwatch.tui.local.processes.environment import read_environment
from accelwatch.tui.screens.page import PageScreen
from accelwatch.tui.state.board import Board
from accelwatch.tui.views.graphs import device_graphs as strip_graphs


class ProcessView:
    """How much of the environment is shown: nothing, its names, or the values of some of them too."""

    def __init__(self, board: Board, process: Process, *, local: bool) -> None:
        self._board = board
        self._process = process
        self._local = local
        self._environment: Mapping[str, str] | str | None = None
        self._shown: set[str] = set()
        # The name that each line is about; empty for lines about none.
        self._names: list[str] = []
        # Number of the environment's first line.
        self._heading = 0

    def write(self, width: int) -> list[Line]:
        """All lines, and note which name each is about."""
        board, process = self._board, self._process
        glyphs, shot = board.paint.glyphs, board.snapshot
        current = next(
            (candidate for candidate in shot.processes() if process_facts.same(process, candidate)),
            None,
        )
        lines = process_facts.lines(current or process, shot, width, glyphs)
        if current is None:
            lines.insert(0, [(" this process has ended", "warn")])
        self._names = [""] * len(lines)
        if self._environment is not None:
            lines.append([])
            self._heading = len(lines)
            environment = process_facts.environment_lines(
                self._environment, width, glyphs, self._shown
            )
            self._names += ["", *(name for name, _ in environment)]
            lines += [line for _, line in environment]
        return lines

    def heading(self) -> int:
        """Number of the environment's first line."""
        return self._heading

    def toggle_environment(self, visible: range) -> bool:
        """Show names first, then the values of those in view; hide them when all in view are shown.

        False when the environment is not in view: then it is to be brought there, and nothing else.
        """
        if self._environment is None:
            self._environment = read_environment(self._process, local=self._local)
            return False
        if not visible or visible[-1] < self._heading:
            return False
        names = {name for name in self._names[visible.start : visible.stop] if name}
        if names <= self._shown:
            self._shown.clear()
        else:
            self._shown |= names
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
    view = ProcessView(board, process, local=local)

    def handle(action: str) -> bool:
        if action == "environment" and not view.toggle_environment(screen.lines_in_view):
            screen.scroll_line_to_top(view.heading)
        return action == "environment"

    screen = PageScreen(
        board,
        "process",
        view.write,
        now,
        draw=lambda width, height: strip_graphs.process_strip(board, process, width, height),
        heights=lambda rows: min(rows // 3, 9) if rows >= 20 else 0,
        handle=handle,
    )
    if environment:
        handle("environment")
    return screen
