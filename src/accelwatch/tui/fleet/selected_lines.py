"""The selected row of the fleet's list in whole sentences, for the lines below the table. Pure."""

from accelwatch.fleet.odd.documents import text_of
from accelwatch.fleet.picture import grouping
from accelwatch.fleet.picture.ordering import ordered
from accelwatch.fleet.picture.tally import FleetRow, device_class
from accelwatch.schema.display import printable
from accelwatch.tui.drawing import device_signs
from accelwatch.tui.drawing import format as fmt
from accelwatch.tui.drawing import node_signs as signs
from accelwatch.tui.drawing.lines import Line, wrapped_in
from accelwatch.tui.drawing.sentence import verdict_text
from accelwatch.tui.fleet.cells import verdict_cells, work_cells
from accelwatch.tui.fleet.cells.render_context import RenderContext, state_of


def selected_lines(
    row: FleetRow | None, context: RenderContext, width: int, height: int
) -> list[Line]:
    """What is wrong with the row and what to do, uncut where there is room; else what it is."""
    if row is None:
        return []
    text, role = _wrong(row, context) if row.severity else _well(row, context)
    shown = printable(text, ascii_only=context.glyphs.ascii_only)
    rows = wrapped_in(shown, max(width - 2, 1), height, context.glyphs.ellipsis)
    return [[(" ", "text"), (row, role)] for row in rows]


def _well(row: FleetRow, context: RenderContext) -> tuple[str, str]:
    """What it is; before it what the detector suspects it of."""
    text, finding = _what(row, context), _finding_text(row)
    if not finding:
        return text, "dim"
    return f"{finding}  {text}", "bad" if row.node and row.finding_rank == 2 else "warn"


def _finding_text(row: FleetRow) -> str:
    """`ALERT: n003/nvidia3 draws 9 % less power ...`; of a group whom the detector suspects."""
    if row.finding is not None:
        level = row.finding.text.partition(" ")[0]
        return f"{level}: {row.finding.sentence}"
    suspects = [
        f"{member.node} ({member.finding.text})"
        for member in ordered(row.members, "finding", descending=True)
        if member.finding is not None
    ]
    return f"the detector suspects {', '.join(suspects)}" if suspects else ""


def _wrong(row: FleetRow, context: RenderContext) -> tuple[str, str]:
    text, role = _trouble(row, context)
    finding = _finding_text(row)
    return f"{text}  {finding}" if finding else text, role


def _trouble(row: FleetRow, context: RenderContext) -> tuple[str, str]:
    if not row.node:
        return _members(row, context), "warn"
    state = state_of(row, context)
    text, role = verdict_cells.trouble(row, context)
    if row.worst is None or not context.live(row):
        age = "" if row.age_s is None else f" for {fmt.ago(row.age_s + context.since_s)}"
        why = f": {row.why}" if row.why else ""
        sign = signs.node_glyph(state, context.glyphs)
        return f"{row.node} {sign} {state}{age}{why}", signs.NODE_ROLES.get(state, "warn")
    device = context.board.device(row.worst.slot)
    if device is not None:
        status = device_class(row.worst)
        sign = device_signs.device_glyph(status, context.glyphs)
        more = f" (+{_others(row)} more)" if _others(row) else ""
        text = f"{row.node}/{device.name} {sign} {device_signs.device_status_text(status)}{more}"
    verdict = verdict_cells.verdict(row.worst, context)
    separator = ": " if verdict.summary else " "
    return f"{text}{separator}{verdict_text(verdict, context.glyphs)}".strip(), role


def _others(row: FleetRow) -> int:
    """Devices of a node with which something is wrong besides the worst."""
    return sum(device_class(now) != "ok" for now in row.devices) - 1


def _members(row: FleetRow, context: RenderContext) -> str:
    """The nodes of a group with which something is wrong, worst first."""
    wrong = [member for member in row.members if member.severity]
    texts = []
    for member in ordered(wrong, "worst", descending=True):
        text, _ = verdict_cells.trouble(member, context)
        texts.append(f"{member.node} {text or state_of(member, context)}")
    return f"{grouping.title(context.group, row.group)}: {f' {context.glyphs.dot} '.join(texts)}"


def _what(row: FleetRow, context: RenderContext) -> str:
    if not row.node:
        well = "" if row.finding_rank else ", all well"
        return f"{grouping.title(context.group, row.group)}: {len(row.members)} nodes{well}"
    devices = [context.board.device(now.slot) for now in row.devices]
    models = dict.fromkeys(
        device.model for device in devices if device is not None and device.model
    )
    labels = " ".join(f"{name}={value}" for name, value in row.labels.items())
    fragments = [f"{len(row.devices)} x {', '.join(models)}" if models else "", labels]
    fragments.append(work_cells.work(row, context))
    fragments.append(text_of(row.odd))
    fragments.append("" if row.lemon is None else row.lemon.sentence)
    return "  ".join([row.node, *filter(None, fragments)])
