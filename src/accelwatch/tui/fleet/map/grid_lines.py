"""The map of the fleet as lines: cells, heads of groups, and the selected device in words. Pure."""

from accelwatch.fleet.names import NodeState
from accelwatch.fleet.picture import grouping
from accelwatch.fleet.picture.model import MEMORY_SIZE, MEMORY_USED, POWER, TEMPERATURE, UTILIZATION
from accelwatch.fleet.picture.ordering import ordered
from accelwatch.fleet.picture.tally import FleetRow, device_class
from accelwatch.fleet.wire import DeviceNow, DeviceSlot
from accelwatch.schema.display import printable, size
from accelwatch.schema.status.device_status import HOT
from accelwatch.tui.drawing import device_signs
from accelwatch.tui.drawing import format as fmt
from accelwatch.tui.drawing import node_signs as signs
from accelwatch.tui.drawing.lines import Line, cell_len, width_of
from accelwatch.tui.drawing.sentence import sentence
from accelwatch.tui.fleet.cells import value_cells, verdict_cells, work_cells
from accelwatch.tui.fleet.cells.device_cell import device_cell
from accelwatch.tui.fleet.cells.render_context import RenderContext, state_of
from accelwatch.tui.fleet.grid_shape import NUMBERED, GridShape
from accelwatch.tui.fleet.map.grid import Block, Cell, GridLine

# From here figures have their names.
_WIDE = 100
# The states whose signs the legend explains, worst first.
_LEGEND_STATUSES = (
    "lost",
    "missing",
    "unresponsive",
    "failed",
    "degraded",
    HOT,
    "unreachable",
    "stale",
)
# What the first and the last level mean.
_SCALE_LABELS = {"load": ("idle", "busy"), "memory": ("empty", "full"), "temperature": ("30", "90")}


def grid_line(line: GridLine, context: RenderContext, shape: GridShape) -> Line:
    """A line of cells with the names of their nodes, or the head of a group."""
    if line.head is not None:
        return head_line(line.head, context)
    spans: Line = []
    x = 0
    for number, block in enumerate(line.blocks):
        name = shape.name if shape.every or not number else 0
        shown = block_cells(block, context)
        spans.append((" " * (block.x - name - x), "text"))
        spans += [*_name(block, context, name), *shown]
        x = block.x + width_of(shown)
    return spans


def _name(block: Block, context: RenderContext, width: int) -> Line:
    """The node in so many cells, of which the last is a gap; filled where it is down."""
    if not width:
        return []
    if block.first:
        return [(" " * width, "text")]
    row = block.row
    shown = context.node(row.node, width - 1)
    state = state_of(row, context)
    role = "dim" if state == "up" and not row.severity else signs.filled_role(state)
    if role == "calm":
        role = "strong"
    return [(shown, role), (" " * (width - cell_len(shown)), "text")]


def block_cells(block: Block, context: RenderContext) -> Line:
    """The cells of a node."""
    row = block.row
    if not row.devices:
        state = state_of(row, context)
        label = f" {state}" if block.cell >= NUMBERED else ""
        role = signs.NODE_ROLES.get(state, "warn")
        return [(f"{signs.node_glyph(state, context.glyphs)}{label}", role)]
    live = context.live(row)
    spans: Line = []
    for index, now in enumerate(row.devices[block.first : block.first + block.count]):
        spans += device_cell(now, context, block.size(index), live=live)
    return spans


def head_line(row: FleetRow, context: RenderContext) -> Line:
    """A group in a line above its cells."""
    name = printable(grouping.title(context.group, row.group), ascii_only=context.glyphs.ascii_only)
    totals = f"  {len(row.members)} nodes  {row.total - row.bad}/{row.total} ok"
    totals += f"  load {fmt.percent(row.load_ratio)}  {value_cells.watts(row.power)}  "
    worst = verdict_cells.worst_cell(row, context, 30)
    return [(" ", "text"), (name, "strong"), (totals, "dim"), *worst]


def wrong_line(context: RenderContext, width: int) -> Line:
    """What is wrong in the fleet, the worst first, as much of it as fits; empty when all is well."""
    rows = ordered(_wrong(context), "worst", descending=True)
    if not rows:
        return []
    count = sum(row.bad or 1 for row in rows)
    line: Line = [(f" {count} wrong: ", "strong")]
    hint: Line = [("   x", "key"), (" next ", "dim")]
    for number, row in enumerate(rows):
        text, role = verdict_cells.trouble(row, context)
        entry: Line = [
            (f" {context.glyphs.dot} " if number else "", "faint"),
            (f"{row.node} {text}", role),
        ]
        more = f" +{len(rows) - number}"
        if width_of([*line, *entry, *hint]) + len(more) > width and number:
            line.append((more, "dim"))
            break
        line += entry
    return [*line, *hint]


