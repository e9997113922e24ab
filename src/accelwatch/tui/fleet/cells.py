"""The cells of a row of the fleet: one function a column, each giving a line of any width. Pure."""

from collections import Counter

import msgspec

from accelwatch.exposition.display import printable, size
from accelwatch.fleet.names import SPEAKING
from accelwatch.fleet.odd.documents import fields_of
from accelwatch.fleet.picture import grouping
from accelwatch.fleet.picture.tally import FleetRow, device_class
from accelwatch.fleet.wire import DeviceNow
from accelwatch.schema.natural_order import natural
from accelwatch.schema.reading import Number
from accelwatch.schema.standing import severity
from accelwatch.schema.verdict import Verdict, remedy_of
from accelwatch.tui.drawing import device_signs
from accelwatch.tui.drawing import format as fmt
from accelwatch.tui.drawing.device_signs import FILLED
from accelwatch.tui.drawing.glyphs import Glyphs
from accelwatch.tui.drawing.lines import Line, cell_len, fit, width_of
from accelwatch.tui.drawing.sentence import sentence
from accelwatch.tui.fleet import signs
from accelwatch.tui.fleet.board import FleetBoard
from accelwatch.tui.fleet.device_cell import device_cell
from accelwatch.tui.fleet.node_names import NONE, shortened

_LEAST_SENTENCE = 12
_LEAST_NODE = 4
"""Cells below which there is no room to say more than a state."""


class Sight(msgspec.Struct, frozen=True, kw_only=True):
    """How rows are looked at during one painting."""

    board: FleetBoard
    glyphs: Glyphs
    group: str
    """By what they are grouped."""
    shade: str
    plot: str
    """Which graph: `braille`, `block` or `ascii`."""
    since_s: float
    silent: bool

    def live(self, row: FleetRow) -> bool:
        """Whether the row's values are of now."""
        return not self.silent and (row.speaks or not row.node)

    def cut(self, text: str, width: int, *, right: bool = False) -> str:
        """Text of others in exactly so many cells."""
        shown = printable(text, ascii_only=self.glyphs.ascii_only)
        return fit(shown, width, right=right, ellipsis=self.glyphs.ellipsis)

    def node(self, name: str, width: int) -> str:
        """A node's name in at most so many cells, with what tells it from the others."""
        shown = printable(name, ascii_only=self.glyphs.ascii_only)
        ends = self.board.ends if shown == name else NONE
        return shortened(shown, width, ends, self.glyphs.ellipsis)


def state_of(row: FleetRow, sight: Sight) -> str:
    """The state as it is shown: what was up is stale when the hub has fallen silent."""
    return "stale" if sight.silent and row.state in SPEAKING else row.state


def state_cell(row: FleetRow, sight: Sight, width: int) -> Line:
    """Sign and word; of a group those of its worst node, or of the devices that are worse."""
    state = state_of(row, sight)
    chief = row.chief
    if chief is not None and sight.live(chief) and chief.worst is not None:
        standing = device_class(chief.worst)
        sign = device_signs.device_glyph(standing, sight.glyphs)
        text = f"{sign} {f'{row.bad} bad' if row.bad else 'warn'}"
        return [(fit(text if width >= 3 else sign, width), device_signs.device_role(standing))]
    glyph = signs.node_glyph(state, sight.glyphs)
    text = glyph if width < 3 else f"{glyph} {state}"
    return [(fit(text, width), signs.NODE_ROLES.get(state, "warn"))]


def name_cell(row: FleetRow, sight: Sight, width: int) -> Line:
    """The node; a group with the number of its nodes."""
    if row.node:
        indent = "  " if sight.board.grouped else ""
        name = indent + sight.node(row.node, width - len(indent))
        return [(sight.cut(name, width), "strong")]
    glyphs = sight.glyphs
    sign = glyphs.fold if row.group in sight.board.unfolded else glyphs.folded
    count = f" {len(row.members)}n"
    room = width - len(sign) - len(count)
    name = grouping.title(sight.group, row.group)
    name = shortened(name, max(room, 3), NONE, glyphs.ellipsis)
    shown = sight.cut(name, max(room, 3))
    return [(sign, "accent"), (shown, "strong"), (fit(count, width - len(sign) - room), "dim")]


