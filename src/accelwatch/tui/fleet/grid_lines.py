"""The lights of the fleet as lines: cells, heads of groups, and the selected device in words. Pure."""

from accelwatch.display import printable, size
from accelwatch.fleet.picture import grouping
from accelwatch.fleet.picture.model import MEMORY_SIZE, MEMORY_USED, POWER, TEMPERATURE, UTILIZATION
from accelwatch.fleet.picture.tally import FleetRow, device_class
from accelwatch.fleet.wire import DeviceNow, DevicePlace
from accelwatch.schema.standing import HOT
from accelwatch.tui.drawing import device_signs
from accelwatch.tui.drawing import format as fmt
from accelwatch.tui.drawing.lines import Line, width_of
from accelwatch.tui.drawing.sentence import sentence
from accelwatch.tui.fleet import cells, signs
from accelwatch.tui.fleet.cells import Sight, light
from accelwatch.tui.fleet.grid import Block, Cell, GridLine

_WIDE = 100
"""From here figures have their names."""
_ENDS = {"load": ("idle", "busy"), "memory": ("empty", "full"), "temperature": ("30", "90")}
"""What the first and the last level mean."""


def grid_line(line: GridLine, sight: Sight, margin: int) -> Line:
    """A line of cells with the name of its first node, or the head of a group."""
    if line.head is not None:
        return head_line(line.head, sight)
    name = line.blocks[0].row.node
    given: Line = [(" ", "text")]
    if margin:
        given = [(f" {sight.cut(sight.node(name, margin - 1), margin - 1)} ", "dim")]
    for number, block in enumerate(line.blocks):
        if number:
            given.append((" ", "text"))
        given += block_cells(block, sight)
    return given


def block_cells(block: Block, sight: Sight) -> Line:
    """The cells of a node; neighbours in the same role are one span."""
    row = block.row
    if not row.devices:
        state = cells.state_of(row, sight)
        role = signs.NODE_ROLES.get(state, "warn")
        return [(signs.node_glyph(state, sight.glyphs), role)]
    live = sight.live(row)
    given: Line = []
    for now in row.devices[block.first : block.first + block.count]:
        sign, role = light(now, sight, live=live)
        if given and given[-1][1] == role:
            given[-1] = (given[-1][0] + sign, role)
        else:
            given.append((sign, role))
    return given


def head_line(row: FleetRow, sight: Sight) -> Line:
    """A group in a line above its cells."""
    name = printable(grouping.title(sight.group, row.group), ascii_only=sight.glyphs.ascii_only)
    totals = f"  {len(row.members)} nodes  {row.whole - row.bad}/{row.whole} ok"
    totals += f"  load {fmt.percent(row.load_ratio)}  {cells.watts(row.power)}  "
    worst = cells.worst_cell(row, sight, 30)
    return [(" ", "text"), (name, "strong"), (totals, "dim"), *worst]


def legend(sight: Sight, width: int) -> Line:
    """What the signs mean, the loads first; as many as fit."""
    glyphs = sight.glyphs
    low, high = _ENDS[sight.shade]
    line: Line = [(f" {sight.shade} ", "dim"), (glyphs.levels[0], "faint"), (f" {low} ", "dim")]
    line += [(glyphs.levels[-1], "load"), (f" {high}  ", "dim")]
    for word in (
        "lost",
        "missing",
        "unresponsive",
        "failed",
        "degraded",
        HOT,
        "unreachable",
        "stale",
    ):
        sign = device_signs.device_glyph(word, glyphs)
        shown: Line = [
            (sign, device_signs.device_role(word)),
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
