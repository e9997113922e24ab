"""The lines at the top of every screen: host, time, drivers, worst state, age of the sample. Pure."""

from collections.abc import Collection
from typing import TYPE_CHECKING

from accelwatch.schema.display import printable
from accelwatch.schema.snapshot import DeviceView
from accelwatch.tui.drawing import format as fmt
from accelwatch.tui.drawing.glyphs import Glyphs
from accelwatch.tui.drawing.lines import Line, clipped, fit, spread, width_of
from accelwatch.tui.state.action import INCIDENTS
from accelwatch.tui.state.actions import further_screens, numbered_screens
from accelwatch.tui.state.board import Board
from accelwatch.tui.views.host_line import host_line

if TYPE_CHECKING:
    from accelwatch.tui.fleet.node_view import NodeStatus

# Text, role, and the name of the screen that it leads to.
Tabs = list[tuple[str, str, str]]
# Below this many cells there is no room for words that explain.
_NARROW = 60
# Cells of the name of what is played.
_PLAYED = 16
# In intervals: from here the age is amber, then red.
_SLOW, _LATE = 2.0, 3.0


def header(board: Board, width: int, height: int, now: float, screen: str) -> list[Line]:
    """One or two lines."""
    first = _first_line(board, width, now, screen)
    lines = [clipped(first, width)]
    if height > 1:
        lines.append(_second_line(board, width, now, screen))
    return lines


def _of_fleet(board: Board) -> bool:
    """Whether the lines are about the fleet rather than about one machine."""
    return board.fleet is not None and board.node_status is None


def tab_at(board: Board, width: int, now: float, screen: str, x: int) -> str:
    """Name of the screen whose tab is at a cell of the first line; empty where there is none."""
    before, (tabs, _) = _components(board, width, now, screen)
    left = width_of(before)
    for text, _, name in tabs:
        left += width_of([(text, "")])
        if x < left:
            return name
    return ""


def _first_line(board: Board, width: int, now: float, screen: str) -> Line:
    before, (tabs, right) = _components(board, width, now, screen)
    left = [*before, *((text, role) for text, role, _ in tabs)]
    return spread(left, [*right, (" ", "text")], width)


def _components(
    board: Board, width: int, now: float, screen: str
) -> tuple[Line, tuple[Tabs, Line]]:
    """What is before the tabs, the tabs, and what is at the right end.

    Tabs are the way to the other screens, so those without a number give way first, then the brand, then
    the time, then the names of the other tabs from the right, then the words of states, and at last the
    machine's name.
    """
    host = _host(board)
    played = _played(board)
    named: Line = [*played, *([(f" {host} ", "strong")] if host else [])]
    brand: Line = [] if width < _NARROW else [(" accelwatch ", "title")]
    tabs = _tabs_by_room(board, screen)
    full, short = tabs[0], tabs[-1]
    every = [*full, *_further_tabs(board, screen)]
    timed, untimed = _right(board, width, now), _right(board, width, now, time=False)
    signs = _right(board, width, now, with_labels=False, time=False)
    choices = [
        ([*brand, *named], (every, timed)),
        ([*brand, *named], (full, timed)),
        (named, (full, timed)),
        (named, (full, untimed)),
        *((named, (some, timed)) for some in tabs[1:]),
        (named, (short, untimed)),
        (named, (short, signs)),
        (played, (short, signs)),
        ([(text[:3], role) for text, role in played[1:]], (short, signs)),
        ([], (short, signs)),
    ]
    for before, (some, right) in choices:
        if width_of(before) + sum(len(text) for text, _, _ in some) + width_of(right) + 1 <= width:
            return before, (some, right)
    only = [tab for tab in short if tab[2] == screen]
    return named, (only, signs)


def _played(board: Board) -> Line:
    """The sign of a recording or scenario, which nobody must mistake for this machine as it is now."""
    name = board.replayed or ("archive" if board.archive else "")
    if not name:
        return []
    sign = ">" if board.paint.glyphs.ascii_only else "▶"
    shown = fit(printable(name, ascii_only=board.paint.glyphs.ascii_only), min(len(name), _PLAYED))
    return [(" ", "text"), (f" {sign} replay {shown} ", "caution")]


def _right(
    board: Board, width: int, now: float, *, with_labels: bool = True, time: bool = True
) -> Line:
    """States, age, and the time of the picture."""
    right = [] if _of_fleet(board) else states(board, with_labels=with_labels)
    right += _age(board, now, "" if width < _NARROW else "age ")
    shown = _shown_time(board)
    if width >= _NARROW and shown is not None and time:
        right = [*right, (f" {fmt.clock_time(shown)}", "dim")]
    return right


def _host(board: Board) -> str:
    if _of_fleet(board):
        return ""
    host = board.snapshot.host or (board.node_status.node if board.node_status is not None else "")
    return printable(host, ascii_only=board.paint.glyphs.ascii_only)


def _shown_time(board: Board) -> float | None:
    """Unix seconds that the picture is of."""
    if _of_fleet(board):
        view = board.fleet.view if board.fleet is not None else None
        return None if view is None else view.time
    return board.snapshot.time if board.started else None


