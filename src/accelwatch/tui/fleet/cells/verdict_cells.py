"""The cells that say what is wrong with a node or group, in words."""

from collections import Counter

from accelwatch.fleet.odd.documents import fields_of
from accelwatch.fleet.picture.tally import FleetRow, device_class
from accelwatch.fleet.wire import DeviceNow
from accelwatch.schema.status.device_status import severity
from accelwatch.schema.status.verdict import Verdict, remedy_of
from accelwatch.tui.drawing import device_signs
from accelwatch.tui.drawing import node_signs as signs
from accelwatch.tui.drawing.lines import Line, cell_len, fit
from accelwatch.tui.drawing.sentence import sentence
from accelwatch.tui.fleet.cells.render_context import RenderContext

_LEAST_SENTENCE = 12

# Cells below which there is no room to say more than a state.
_LEAST_NODE = 4


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
    """What a rule has found about a device, else the remedy for its state."""
    device = context.board.device(now.slot)
    incident = context.board.incidents.about(device.node, device.id) if device is not None else None
    if incident is None:
        return Verdict(remedy=remedy_of(device_class(now), now.health))
    evidence = ", ".join(note.text.removesuffix(".") for note in incident.evidence)
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
