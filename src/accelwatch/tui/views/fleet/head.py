"""The lines at the top of the Fleet screen: what is followed and how old it is, and the totals. Pure."""

from collections.abc import Mapping, Sequence

from accelwatch.fleet.leader_note import leader_text
from accelwatch.fleet.picture import grouping, incidents
from accelwatch.fleet.picture.model import FleetView
from accelwatch.fleet.picture.ordering import TITLES
from accelwatch.fleet.wire import FleetDocument
from accelwatch.schema.display import printable, size
from accelwatch.schema.status.device_status import severity
from accelwatch.schema.timestamps import unix_seconds
from accelwatch.tui.drawing import device_signs
from accelwatch.tui.drawing import format as fmt
from accelwatch.tui.drawing import node_signs as signs
from accelwatch.tui.drawing.lines import Line, clipped, fit, in_role, spread, width_of
from accelwatch.tui.events.event_lines import recent
from accelwatch.tui.fleet.board import FleetBoard
from accelwatch.tui.fleet.cells.value_cells import watts
from accelwatch.tui.fleet.hub_lines import hub_ages
from accelwatch.tui.incidents import remedy_summary
from accelwatch.tui.state.action import FLEET, INCIDENT, INCIDENTS
from accelwatch.tui.state.board import Board
from accelwatch.tui.theme.preferences import Preferences

# In intervals: from here the age of the tick is amber, then red.
_AMBER_S, _RED_S = 2.0, 3.0
# Blanks between counts and figures.
_GAP = 3
# From here the totals have bars.
_WIDE = 110


def age_line(board: Board, fleet: FleetBoard, label: str) -> Line:
    """The age of the tick that is shown."""
    view = fleet.view
    if view is None:
        return [("reading" if board.archive else "waiting for the hub", "dim")]
    if view.recorded:
        return []
    since = fleet.since_s
    late = since / view.interval_s
    role = "bad" if late > _RED_S else "warn" if late > _AMBER_S else "dim"
    return [(f"{label}{fmt.age(since):>5}", role)]


def situation(board: Board, fleet: FleetBoard, width: int, now: float, screen: str = FLEET) -> Line:
    """The second line of the header: what is wrong, else what is followed and how it is shown."""
    if fleet.problem is not None:
        return clipped(_problem(board, fleet, width, now), width)
    wrong, bounds = remedy_summary.status_lines(fleet.remedies, width, board.paint.glyphs)
    name = printable(fleet.name, ascii_only=board.paint.glyphs.ascii_only)
    hub = hub_ages(fleet, board.paint.glyphs) or [(f" {name}", "dim"), *_leader(fleet)]
    left: Line = wrong or hub
    if screen in (INCIDENTS, INCIDENT):
        settings = [incidents.TITLES[fleet.incidents.sort]] if screen == INCIDENTS else []
        left += _filter(board, fleet.incidents.filter_text, _count(fleet))
    else:
        settings = _settings(board.preferences)
        wait = "asking the hub" if fleet.waiting else _nodes(fleet.shown_nodes)
        left += _filter(board, fleet.filter_text, wait)
    shown = [f"{', '.join(settings)} "] if any(settings) else []
    right: Line = [*((f"{text}  " if bounds else text, "faint") for text in shown), *bounds]
    if board.banner:
        right = [(f"{board.banner} ", "warn" if board.paused else "accent")]
    elif bounds and width_of(left) + width_of(right) > width:
        right = bounds
    if width_of(left) + width_of(right) > width and not board.archive:
        right = []
    return spread(left, right, width)


def _filter(board: Board, text: str, left: str) -> Line:
    """The filter and what it leaves; nothing without one."""
    shown = printable(text, ascii_only=board.paint.glyphs.ascii_only)
    return [(f"  filter {shown}", "accent"), (f" ({left})", "dim")] if text else []


def _leader(fleet: FleetBoard) -> Line:
    """Which of several hubs leads; nothing of a hub whose journal no other can have."""
    note = None if fleet.view is None else fleet.view.sums.leader
    if note is None:
        return []
    since = "" if note.since is None else fmt.clock_time(unix_seconds(note.since))[:5]
    return [(f"  {leader_text(note, since)}", "dim" if note.name else "warn")]


def _settings(preferences: Preferences) -> list[str]:
    grid = preferences.shows_map
    settings = [] if grid else [TITLES.get(preferences.fleet_sort, "")]
    if preferences.fleet_group != grouping.NONE:
        settings.append(f"by {preferences.fleet_group}")
    return [*settings, f"cells show {preferences.fleet_shade}"] if grid else settings


def _count(fleet: FleetBoard) -> str:
    count = len(fleet.incidents.rows)
    return f"{count} incident{'' if count == 1 else 's'}"


def _nodes(count: int) -> str:
    return f"{count} node{'' if count == 1 else 's'}"