def age_cell(row: FleetRow, sight: Sight, width: int) -> Line:
    """How long ago it was heard; of a group the oldest that still speaks."""
    age = None if row.age_s is None else row.age_s + sight.since_s
    state = state_of(row, sight)
    role = "dim" if state == "up" else signs.NODE_ROLES.get(state, "warn")
    if not row.node:
        role = "warn" if sight.silent else "dim"
    return [(fit(fmt.age(age), width, right=True), role if age is not None else "faint")]


def count_cell(row: FleetRow, sight: Sight, width: int) -> Line:
    """Devices that can be counted on, of all."""
    if not row.whole:
        return [(fit(fmt.NOTHING, width, right=True), "faint")]
    role = "faint" if not sight.live(row) else "bad" if row.bad else "text"
    return [(fit(f"{row.whole - row.bad}/{row.whole}", width, right=True), role)]


def lights_cell(row: FleetRow, sight: Sight, width: int) -> Line:
    """A cell a device, of a group a cell a node, a fault two wide; an ellipsis for those left out."""
    things = row.devices if row.node else row.members
    room = width if len(things) < width else width - 1
    line: Line = []
    for place in range(min(len(things), room)):
        light = _light(row, place, sight, 2)
        if light[0][1] not in FILLED or width_of(line) + len(things) - place >= room:
            light = _light(row, place, sight, 1)
        line += light
    if len(things) > room:
        line.append((sight.glyphs.ellipsis, "faint"))
    return [*line, (" " * (width - width_of(line)), "text")]


def _light(row: FleetRow, place: int, sight: Sight, width: int) -> Line:
    """A device of a node; a node of a group, which is as well as the worst device of it."""
    if row.node:
        return device_cell(row.devices[place], sight, width, live=sight.live(row))
    member = row.members[place]
    if sight.live(member) and member.worst is not None:
        return device_cell(member.worst, sight, width, live=True)
    state = state_of(member, sight)
    return [(fit(signs.node_glyph(state, sight.glyphs), width), signs.filled_role(state))]


def load_cell(row: FleetRow, sight: Sight, width: int) -> Line:
    """A bar and the mean of the devices."""
    ratio = row.load_ratio
    role = fmt.level_role(ratio) if sight.live(row) else "faint"
    return _barred(ratio, fmt.percent(ratio), width, role, sight.glyphs)


def memory_cell(row: FleetRow, sight: Sight, width: int) -> Line:
    """A bar and the share in use; how much where there is room."""
    ratio = row.memory_ratio
    text = fmt.percent(ratio)
    if width >= 24 and row.size:
        text = f"{size(row.used)}/{size(row.size)}"
    role = fmt.memory_role(ratio) if sight.live(row) else "faint"
    return _barred(ratio, text, width, role, sight.glyphs)


def _barred(ratio: float | None, text: str, width: int, role: str, glyphs: Glyphs) -> Line:
    text_width = max(4, len(text))
    room = width - text_width - 1
    shown = "faint" if ratio is None or role == "faint" else "text"
    if room < 4:
        return [(fit(text, width, right=True), shown)]
    bar = fmt.bar(ratio, room, glyphs, role)
    return [*bar, (" ", "text"), (fit(text, text_width, right=True), shown)]


def power_cell(row: FleetRow, sight: Sight, width: int) -> Line:
    """The sum of the devices."""
    role = "text" if row.power is not None and sight.live(row) else "faint"
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


def heat_cell(row: FleetRow, sight: Sight, width: int) -> Line:
    """The hottest device."""
    hot = row.hottest
    if hot is None:
        return [(fit(fmt.NOTHING, width, right=True), "faint")]
    role = "faint" if not sight.live(row) else "warn" if row.hot else "text"
    return [(fit(f"{hot:.0f}{sight.glyphs.degree}C", width, right=True), role)]


def worst_cell(row: FleetRow, sight: Sight, width: int) -> Line:
    """What is wrong, in words: the gravest thing first, how much more there is, and what to do."""
    text, role = _group_trouble(row, sight, width) if not row.node else trouble(row, sight)
    if row.worst is None or not row.node:
        return [(sight.cut(text, width), role)]
    head = sight.cut(text, min(width, cell_len(text)))
    room = width - cell_len(head) - 2
    if room < _LEAST_SENTENCE:
        return [(fit(head, width), role)]
    return [(f"{head}  ", role), *sentence(verdict(row.worst, sight), room, sight.glyphs, role)]


