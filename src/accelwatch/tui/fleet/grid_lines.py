"""The map of the fleet as lines: cells, heads of groups, and the selected device in words. Pure."""

from accelwatch.exposition.display import printable, size
from accelwatch.fleet.names import NodeState
from accelwatch.fleet.picture import grouping
from accelwatch.fleet.picture.model import MEMORY_SIZE, MEMORY_USED, POWER, TEMPERATURE, UTILIZATION
from accelwatch.fleet.picture.ordering import ordered
from accelwatch.fleet.picture.tally import FleetRow, device_class
from accelwatch.fleet.wire import DeviceNow, DevicePlace
from accelwatch.schema.standing import HOT
from accelwatch.tui.drawing import device_signs
from accelwatch.tui.drawing import format as fmt
from accelwatch.tui.drawing.lines import Line, cell_len, width_of
from accelwatch.tui.drawing.sentence import sentence
from accelwatch.tui.fleet import cells, signs
from accelwatch.tui.fleet.cells import Sight
from accelwatch.tui.fleet.device_cell import device_cell
from accelwatch.tui.fleet.grid import Block, Cell, GridLine
from accelwatch.tui.fleet.grid_shape import NUMBERED, GridShape

_WIDE = 100
"""From here figures have their names."""
_WORDS = (
    "lost",
    "missing",
    "unresponsive",
    "failed",
    "degraded",
    HOT,
    "unreachable",
    "stale",
)
"""What the signs stand for that the legend tells, worst first."""
_ENDS = {"load": ("idle", "busy"), "memory": ("empty", "full"), "temperature": ("30", "90")}
"""What the first and the last level mean."""


def grid_line(line: GridLine, sight: Sight, shape: GridShape) -> Line:
    """A line of cells with the names of their nodes, or the head of a group."""
    if line.head is not None:
        return head_line(line.head, sight)
    given: Line = []
    x = 0
    for number, block in enumerate(line.blocks):
        name = shape.name if shape.every or not number else 0
        shown = block_cells(block, sight)
        given.append((" " * (block.x - name - x), "text"))
        given += [*_name(block, sight, name), *shown]
        x = block.x + width_of(shown)
    return given


def _name(block: Block, sight: Sight, width: int) -> Line:
    """The node in so many cells, of which the last is a gap; filled where it is down."""
    if not width:
        return []
    if block.first:
        return [(" " * width, "text")]
    row = block.row
    shown = sight.node(row.node, width - 1)
    state = cells.state_of(row, sight)
    role = "dim" if state == "up" and not row.severity else signs.filled_role(state)
    if role == "calm":
        role = "strong"
    return [(shown, role), (" " * (width - cell_len(shown)), "text")]


def block_cells(block: Block, sight: Sight) -> Line:
    """The cells of a node."""
    row = block.row
    if not row.devices:
        state = cells.state_of(row, sight)
        word = f" {state}" if block.cell >= NUMBERED else ""
        role = signs.NODE_ROLES.get(state, "warn")
        return [(f"{signs.node_glyph(state, sight.glyphs)}{word}", role)]
    live = sight.live(row)
    given: Line = []
    for place, now in enumerate(row.devices[block.first : block.first + block.count]):
        given += device_cell(now, sight, block.size(place), live=live)
    return given


def head_line(row: FleetRow, sight: Sight) -> Line:
    """A group in a line above its cells."""
    name = printable(grouping.title(sight.group, row.group), ascii_only=sight.glyphs.ascii_only)
    totals = f"  {len(row.members)} nodes  {row.whole - row.bad}/{row.whole} ok"
    totals += f"  load {fmt.percent(row.load_ratio)}  {cells.watts(row.power)}  "
    worst = cells.worst_cell(row, sight, 30)
    return [(" ", "text"), (name, "strong"), (totals, "dim"), *worst]


def wrong_line(sight: Sight, width: int) -> Line:
    """What is wrong in the fleet, the worst first, as much of it as fits; empty when all is well."""
    rows = ordered(_wrong(sight), "worst", descending=True)
    if not rows:
        return []
    count = sum(row.bad or 1 for row in rows)
    line: Line = [(f" {count} wrong: ", "strong")]
    hint: Line = [("   x", "key"), (" next ", "dim")]
    for number, row in enumerate(rows):
        text, role = cells.trouble(row, sight)
        said: Line = [
            (f" {sight.glyphs.dot} " if number else "", "faint"),
            (f"{row.node} {text}", role),
        ]
        more = f" +{len(rows) - number}"
        if width_of([*line, *said, *hint]) + len(more) > width and number:
            line.append((more, "dim"))
            break
        line += said
    return [*line, *hint]


