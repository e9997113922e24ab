"""The screens that are one page of text: a device, the doctor, help, and what the hub cannot do."""

from collections.abc import Callable

from accelwatch.node.topology.matrix import topology
from accelwatch.tui.drawing.lines import Line
from accelwatch.tui.fleet.board import FleetBoard
from accelwatch.tui.fleet.troubles import trouble_lines
from accelwatch.tui.local.devices import facts as device_facts
from accelwatch.tui.screens.page import PageScreen
from accelwatch.tui.state.action import DEVICE, DOCTOR
from accelwatch.tui.state.board import Board
from accelwatch.tui.views import doctor_lines, help_lines, topology_lines
from accelwatch.tui.views.device_lack import why_none
from accelwatch.tui.views.graphs import device_graphs as strip_graphs


def doctor_screen(board: Board, now: Callable[[], float]) -> PageScreen:
    """Screen 6: what became of each backend, and why a device is missing."""
    return PageScreen(
        board,
        DOCTOR,
        lambda width: doctor_lines.lines(
            board.snapshot, width, board.paint.glyphs, board.node_status
        ),
        now,
    )


def topology_screen(board: Board, now: Callable[[], float]) -> PageScreen:
    """How near devices and network adapters of this machine are to each other, as of its opening."""
    root = board.root
    distances = None if root is None else topology(board.snapshot, root)
    return PageScreen(board, "topology", lambda width: topology_lines.lines(distances, width), now)


def device_screen(board: Board, now: Callable[[], float]) -> PageScreen:
    """Screen 3: all of the selected device, graphs below; left and right go to the one beside it."""

    def write(width: int) -> list[Line]:
        view = board.selected
        if view is None:
            return why_none(board, width) or [[(" no device is selected", "dim")]]
        return device_facts.lines(view, board.snapshot, width, board.paint.glyphs)

    def draw(width: int, height: int) -> list[Line]:
        if height < 12:
            return strip_graphs.strip(board, width, height, hour=board.hour)
        upper = height // 2
        fine = strip_graphs.strip(board, width, upper, hour=False)
        return [*fine, *strip_graphs.strip(board, width, height - upper, hour=True)]

    def handle(action: str) -> bool:
        if action not in ("left", "right"):
            return False
        board.select_next(-1 if action == "left" else 1)
        return True

    return PageScreen(
        board,
        DEVICE,
        write,
        now,
        draw=draw,
        heights=heights,
        handle=handle,
        text_first=True,
    )


def heights(rows: int) -> int:
    """Both spans of time where there is room for them, one below that, none on small terminals."""
    if rows >= 40:
        return 14
    return rows // 4 + 1 if rows >= 20 else 0


def help_screen(board: Board, now: Callable[[], float], screen: str) -> PageScreen:
    """Every key, sign and flag; first the keys of the screen that was shown."""
    return PageScreen(
        board,
        "help",
        lambda width: help_lines.lines(
            width,
            board.paint.glyphs,
            replay=board.recorded,
            archive=board.archive,
            fleet=board.fleet is not None,
            has_incidents=board.has_incidents,
            signals=board.signals,
            terminal=board.terminal,
            screen=screen,
        ),
        now,
    )


def problems_screen(board: Board, fleet: FleetBoard, now: Callable[[], float]) -> PageScreen:
    """What the hub of a fleet cannot do, in full."""
    return PageScreen(
        board, "problems", lambda width: trouble_lines(fleet, width, board.paint.glyphs), now
    )
