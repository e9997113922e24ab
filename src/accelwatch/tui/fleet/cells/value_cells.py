"""The cells with a value: state, name, age, lights, load, memory, power, heat. Pure."""

from accelwatch.fleet.picture import grouping
from accelwatch.fleet.picture.tally import FleetRow, device_class
from accelwatch.schema.display import size
from accelwatch.schema.reading import Number
from accelwatch.tui.drawing import device_signs
from accelwatch.tui.drawing import format as fmt
from accelwatch.tui.drawing import node_signs as signs
from accelwatch.tui.drawing.device_signs import FILLED
from accelwatch.tui.drawing.glyphs import Glyphs
from accelwatch.tui.drawing.lines import Line, fit, width_of
from accelwatch.tui.drawing.node_names import NONE, shortened
from accelwatch.tui.fleet.cells.device_cell import device_cell
from accelwatch.tui.fleet.cells.render_context import RenderContext, state_of


def state_cell(row: FleetRow, context: RenderContext, width: int) -> Line:
    """Sign and word; of a group those of its worst node, or of the devices that are worse."""
    state = state_of(row, context)
    chief = row.chief
    if chief is not None and context.live(chief) and chief.worst is not None:
        status = device_class(chief.worst)
        sign = device_signs.device_glyph(status, context.glyphs)
        text = f"{sign} {f'{row.bad} bad' if row.bad else 'warn'}"
        return [(fit(text if width >= 3 else sign, width), device_signs.device_role(status))]
    glyph = signs.node_glyph(state, context.glyphs)
    text = glyph if width < 3 else f"{glyph} {state}"
    return [(fit(text, width), signs.NODE_ROLES.get(state, "warn"))]


def name_cell(row: FleetRow, context: RenderContext, width: int) -> Line:
    """The node; a group with the number of its nodes."""
    if row.node:
        indent = "  " if context.board.grouped else ""
        name = indent + context.node(row.node, width - len(indent))
        return [(context.cut(name, width), "strong")]
    glyphs = context.glyphs
    sign = glyphs.fold if row.group in context.board.unfolded else glyphs.folded
    count = f" {len(row.members)}n"
    room = width - len(sign) - len(count)
    name = grouping.title(context.group, row.group)
    name = shortened(name, max(room, 3), NONE, glyphs.ellipsis)
    shown = context.cut(name, max(room, 3))
    return [(sign, "accent"), (shown, "strong"), (fit(count, width - len(sign) - room), "dim")]


def age_cell(row: FleetRow, context: RenderContext, width: int) -> Line:
    """How long ago it answered; of a group the oldest node that still answers."""
    age = None if row.age_s is None else row.age_s + context.since_s
    state = state_of(row, context)
    role = "dim" if state == "up" else signs.NODE_ROLES.get(state, "warn")
    if not row.node:
        role = "warn" if context.silent else "dim"
    return [(fit(fmt.age(age), width, right=True), role if age is not None else "faint")]


def count_cell(row: FleetRow, context: RenderContext, width: int) -> Line:
    """Devices that can be counted on, of all."""
    if not row.total:
        return [(fit(fmt.NOTHING, width, right=True), "faint")]
    role = "faint" if not context.live(row) else "bad" if row.bad else "text"
    return [(fit(f"{row.total - row.bad}/{row.total}", width, right=True), role)]


def lights_cell(row: FleetRow, context: RenderContext, width: int) -> Line:
    """A cell a device, of a group a cell a node, a fault two wide; an ellipsis for those left out."""
    entries = row.devices if row.node else row.members
    room = width if len(entries) < width else width - 1
    line: Line = []
    for index in range(min(len(entries), room)):
        light = _light(row, index, context, 2)
        if light[0][1] not in FILLED or width_of(line) + len(entries) - index >= room:
            light = _light(row, index, context, 1)
        line += light
    if len(entries) > room:
        line.append((context.glyphs.ellipsis, "faint"))
    return [*line, (" " * (width - width_of(line)), "text")]


def _light(row: FleetRow, index: int, context: RenderContext, width: int) -> Line:
    """A device of a node; a node of a group, which is as well as the worst device of it."""
    if row.node:
        return device_cell(row.devices[index], context, width, live=context.live(row))
    member = row.members[index]
    if context.live(member) and member.worst is not None:
        return device_cell(member.worst, context, width, live=True)
    state = state_of(member, context)
    return [(fit(signs.node_glyph(state, context.glyphs), width), signs.filled_role(state))]


def load_cell(row: FleetRow, context: RenderContext, width: int) -> Line:
    """A bar and the mean of the devices."""
    ratio = row.load_ratio
    role = fmt.level_role(ratio) if context.live(row) else "faint"
    return _barred(ratio, fmt.percent(ratio), width, role, context.glyphs)


def memory_cell(row: FleetRow, context: RenderContext, width: int) -> Line:
    """A bar and the share in use; how much where there is room."""
    ratio = row.memory_ratio
    text = fmt.percent(ratio)
    if width >= 24 and row.size:
        text = f"{size(row.used)}/{size(row.size)}"
    role = fmt.memory_role(ratio) if context.live(row) else "faint"
    return _barred(ratio, text, width, role, context.glyphs)


def _barred(ratio: float | None, text: str, width: int, role: str, glyphs: Glyphs) -> Line:
    text_width = max(4, len(text))
    room = width - text_width - 1
    shown = "faint" if ratio is None or role == "faint" else "text"
    if room < 4:
        return [(fit(text, width, right=True), shown)]
    bar = fmt.bar(ratio, room, glyphs, role)
    return [*bar, (" ", "text"), (fit(text, text_width, right=True), shown)]


def power_cell(row: FleetRow, context: RenderContext, width: int) -> Line:
    """The sum of the devices."""
    role = "text" if row.power is not None and context.live(row) else "faint"
    return [(fit(watts(row.power), width, right=True), role)]


def watts(value: Number | None) -> str:
    """`642 W`, `4.8 kW`, `1.2 MW`."""
    if value is None:
        return fmt.NOTHING
    for limit, divisor, unit in ((1e3, 1, "W"), (1e6, 1e3, "kW")):
        if value < limit - 0.5:
            shown = value / divisor
            return f"{shown:.{1 if divisor > 1 and shown < 99.95 else 0}f} {unit}"
    return f"{value / 1e6:.2f} MW"


def heat_cell(row: FleetRow, context: RenderContext, width: int) -> Line:
    """The hottest device."""
    hot = row.hottest
    if hot is None:
        return [(fit(fmt.NOTHING, width, right=True), "faint")]
    role = "faint" if not context.live(row) else "warn" if row.hot else "text"
    return [(fit(f"{hot:.0f}{context.glyphs.degree}C", width, right=True), role)]