def _wrong(sight: Sight) -> list[FleetRow]:
    counted = sight.board.counted
    rows = counted.rows.values() if counted is not None else ()
    return [row for row in rows if row.severity and row.state != NodeState.NEVER]


def legend(sight: Sight, width: int) -> Line:
    """What the signs mean, the shades first; as many as fit."""
    glyphs = sight.glyphs
    low, high = _ENDS[sight.shade]
    line: Line = [(f" {sight.shade} ", "dim"), (glyphs.low_levels[0], "quiet0")]
    line += [(f" {low} ", "dim"), (glyphs.low_levels[-1], "quiet2"), (f" {high}  ", "dim")]
    for word in _WORDS:
        sign = device_signs.device_glyph(word, glyphs)
        shown: Line = [
            (sign, device_signs.filled_role(word)),
            (f" {device_signs.device_word(word)}  ", "dim"),
        ]
        if width_of(line) + width_of(shown) <= width:
            line += shown
    return line


def detail(cell: Cell | None, row: FleetRow | None, sight: Sight, width: int) -> list[Line]:
    """The selected cell in two lines: which device and state; its figures and whose work it does."""
    if cell is None or row is None:
        return [[(" nothing is selected", "dim")], []]
    state = cells.state_of(row, sight)
    age = "" if row.age_s is None else f" {fmt.age(row.age_s + sight.since_s)}"
    node: Line = [
        (f" {sight.cut(row.node, min(len(row.node), width))}", "strong"),
        ("  ", "text"),
        (f"{signs.node_glyph(state, sight.glyphs)} {state}{age}", signs.NODE_ROLES[state]),
    ]
    place = sight.board.device(cell[1]) if cell[1] >= 0 else None
    now = next((device for device in row.devices if device.slot == cell[1]), None)
    if place is None or now is None:
        return [[*node, ("   no device is known", "dim")], _labels(row, sight)]
    who = [*node, *_who(place, now, sight)]
    return [
        [*who, *_sentence(now, sight, width - width_of(who))],
        _figures(place, now, row, sight, width),
    ]


def _sentence(now: DeviceNow, sight: Sight, width: int) -> Line:
    """What is wrong with the device and what to do."""
    role = device_signs.device_role(device_class(now))
    if role == "ok" or width < 3:
        return []
    return [("  ", role), *sentence(cells.verdict(now, sight), width - 2, sight.glyphs, role)]


def _who(place: DevicePlace, now: DeviceNow, sight: Sight) -> Line:
    word = device_class(now)
    ascii_only = sight.glyphs.ascii_only
    sign = device_signs.device_glyph(word, sight.glyphs)
    return [
        (f"   {printable(place.name, ascii_only=ascii_only)}  ", "strong"),
        (f"{sign} {device_signs.device_word(word)}", device_signs.device_role(word)),
        (f"   {printable(place.model or place.kind, ascii_only=ascii_only)}", "dim"),
    ]


def _figures(place: DevicePlace, now: DeviceNow, row: FleetRow, sight: Sight, width: int) -> Line:
    role = "text" if sight.live(row) else "faint"
    values = now.values
    used, whole, hot = values[MEMORY_USED], values[MEMORY_SIZE], values[TEMPERATURE]
    memory = fmt.NOTHING if used is None else size(used) + (f" of {size(whole)}" if whole else "")
    warm = fmt.NOTHING if hot is None else f"{hot:.0f}{sight.glyphs.degree}C"
    shown = [
        ("load", fmt.percent(values[UTILIZATION])),
        ("memory", memory),
        ("power", cells.watts(values[POWER])),
        ("temperature", warm),
    ]
    line: Line = []
    for name, text in shown:
        line += [(f" {name}" if width >= _WIDE else "", "dim"), (f" {text} ", role)]
    for name in ("job", "user", "pod"):
        if owner := getattr(place, name):
            text = printable(owner, ascii_only=sight.glyphs.ascii_only)
            line += [(f" {name} ", "dim"), (text, "text")]
    return line


def _labels(row: FleetRow, sight: Sight) -> Line:
    return [(" ", "text"), *cells.labels_cell(row, sight, 60)]
