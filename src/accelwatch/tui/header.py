"""The lines at the top of every screen: host, time, drivers, worst state, age of the sample. Pure."""

from accelwatch.display import printable
from accelwatch.tui import format as fmt
from accelwatch.tui.actions import numbered_screens
from accelwatch.tui.board import Board
from accelwatch.tui.lines import Line, clipped, fit, spread, width_of

_SLOW, _LATE = 2.0, 3.0
"""In intervals: from here the age is amber, then red."""


def header(board: Board, width: int, height: int, now: float, screen: str) -> list[Line]:
    """One or two lines."""
    first = _first_line(board, width, now, screen)
    lines = [clipped(first, width)]
    if height > 1:
        lines.append(_second_line(board, width))
    return lines


def _first_line(board: Board, width: int, now: float, screen: str) -> Line:
    shot = board.snapshot
    host = printable(shot.host, ascii_only=board.paint.glyphs.ascii_only)
    narrow = width < 60
    left: Line = [] if narrow else [(" accelwatch ", "title")]
    if host:
        left += [(f" {host} ", "strong")]
    right = states(board)
    right += _age(board, now, "" if narrow else "age ")
    if width >= 60 and board.started:
        right = [*right, (f" {fmt.clock_time(shot.time)}", "dim")]
    if width_of(left) + width_of(right) + 2 > width and host:
        left = [(f" {host} ", "strong")]
    room = width - width_of(left) - width_of(right) - 2
    return spread([*left, *_tabs(screen, room)], [*right, (" ", "text")], width)


def _tabs(screen: str, room: int) -> Line:
    """The numbered screens, the present one marked; only that one where there is no room."""
    line: Line = [(" ", "text")]
    tabs = numbered_screens()
    if screen not in {name for _, name in tabs}:
        line += [(f" {screen} ", "tab")]
    for key, name in tabs:
        line += [(f" {key} ", "key"), (f"{name} ", "tab" if name == screen else "dim")]
    if width_of(line) <= room:
        return line
    return [(f" {screen} ", "tab")] if len(screen) + 2 <= room else []


def _second_line(board: Board, width: int) -> Line:
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
    elif board.started:
        every = f"every {board.preferences.interval_s:g} s"
        right = [(f"{every} {glyphs.dot} ? help ", "faint")]
    return spread(left, right, width)


def states(board: Board) -> Line:
    """How many devices are in each state, worst first: sign, number, word."""
    if not board.started:
        return [("reading ", "dim")]
    if not board.snapshot.devices:
        return [("no accelerator ", "dim")]
    glyphs = board.paint.glyphs
    return [
        (f"{fmt.state_glyph(view, glyphs)} {count} {fmt.state_word(view)}  ", fmt.state_role(view))
        for view, count in board.summary.states
    ]


def _age(board: Board, now: float, label: str) -> Line:
    age = board.summary.oldest_s
    if age is None:
        return []
    since_shown = 0.0 if board.recorded else max(now - board.snapshot.time, 0.0)
    oldest = age + since_shown
    interval = board.snapshot.interval_s or board.preferences.interval_s
    role = "bad" if oldest > _LATE * interval else "warn" if oldest > _SLOW * interval else "dim"
    return [(f"{label}{fit(fmt.age(oldest), 5, right=True)}", role)]