def verdict(now: DeviceNow, sight: Sight) -> Verdict:
    """What a rule has found about a device, else what its state asks for."""
    place = sight.board.device(now.slot)
    found = sight.board.incidents.about(place.node, place.id) if place is not None else None
    if found is None:
        return Verdict(remedy=remedy_of(device_class(now), now.health))
    evidence = ", ".join(note.text for note in found.evidence)
    return Verdict(said=found.title, remedy=found.what_to_do, evidence=evidence)


def _group_trouble(row: FleetRow, sight: Sight, width: int) -> tuple[str, str]:
    chief = row.chief
    if chief is None or not row.severity:
        return "", "dim"
    others = sum(member.severity > 0 for member in row.members) - 1
    more = f" +{others}" if others else ""
    if not chief.speaks or chief.worst is None:
        glyph = signs.node_glyph(chief.state, sight.glyphs)
        role = signs.NODE_ROLES.get(chief.state, "warn")
        said, device = chief.state, ""
    else:
        word = device_class(chief.worst)
        glyph, role = device_signs.device_glyph(word, sight.glyphs), device_signs.device_role(word)
        said = device_signs.device_word(word)
        place = sight.board.device(chief.worst.slot)
        device = f"/{place.name}" if place is not None else ""
    room = width - len(f"{glyph} {device} {said}{more}")
    if device and room < _LEAST_NODE:
        # The node without its device would read as if all of it were so.
        return f"{glyph} {device[1:]} {said}{more}", role
    return f"{glyph} {sight.node(chief.node, max(room, 6))}{device} {said}{more}", role


def trouble(row: FleetRow, sight: Sight) -> tuple[str, str]:
    """The gravest standing among a node's devices, and its role."""
    if row.worst is None:
        if row.why:
            return row.why, "bad" if row.speaks else "text"
        if row.state == "never":
            return "has never answered", "dim"
        return ("not heard of", "dim") if not row.speaks else ("", "dim")
    counted = Counter(device_class(now) for now in row.devices)
    word = device_class(row.worst)
    glyph, role = device_signs.device_glyph(word, sight.glyphs), device_signs.device_role(word)
    others = sum(count for other, count in counted.items() if other != word and severity(other))
    more = f" +{others}" if others else ""
    if counted[word] > 1:
        return f"{glyph} {counted[word]} {device_signs.device_word(word)}{more}", role
    place = sight.board.device(row.worst.slot)
    name = place.name if place is not None else ""
    return f"{glyph} {name} {device_signs.device_word(word)}{more}", role


def odd_cell(row: FleetRow, sight: Sight, width: int) -> Line:
    """In which fields the node differs from the many alike; of a group how many nodes do."""
    count = row.odd_count
    if count is None:
        return [(" " * width, "text")]
    if row.node:
        return [(sight.cut(" ".join(fields_of(row.odd)), width), "text")]
    return [(sight.cut(f"{count}n", width), "text")]


def work_cell(row: FleetRow, sight: Sight, width: int) -> Line:
    """Whose work it does: job and user, or how many there are of them."""
    return [(sight.cut(work(row, sight), width), "text")]


def work(row: FleetRow, sight: Sight) -> str:
    """`48121 ada`; with several jobs their number; what the group says already is left out."""
    jobs: set[str] = set()
    users: set[str] = set()
    for part in row.members or (row,):
        for now in part.devices:
            place = sight.board.device(now.slot)
            if place is not None:
                jobs.add(place.job or place.pod or "")
                users.add(place.user or place.namespace or "")
    words = [
        fmt.few(sorted(jobs - {"", row.group}, key=natural), "jobs", 1),
        fmt.few(sorted(users - {"", row.group}, key=natural), "users", 2),
    ]
    return " ".join(word for word in words if word)


def labels_cell(row: FleetRow, sight: Sight, width: int) -> Line:
    """The node's labels; without their names where there is no room for them."""
    labels = {name: value for name, value in row.labels.items() if name != sight.group}
    shown = " ".join(f"{name}={value}" for name, value in labels.items())
    if len(shown) > width:
        shown = " ".join(labels.values())
    return [(sight.cut(shown, width), "dim")]
