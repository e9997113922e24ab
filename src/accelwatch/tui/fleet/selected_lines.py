"""The selected row of the fleet's list in whole sentences, for the lines below the table. Pure."""

from accelwatch.exposition.display import printable
from accelwatch.fleet.odd.documents import text_of
from accelwatch.fleet.picture import grouping
from accelwatch.fleet.picture.ordering import ordered
from accelwatch.fleet.picture.tally import FleetRow, device_class
from accelwatch.tui.drawing import device_signs
from accelwatch.tui.drawing import format as fmt
from accelwatch.tui.drawing.lines import Line, wrapped_in
from accelwatch.tui.drawing.sentence import in_words
from accelwatch.tui.fleet import cells, signs
from accelwatch.tui.fleet.cells import Sight


def selected_lines(row: FleetRow | None, sight: Sight, width: int, height: int) -> list[Line]:
    """What is wrong with the row and what to do, uncut where there is room; else what it is."""
    if row is None:
        return []
    text, role = _wrong(row, sight) if row.severity else (_what(row, sight), "dim")
    shown = printable(text, ascii_only=sight.glyphs.ascii_only)
    rows = wrapped_in(shown, max(width - 2, 1), height, sight.glyphs.ellipsis)
    return [[(" ", "text"), (row, role)] for row in rows]


def _wrong(row: FleetRow, sight: Sight) -> tuple[str, str]:
    if not row.node:
        return _members(row, sight), "warn"
    state = cells.state_of(row, sight)
    text, role = cells.trouble(row, sight)
    if row.worst is None or not sight.live(row):
        age = "" if row.age_s is None else f" for {fmt.ago(row.age_s + sight.since_s)}"
        why = f": {row.why}" if row.why else ""
        sign = signs.node_glyph(state, sight.glyphs)
        return f"{row.node} {sign} {state}{age}{why}", signs.NODE_ROLES.get(state, "warn")
    place = sight.board.device(row.worst.slot)
    if place is not None:
        word = device_class(row.worst)
        sign = device_signs.device_glyph(word, sight.glyphs)
        more = f" (+{_others(row)} more)" if _others(row) else ""
        text = f"{row.node}/{place.name} {sign} {device_signs.device_word(word)}{more}"
    found = cells.verdict(row.worst, sight)
    mark = ": " if found.said else " "
    return f"{text}{mark}{in_words(found, sight.glyphs)}".strip(), role


def _others(row: FleetRow) -> int:
    """Devices of a node with which something is wrong besides the worst."""
    return sum(device_class(now) != "ok" for now in row.devices) - 1


def _members(row: FleetRow, sight: Sight) -> str:
    """The nodes of a group with which something is wrong, worst first."""
    wrong = [member for member in row.members if member.severity]
    said = []
    for member in ordered(wrong, "worst", descending=True):
        text, _ = cells.trouble(member, sight)
        said.append(f"{member.node} {text or cells.state_of(member, sight)}")
    return f"{grouping.title(sight.group, row.group)}: {f' {sight.glyphs.dot} '.join(said)}"


def _what(row: FleetRow, sight: Sight) -> str:
    if not row.node:
        return f"{grouping.title(sight.group, row.group)}: {len(row.members)} nodes, all well"
    places = [sight.board.device(now.slot) for now in row.devices]
    models = dict.fromkeys(place.model for place in places if place is not None and place.model)
    labels = " ".join(f"{name}={value}" for name, value in row.labels.items())
    parts = [f"{len(row.devices)} x {', '.join(models)}" if models else "", labels]
    parts.append(cells.work(row, sight))
    parts.append(text_of(row.odd))
    return "  ".join([row.node, *filter(None, parts)])
