"""Outages, what the hub itself cannot do, and why there is nothing to show, in lines. Pure."""

from collections.abc import Iterable

from accelwatch.fleet.picture import grouping
from accelwatch.schema.display import printable
from accelwatch.tui.drawing.glyphs import Glyphs
from accelwatch.tui.drawing.lines import Line, clipped, fit, in_role, paragraph, spread, width_of
from accelwatch.tui.fleet.board import FleetBoard
from accelwatch.tui.fleet.hub_lines import hub_lines

_SIGN = "degraded"


def _count_of(count: int) -> str:
    return f"{count} problem{'' if count == 1 else 's'}"


def trouble_line(fleet: FleetBoard, width: int, glyphs: Glyphs) -> Line:
    """How many there are, the first of them, and the key that shows them in full where it is needed."""
    troubles = fleet.troubles
    if not troubles:
        return []
    head: Line = [(f" {glyphs.states[_SIGN]} {_count_of(len(troubles))}: ", "bad")]
    first = printable(troubles[0], ascii_only=glyphs.ascii_only)
    more: Line = [("  ", "text"), ("!", "key"), (" shows all ", "dim")]
    full_line: Line = [*head, (first, "warn")]
    if len(troubles) == 1 and width_of(full_line) <= width:
        more = []
    room = max(width - width_of(head) - width_of(more), 0)
    line = spread([*head, (fit(first, room, ellipsis=glyphs.ellipsis), "warn")], more, width)
    return in_role(line, "faint") if fleet.silent else line


def trouble_lines(fleet: FleetBoard, width: int, glyphs: Glyphs) -> list[Line]:
    """All of them in full."""
    troubles, hubs = fleet.troubles, hub_lines(fleet, glyphs)
    if not troubles and not hubs:
        return [[(" hub OK: no problems", "dim")]]
    lines: list[Line] = [[(f" {_count_of(len(troubles))}", "title")], []]
    for text in troubles:
        lines += paragraph(f" {glyphs.states[_SIGN]} ", text, "warn", width, glyphs)
    if hubs:
        lines += [[], *hubs] if troubles else hubs
    return [clipped(line, width) for line in lines]


def why_empty(fleet: FleetBoard, width: int, glyphs: Glyphs) -> list[Line]:
    """Why no node is shown, and what to do; nothing before the first tick."""
    view = fleet.view
    if view is None:
        return []
    if not view.sums.nodes_total and fleet.silent:
        return _advice(("there was no node in the last picture",), "", width, glyphs)
    if not view.sums.nodes_total:
        return _no_nodes(fleet.troubles, width, glyphs)
    if fleet.waiting and fleet.problem is None:
        return _advice(("the hub is looking up what you asked for",), "", width, glyphs)
    if fleet.text is not None or view.filter:
        return _no_match(fleet, view.filter, width, glyphs)
    if fleet.grouped:
        what = f"no device is known yet, so nothing can be grouped by {fleet.group}"
        return _advice((what,), "t groups by something else, or not at all", width, glyphs)
    return []


def _no_nodes(troubles: tuple[str, ...], width: int, glyphs: Glyphs) -> list[Line]:
    if troubles:
        what = "no node is known, and the hub has problems:"
        do = "nodes appear here by themselves as soon as they are found"
        return _advice((what, *troubles), do, width, glyphs)
    what = "no node is known: there are no targets yet"
    do = "name some with --targets or in the hub's configuration; they appear here by themselves"
    return _advice((what,), do, width, glyphs)


def _no_match(fleet: FleetBoard, condition: str, width: int, glyphs: Glyphs) -> list[Line]:
    what = f"no device matches {condition}"
    if fleet.text is not None:
        what = f'no node or device has the text "{fleet.filter_text}"'
    do = "Esc shows all, / asks for another filter"
    if fleet.grouped and grouping.by_device(fleet.group, fleet.labels):
        do += "; nodes without a device are in no group"
    return _advice((what,), do, width, glyphs)


def _advice(texts: Iterable[str], do: str, width: int, glyphs: Glyphs) -> list[Line]:
    """What is so, the reasons set in below it, and what to do."""
    first, *others = texts
    lines: list[Line] = [[], *paragraph(" ", first, "strong", width, glyphs)]
    for text in others:
        lines += paragraph(f"   {glyphs.states[_SIGN]} ", text, "warn", width, glyphs)
    if do:
        lines += paragraph(" ", do, "dim", width, glyphs)
    return [clipped(line, width) for line in lines]