def _wrong(context: RenderContext) -> list[FleetRow]:
    counted = context.board.counted
    rows = counted.rows.values() if counted is not None else ()
    return [row for row in rows if row.severity and row.state != NodeState.NEVER]


def legend(context: RenderContext, width: int) -> Line:
    """What the signs mean, the shades first; as many as fit."""
    glyphs = context.glyphs
    low, high = _SCALE_LABELS[context.shade]
    line: Line = [(f" {context.shade} ", "dim"), (glyphs.low_levels[0], "quiet0")]
    line += [(f" {low} ", "dim"), (glyphs.low_levels[-1], "quiet2"), (f" {high}  ", "dim")]
    for status in _LEGEND_STATUSES:
        sign = device_signs.device_glyph(status, glyphs)
        shown: Line = [
            (sign, device_signs.filled_role(status)),
            (f" {device_signs.device_status_text(status)}  ", "dim"),
        ]
        if width_of(line) + width_of(shown) <= width:
            line += shown
    return line


def detail(
    cell: Cell | None, row: FleetRow | None, context: RenderContext, width: int
) -> list[Line]:
    """The selected cell in two lines: which device and state; its figures and whose work it does."""
    if cell is None or row is None:
        return [[(" nothing is selected", "dim")], []]
    state = state_of(row, context)
    age = "" if row.age_s is None else f" {fmt.age(row.age_s + context.since_s)}"
    node: Line = [
        (f" {context.cut(row.node, min(len(row.node), width))}", "strong"),
        ("  ", "text"),
        (f"{signs.node_glyph(state, context.glyphs)} {state}{age}", signs.NODE_ROLES[state]),
    ]
    location = context.board.device(cell[1]) if cell[1] >= 0 else None
    now = next((device for device in row.devices if device.slot == cell[1]), None)
    if location is None or now is None:
        return [[*node, ("   no device is known", "dim")], _labels(row, context)]
    who = [*node, *_who(location, now, context)]
    return [
        [*who, *_sentence(now, context, width - width_of(who))],
        _figures(location, now, row, context, width),
    ]


def _sentence(now: DeviceNow, context: RenderContext, width: int) -> Line:
    """What is wrong with the device and what to do."""
    role = device_signs.device_role(device_class(now))
    if role == "ok" or width < 3:
        return []
    return [
        ("  ", role),
        *sentence(verdict_cells.verdict(now, context), width - 2, context.glyphs, role),
    ]


def _who(device: DeviceSlot, now: DeviceNow, context: RenderContext) -> Line:
    status = device_class(now)
    ascii_only = context.glyphs.ascii_only
    sign = device_signs.device_glyph(status, context.glyphs)
    return [
        (f"   {printable(device.name, ascii_only=ascii_only)}  ", "strong"),
        (f"{sign} {device_signs.device_status_text(status)}", device_signs.device_role(status)),
        (f"   {printable(device.model or device.kind, ascii_only=ascii_only)}", "dim"),
    ]


def _figures(
    device: DeviceSlot, now: DeviceNow, row: FleetRow, context: RenderContext, width: int
) -> Line:
    role = "text" if context.live(row) else "faint"
    values = now.values
    used, total, hot = values[MEMORY_USED], values[MEMORY_SIZE], values[TEMPERATURE]
    memory = fmt.NOTHING if used is None else size(used) + (f" of {size(total)}" if total else "")
    warm = fmt.NOTHING if hot is None else f"{hot:.0f}{context.glyphs.degree}C"
    shown = [
        ("load", fmt.percent(values[UTILIZATION])),
        ("memory", memory),
        ("power", value_cells.watts(values[POWER])),
        ("temperature", warm),
    ]
    line: Line = []
    for name, text in shown:
        line += [(f" {name}" if width >= _WIDE else "", "dim"), (f" {text} ", role)]
    for name in ("job", "user", "pod"):
        if owner := getattr(device, name):
            text = printable(owner, ascii_only=context.glyphs.ascii_only)
            line += [(f" {name} ", "dim"), (text, "text")]
    return line


def _labels(row: FleetRow, context: RenderContext) -> Line:
    return [(" ", "text"), *work_cells.labels_cell(row, context, 60)]