def _tabs_by_room(board: Board, screen: str) -> list[Tabs]:
    """The tabs with all their names, then with one less at a time, from the right.

    That of the incidents, beside which their number stands, goes last; that of the present one stays.
    """
    names = [name for _, name in _numbered(board) if name != screen]
    order = [*(name for name in reversed(names) if name != INCIDENTS), INCIDENTS]
    return [_tabs(board, screen, frozenset(order[:count])) for count in range(len(names) + 1)]


def _numbered(board: Board) -> tuple[tuple[str, str], ...]:
    return numbered_screens(fleet=board.fleet is not None, has_incidents=board.has_incidents)


def _tabs(board: Board, screen: str, nameless: Collection[str]) -> Tabs:
    """The numbered screens, the present one marked; some of them without their names."""
    numbered = _numbered(board)
    bare = set(nameless) >= {name for _, name in numbered if name != screen}
    tabs: Tabs = [(" ", "text", "")]
    if screen not in {name for _, name in numbered}:
        tabs.append((f" {screen} ", "tab", screen))
    for key, name in numbered:
        tabs.append((f"{key} " if bare else f" {key} ", "key", name))
        if name not in nameless:
            tabs.append((f"{name} ", "tab" if name == screen else "dim", name))
        if name == INCIDENTS:
            tabs += [(text, role, name) for text, role in _open_incidents(board)]
    return tabs


def _further_tabs(board: Board, screen: str) -> Tabs:
    """The screens without a number, but for the present one, which stands first already."""
    return [
        tab
        for key, name in further_screens(topology=board.root is not None)
        if name != screen
        for tab in ((f" {key} ", "key", name), (f"{name} ", "dim", name))
    ]


def _open_incidents(board: Board) -> Line:
    """How many incidents are open by severity, the worst first; nothing when all is well."""
    fleet = board.fleet or board.agent_board
    view = fleet.view if fleet is not None else None
    if view is None or view.rules is None:
        return []
    from accelwatch.tui.drawing.severity_signs import SEVERITY_ROLES, severity_sign

    counts, glyphs = view.rules.open, board.paint.glyphs
    return [
        (f"{severity_sign(severity, glyphs)}{counts[severity]} ", role)
        for severity, role in SEVERITY_ROLES.items()
        if counts.get(severity)
    ]


def _second_line(board: Board, width: int, now: float, screen: str) -> Line:
    if board.fleet is not None and (_of_fleet(board) or board.fleet.problem is not None):
        from accelwatch.tui.views.fleet.head import situation

        return situation(board, board.fleet, width, now, screen)
    glyphs = board.paint.glyphs
    drivers = fmt.versions(board.snapshot)
    left: Line = [(f" {drivers}", "dim")]
    if board.filter_text:
        left += [(f"  filter {board.filter_text}", "accent")]
    if board.process_filter_text:
        left += [(f"  processes {board.process_filter_text}", "accent")]
    right: Line = []
    if board.banner:
        right = [(f"{board.banner} ", "warn" if board.paused else "accent")]
    elif board.node_status is not None:
        right = [(f"a node of the fleet {glyphs.dot} Esc back ", "accent")]
    elif board.started:
        every = f"every {board.preferences.interval_s:g} s"
        right = [(f"{every} {glyphs.dot} ? help ", "faint")]
    left += host_line(board.snapshot.node, width - width_of(left) - width_of(right) - 1)
    return spread(left, right, width)


def states(board: Board, *, with_labels: bool = True) -> Line:
    """How many devices are in each state, worst first: sign, number, and word where there is room."""
    if not board.started:
        return [("reading ", "dim")]
    if not board.snapshot.devices:
        text = "no accelerator " if board.node_status is None else "no device known "
        return [(text, "dim")]
    glyphs = board.paint.glyphs
    return [
        (_state(view, count, glyphs, with_labels=with_labels), fmt.state_role(view))
        for view, count in board.summary.states
    ]


def _state(view: DeviceView, count: int, glyphs: Glyphs, *, with_labels: bool) -> str:
    sign = fmt.state_glyph(view, glyphs)
    return f"{sign} {count} {fmt.status_text(view)}  " if with_labels else f"{sign}{count} "


def _age(board: Board, now: float, label: str) -> Line:
    if board.node_status is not None:
        return _node_status_line(board.node_status, label, board)
    if board.fleet is not None:
        from accelwatch.tui.views.fleet.head import age_line

        return age_line(board, board.fleet, label)
    age = board.summary.oldest_s
    if age is None:
        return []
    since_shown = 0.0 if board.recorded else max(now - board.snapshot.time, 0.0)
    oldest = age + since_shown
    interval = board.snapshot.interval_s or board.preferences.interval_s
    role = "bad" if oldest > _LATE * interval else "warn" if oldest > _SLOW * interval else "dim"
    return [(f"{label}{fit(fmt.age(oldest), 5, right=True)}", role)]


def _node_status_line(node_status: "NodeStatus", label: str, board: Board) -> Line:
    """State of a node of a fleet and how long ago it answered."""
    from accelwatch.tui.drawing.node_signs import NODE_ROLES, node_glyph

    role = NODE_ROLES.get(node_status.state, "warn")
    sign = node_glyph(node_status.state, board.paint.glyphs)
    text = f"node {node_status.state} " if label else ""
    return [(f"{sign} {text}{fit(fmt.age(node_status.age_s), 5, right=True)}", role)]