def _problem(board: Board, fleet: FleetBoard, width: int, now: float) -> Line:
    problem, glyphs = fleet.problem, board.paint.glyphs
    assert problem is not None
    since = fmt.ago(max(now - problem.since, 0.0))
    title = f" {glyphs.nodes['down']} for {since}: "
    text = printable(problem.text, ascii_only=glyphs.ascii_only)
    line: Line = [(title, "bad"), (text, "warn")]
    if fleet.view is not None:
        data_time: Line = [(f"; showing data from {fmt.clock_time(fleet.view.time)}", "dim")]
        line += data_time if width_of(line) + width_of(data_time) <= width else []
    return line


def totals(board: Board, fleet: FleetBoard, width: int, height: int, now: float) -> list[Line]:
    """One or two lines: nodes and devices by state at the left, figures at the right."""
    view = fleet.view
    if view is None:
        return [[(f" {fleet.starting}", "dim")]]
    nodes, devices = _nodes_of(board, view.sums), _devices_of(board, fleet.status_counts)
    if height < 2:
        lines = [[(" ", "text"), *_short(nodes), ("  ", "text"), *_short(devices)]]
    else:
        load, memory = _figures(board, view, width, now)
        lines = [_beside(nodes, load, width), _beside(devices, memory, width)]
    if fleet.silent:
        lines = [in_role(line, "faint") for line in lines]
    return [clipped(line, width) for line in lines]


def _nodes_of(board: Board, sums: FleetDocument) -> list[tuple[str, str]]:
    glyphs = board.paint.glyphs
    return [
        (f"{sums.nodes_total} nodes", "strong"),
        *(
            (f"{signs.node_glyph(state, glyphs)} {sums.nodes[state]} {state}", role)
            for state, role in signs.NODE_ROLES.items()
            if sums.nodes.get(state)
        ),
    ]


def _devices_of(board: Board, counts: Mapping[str, int]) -> list[tuple[str, str]]:
    glyphs = board.paint.glyphs
    statuses = sorted(counts, key=severity, reverse=True)
    return [
        (f"{sum(counts.values())} devices", "strong"),
        *(
            (f"{device_signs.device_glyph(status, glyphs)} {counts[status]} {label}", role)
            for status in statuses
            if counts[status]
            for label, role in [
                (device_signs.device_status_text(status), device_signs.device_role(status))
            ]
        ),
    ]


def _beside(labels: Sequence[tuple[str, str]], figures: Line, width: int) -> Line:
    """Both where there is room; words give way from the right, what is worst keeps its own longest."""
    for count in range(len(labels), 0, -1):
        left = [*_spans(labels[:count]), *_signs(labels[count:])]
        if width_of(left) + width_of(figures) + _GAP <= width:
            return spread([(" ", "text"), *left], figures, width)
    return [(" ", "text"), *left]


def _spans(labels: Sequence[tuple[str, str]]) -> Line:
    return [span for text, role in labels for span in ((text, role), ("  ", "text"))]


def _short(labels: Sequence[tuple[str, str]]) -> Line:
    """The title, and signs and numbers without their words."""
    title, title_role = labels[0]
    return [(f"{title} ", title_role), *_signs(labels[1:])]


def _signs(labels: Sequence[tuple[str, str]]) -> Line:
    line: Line = []
    for text, role in labels:
        sign, number, *_ = text.split(" ")
        line += [(f"{sign}{number} ", role)]
    return line


def _figures(board: Board, view: FleetView, width: int, now: float) -> tuple[Line, Line]:
    """Load and power; memory and events."""
    sums, wide = view.sums, width >= _WIDE
    used, total = sums.memory_used_bytes, sums.memory_size_bytes
    share = used / total if used is not None and total else None
    count = recent(view.events, now)
    happened = f"{count} event{'' if count == 1 else 's'}/h"
    amount = f"{size(used)} of {size(total)}" if wide and used is not None and total else ""
    load: Line = [
        *_share(board, "load", sums.utilization_ratio, fmt.level_role(sums.utilization_ratio), wide)
    ]
    load.append((_cell(watts(sums.power_watts), amount, wide), "text"))
    memory = [*_share(board, "memory", share, fmt.memory_role(share), wide)]
    memory.append((_cell(amount, amount, wide), "text"))
    load.append((f"{'':{len(happened)}} ", "text"))
    memory.append((f"{happened} ", "warn" if count else "dim"))
    return load, memory


def _cell(text: str, widest: str, wide: bool) -> str:
    return fit(text, max(len(widest), 8)) + "   " if wide else fit(text, 8) + " "


def _share(board: Board, title: str, ratio: float | None, role: str, wide: bool) -> Line:
    bar = fmt.bar(ratio, 12, board.paint.glyphs, role) if wide else []
    return [(f"{title:6} ", "dim"), *bar, (f"{fmt.percent(ratio):>5}  ", "text")]
