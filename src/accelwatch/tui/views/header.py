"""The lines at the top of every screen: host, time, drivers, worst state, age of the sample. Pure."""

from typing import TYPE_CHECKING

from accelwatch.display import printable
from accelwatch.tui.drawing import format as fmt
from accelwatch.tui.drawing.lines import Line, clipped, fit, spread, width_of
from accelwatch.tui.state.actions import numbered_screens
from accelwatch.tui.state.board import Board

if TYPE_CHECKING:
    from accelwatch.tui.fleet.node_view import Heard

_SLOW, _LATE = 2.0, 3.0
"""In intervals: from here the age is amber, then red."""


def header(board: Board, width: int, height: int, now: float, screen: str) -> list[Line]:
    """One or two lines."""
    first = _first_line(board, width, now, screen)
    lines = [clipped(first, width)]
    if height > 1:
        lines.append(_second_line(board, width, now))
    return lines


def _of_fleet(board: Board) -> bool:
    """Whether the lines are about the fleet rather than about one machine."""
    return board.fleet is not None and board.heard is None


def _first_line(board: Board, width: int, now: float, screen: str) -> Line:
    narrow = width < 60
    host = _host(board)
    left: Line = [] if narrow else [(" accelwatch ", "title")]
    if host:
        left += [(f" {host} ", "strong")]
    label = "" if narrow else "age "
    right = [] if _of_fleet(board) else states(board)
    right += _age(board, now, label)
    shown = _shown_time(board)
    if width >= 60 and shown is not None:
        right = [*right, (f" {fmt.clock_time(shown)}", "dim")]
    if width_of(left) + width_of(right) + 2 > width and host:
        left = [(f" {host} ", "strong")]
    room = width - width_of(left) - width_of(right) - 2
    tabs = _tabs(screen, room, fleet=board.fleet is not None)
    return spread([*left, *tabs], [*right, (" ", "text")], width)


def _host(board: Board) -> str:
    if _of_fleet(board):
        return ""
    host = board.snapshot.host or (board.heard.node if board.heard is not None else "")
    return printable(host, ascii_only=board.paint.glyphs.ascii_only)


def _shown_time(board: Board) -> float | None:
    """Unix seconds that the picture is of."""
    if _of_fleet(board):
        view = board.fleet.view if board.fleet is not None else None
        return None if view is None else view.time
    return board.snapshot.time if board.started else None


def _tabs(screen: str, room: int, *, fleet: bool) -> Line:
    """The numbered screens, the present one marked; only that one where there is no room."""
    line: Line = [(" ", "text")]
    tabs = numbered_screens(fleet=fleet)
    if screen not in {name for _, name in tabs}:
        line += [(f" {screen} ", "tab")]
    for key, name in tabs:
        line += [(f" {key} ", "key"), (f"{name} ", "tab" if name == screen else "dim")]
    if width_of(line) <= room:
        return line
    return [(f" {screen} ", "tab")] if len(screen) + 2 <= room else []


def _second_line(board: Board, width: int, now: float) -> Line:
    if board.fleet is not None and (_of_fleet(board) or board.fleet.problem is not None):
        from accelwatch.tui.views.fleet_head import situation

        return situation(board, board.fleet, width, now)
    glyphs = board.paint.glyphs
    told = fmt.versions(board.snapshot)
    left: Line = [(f" {told}", "dim")]
    if board.filter_text:
        left += [(f"  filter {board.filter_text}", "accent")]
    if board.process_filter_text:
        left += [(f"  processes {board.process_filter_text}", "accent")]
    right: Line = []
    if board.banner:
        right = [(f"{board.banner} ", "warn" if board.paused else "accent")]
    elif board.heard is not None:
        right = [(f"a node of the fleet {glyphs.dot} Esc back ", "accent")]
    elif board.started:
        every = f"every {board.preferences.interval_s:g} s"
        right = [(f"{every} {glyphs.dot} ? help ", "faint")]
    return spread(left, right, width)


def states(board: Board) -> Line:
    """How many devices are in each state, worst first: sign, number, word."""
    if not board.started:
        return [("reading ", "dim")]
    if not board.snapshot.devices:
        word = "no accelerator " if board.heard is None else "no device known "
        return [(word, "dim")]
    glyphs = board.paint.glyphs
    return [
        (f"{fmt.state_glyph(view, glyphs)} {count} {fmt.state_word(view)}  ", fmt.state_role(view))
        for view, count in board.summary.states
    ]


def _age(board: Board, now: float, label: str) -> Line:
    if board.heard is not None:
        return _heard(board.heard, label, board)
    if board.fleet is not None:
        from accelwatch.tui.views.fleet_head import age_line

        return age_line(board.fleet, label)
    age = board.summary.oldest_s
    if age is None:
        return []
    since_shown = 0.0 if board.recorded else max(now - board.snapshot.time, 0.0)
    oldest = age + since_shown
    interval = board.snapshot.interval_s or board.preferences.interval_s
    role = "bad" if oldest > _LATE * interval else "warn" if oldest > _SLOW * interval else "dim"
    return [(f"{label}{fit(fmt.age(oldest), 5, right=True)}", role)]


def _heard(heard: "Heard", label: str, board: Board) -> Line:
    """State of a node of a fleet and how long ago it was heard."""
    from accelwatch.tui.fleet.signs import NODE_ROLES, node_glyph

    role = NODE_ROLES.get(heard.state, "warn")
    sign = node_glyph(heard.state, board.paint.glyphs)
    word = f"node {heard.state} " if label else ""
    return [(f"{sign} {word}{fit(fmt.age(heard.age_s), 5, right=True)}", role)]
