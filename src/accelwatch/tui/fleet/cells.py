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
from accelwatch.schema.status.device_status import severity
from accelwatch.schema.status.verdict import Verdict, remedy_of
from accelwatch.tui.drawing import device_signs
from accelwatch.tui.drawing import format as fmt
from accelwatch.tui.drawing import node_signs as signs
from accelwatch.tui.drawing.device_signs import FILLED
from accelwatch.tui.drawing.glyphs import Glyphs
from accelwatch.tui.drawing.lines import Line, cell_len, fit, width_of
from accelwatch.tui.drawing.node_names import NONE, shortened
from accelwatch.tui.drawing.sentence import sentence
from accelwatch.tui.fleet.board import FleetBoard
from accelwatch.tui.fleet.device_cell import device_cell

_LEAST_SENTENCE = 12
# Cells below which there is no room to say more than a state.
_LEAST_NODE = 4


class RenderContext(msgspec.Struct, frozen=True, kw_only=True):
    """How rows are looked at during one painting."""

    board: FleetBoard
    glyphs: Glyphs
    # By what they are grouped.
    group: str
    shade: str
    # Which graph: `braille`, `block` or `ascii`.
    plot: str
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
        affixes = self.board.affixes if shown == name else NONE
        return shortened(shown, width, affixes, self.glyphs.ellipsis)


def state_of(row: FleetRow, context: RenderContext) -> str:
    """The state as it is shown: what was up is stale when the hub has fallen silent."""
    return "stale" if context.silent and row.state in SPEAKING else row.state


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
    """How long ago it was heard; of a group the oldest that still speaks."""
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


def worst_cell(row: FleetRow, context: RenderContext, width: int) -> Line:
    """What is wrong, in words: the gravest thing first, how much more there is, and what to do."""
    text, role = _group_trouble(row, context, width) if not row.node else trouble(row, context)
    if row.worst is None or not row.node:
        return [(context.cut(text, width), role)]
    head = context.cut(text, min(width, cell_len(text)))
    room = width - cell_len(head) - 2
    if room < _LEAST_SENTENCE:
        return [(fit(head, width), role)]
    return [(f"{head}  ", role), *sentence(verdict(row.worst, context), room, context.glyphs, role)]


def verdict(now: DeviceNow, context: RenderContext) -> Verdict:
    """What a rule has found about a device, else what its state asks for."""
    device = context.board.device(now.slot)
    incident = context.board.incidents.about(device.node, device.id) if device is not None else None
    if incident is None:
        return Verdict(remedy=remedy_of(device_class(now), now.health))
    evidence = ", ".join(note.text for note in incident.evidence)
    return Verdict(summary=incident.title, remedy=incident.what_to_do, evidence=evidence)


def _group_trouble(row: FleetRow, context: RenderContext, width: int) -> tuple[str, str]:
    chief = row.chief
    if chief is None or not row.severity:
        return "", "dim"
    others = sum(member.severity > 0 for member in row.members) - 1
    more = f" +{others}" if others else ""
    if not chief.speaks or chief.worst is None:
        glyph = signs.node_glyph(chief.state, context.glyphs)
        role = signs.NODE_ROLES.get(chief.state, "warn")
        label, device = chief.state, ""
    else:
        status = device_class(chief.worst)
        glyph, role = (
            device_signs.device_glyph(status, context.glyphs),
            device_signs.device_role(status),
        )
        label = device_signs.device_status_text(status)
        location = context.board.device(chief.worst.slot)
        device = f"/{location.name}" if location is not None else ""
    room = width - len(f"{glyph} {device} {label}{more}")
    if device and room < _LEAST_NODE:
        # The node without its device would read as if all of it were so.
        return f"{glyph} {device[1:]} {label}{more}", role
    return f"{glyph} {context.node(chief.node, max(room, 6))}{device} {label}{more}", role


def trouble(row: FleetRow, context: RenderContext) -> tuple[str, str]:
    """The gravest standing among a node's devices, and its role."""
    if row.worst is None:
        if row.why:
            return row.why, "bad" if row.speaks else "text"
        if row.state == "never":
            return "has never answered", "dim"
        return ("no data", "dim") if not row.speaks else ("", "dim")
    counted = Counter(device_class(now) for now in row.devices)
    status = device_class(row.worst)
    glyph, role = (
        device_signs.device_glyph(status, context.glyphs),
        device_signs.device_role(status),
    )
    others = sum(count for other, count in counted.items() if other != status and severity(other))
    more = f" +{others}" if others else ""
    if counted[status] > 1:
        return f"{glyph} {counted[status]} {device_signs.device_status_text(status)}{more}", role
    device = context.board.device(row.worst.slot)
    name = device.name if device is not None else ""
    return f"{glyph} {name} {device_signs.device_status_text(status)}{more}", role


def odd_cell(row: FleetRow, context: RenderContext, width: int) -> Line:
    """In which fields the node differs from the many alike; of a group how many nodes do."""
    count = row.odd_count
    if count is None:
        return [(" " * width, "text")]
    if row.node:
        return [(context.cut(" ".join(fields_of(row.odd)), width), "text")]
    return [(context.cut(f"{count}n", width), "text")]


def lemon_cell(row: FleetRow, context: RenderContext, width: int) -> Line:
    """What in the node has failed again and again, and how often; of a group how many nodes have it."""
    if row.node:
        text = "" if row.lemon is None else row.lemon.text
    else:
        text = "" if row.lemon_score is None else f"{row.lemon_score:.0f}n"
    return [(context.cut(text, width) if text else " " * width, "text")]


def finding_cell(row: FleetRow, context: RenderContext, width: int) -> Line:
    """`ALERT nvidia3 power`, `watch host`; of a group in how many nodes something was found."""
    rank = row.finding_rank
    if rank is None:
        return [(" " * width, "text")]
    if row.finding is None:
        return [(context.cut(f"{rank}n", width), "text")]
    role = "faint" if not context.live(row) else "bad" if rank > 1 else "warn"
    return [(context.cut(row.finding.text, width), role)]


def work_cell(row: FleetRow, context: RenderContext, width: int) -> Line:
    """Whose work it does: job and user, or how many there are of them."""
    return [(context.cut(work(row, context), width), "text")]


def work(row: FleetRow, context: RenderContext) -> str:
    """`48121 ada`; with several jobs their number, a job with a name goes by it; what the group says
    already is left out.
    """
    jobs: set[str] = set()
    users: set[str] = set()
    for member in row.members or (row,):
        for now in member.devices:
            device = context.board.device(now.slot)
            if device is not None:
                if row.group not in (device.job, device.job_name):
                    jobs.add(device.job_name or device.job or device.pod or "")
                users.add(device.user or device.namespace or "")
    texts = [
        fmt.few(sorted(jobs - {"", row.group}, key=natural), "jobs", 1),
        fmt.few(sorted(users - {"", row.group}, key=natural), "users", 2),
    ]
    return " ".join(text for text in texts if text)


def labels_cell(row: FleetRow, context: RenderContext, width: int) -> Line:
    """The node's labels; without their names where there is no room for them."""
    labels = {name: value for name, value in row.labels.items() if name != context.group}
    shown = " ".join(f"{name}={value}" for name, value in labels.items())
    if len(shown) > width:
        shown = " ".join(labels.values())
    return [(context.cut(shown, width), "dim")]
