"""The columns of the incidents: which of them fit a width, headings, an incident as one line. Pure."""

from collections.abc import Callable
from functools import lru_cache

import msgspec

from accelwatch.alerting.evaluation.documents import IncidentDocument
from accelwatch.fleet.picture.incidents import (
    MUTED,
    OPEN,
    OVER,
    IncidentRow,
    about,
    seconds_of,
    status_of,
)
from accelwatch.schema.display import printable
from accelwatch.tui.drawing import columns
from accelwatch.tui.drawing import format as fmt
from accelwatch.tui.drawing.columns import GAP, Column, filled, fitting, needed
from accelwatch.tui.drawing.glyphs import Glyphs
from accelwatch.tui.drawing.lines import Line, clipped, fit
from accelwatch.tui.drawing.node_names import CommonAffixes, shortened
from accelwatch.tui.drawing.severity_signs import severity_role, severity_sign


class IncidentRenderContext(msgspec.Struct, frozen=True, kw_only=True):
    """How the incidents are drawn now."""

    glyphs: Glyphs
    # Unix seconds.
    now: float
    # What the names of nodes have in common.
    affixes: CommonAffixes
    unfolded: Callable[[str], bool]
    # Whether nothing shown is of now.
    silent: bool
    # Whether anything is done about incidents.
    acts: bool = False
    # What is done about an incident next.
    next_of: Callable[[IncidentDocument, int], Line] = lambda _, __: []

    def cut(self, text: str, width: int, *, right: bool = False) -> str:
        """Text of others in so many cells."""
        shown = printable(text, ascii_only=self.glyphs.ascii_only)
        return fit(shown, width, right=right, ellipsis=self.glyphs.ellipsis)


Cell = Callable[[IncidentRow, IncidentRenderContext, int], Line]
IncidentColumn = Column[Cell]


def _role(row: IncidentRow, role: str) -> str:
    """Muted and resolved incidents are drawn dim."""
    return {OPEN: role, MUTED: "dim", OVER: "faint"}[status_of(row.incident)]


def severity_cell(row: IncidentRow, context: IncidentRenderContext, width: int) -> Line:
    """Sign and label, or the sign alone."""
    severity = row.incident.severity
    sign = severity_sign(severity, context.glyphs)
    text = sign if width < 8 else f"{sign} {severity}"
    return [(fit(text, width), _role(row, severity_role(severity)))]


def age_cell(row: IncidentRow, context: IncidentRenderContext, width: int) -> Line:
    """Since when it has been so; of one that is over, since when it is."""
    since = seconds_of(row.incident.closed or row.incident.since)
    return [(fit(fmt.ago(context.now - since), width, right=True), _role(row, "dim"))]


def location_cell(row: IncidentRow, context: IncidentRenderContext, width: int) -> Line:
    """Node and device, or what it is about; a group with its sign, its members set in."""
    incident, glyphs = row.incident, context.glyphs
    before = glyphs.branch[:2] + " " if row.member else ""
    if row.members:
        before = glyphs.fold if context.unfolded(incident.id) else glyphs.folded
    what = about(incident)
    if not what:
        device = f" {incident.device_name}" if incident.device_name else ""
        room = max(width - len(before) - len(device), 6)
        what = shortened(incident.node, room, context.affixes, glyphs.ellipsis) + device
    return [
        (before, _role(row, "dim")),
        (context.cut(what, width - len(before)), _role(row, "strong")),
    ]


def title_cell(row: IncidentRow, context: IncidentRenderContext, width: int) -> Line:
    """What is wrong."""
    return [(context.cut(row.incident.title, width), _role(row, "text"))]


def rule_cell(row: IncidentRow, context: IncidentRenderContext, width: int) -> Line:
    """The rule that weighs most, and how many more fire."""
    more = len(row.incident.rules) - 1
    text = f"{row.incident.rule} +{more}" if more > 0 else row.incident.rule
    return [(context.cut(text, width), _role(row, "dim"))]


def job_cell(row: IncidentRow, context: IncidentRenderContext, width: int) -> Line:
    """Whose jobs it concerns."""
    incident = row.incident
    jobs = fmt.few([incident.job] if incident.job else incident.jobs, "jobs", 2)
    users = fmt.few(incident.users, "users", 1)
    return [(context.cut(" ".join(filter(None, (jobs, users))), width), _role(row, "accent"))]


def state_cell(row: IncidentRow, _: IncidentRenderContext, width: int) -> Line:
    """Open, muted or over; of a group how many it has."""
    status = status_of(row.incident)
    total = row.entry.members_total
    text = f"{status} x{total}" if total else status
    text = text if len(text) <= width else status
    return [(fit(text, width), _role(row, "text"))]


def next_cell(row: IncidentRow, context: IncidentRenderContext, width: int) -> Line:
    """How far its remedy is, and what comes next."""
    line = context.next_of(row.incident, width)
    if not line:
        return [(" " * width, "text")]
    ((text, role),) = line
    return [(context.cut(text, width), _role(row, role))]


COLUMNS = (
    IncidentColumn(
        id="severity", title="SEVERITY", width=10, cell=severity_cell, rank=4, sort="worst"
    ),
    IncidentColumn(
        id="age", title="AGE", width=6, cell=age_cell, rank=2, right=True, sort="newest"
    ),
    IncidentColumn(
        id="place", title="WHERE", width=14, cell=location_cell, grow=2, most=30, sort="where"
    ),
    IncidentColumn(id="title", title="WHAT", width=26, cell=title_cell, grow=4, sort="title"),
    IncidentColumn(
        id="rule", title="RULE", width=18, cell=rule_cell, rank=6, grow=2, most=36, sort="rule"
    ),
    IncidentColumn(
        id="job", title="WORK", width=12, cell=job_cell, rank=5, grow=1, most=24, sort="job"
    ),
    IncidentColumn(id="state", title="STATE", width=9, cell=state_cell, rank=3),
)
_SIGN = IncidentColumn(id="severity", title="", width=1, cell=severity_cell, sort="worst")


# Stands after what is wrong, where anything is done about it.
_NEXT = IncidentColumn(id="next", title="NEXT", width=22, cell=next_cell, grow=3, most=60)
_ACTING = (*COLUMNS[:4], _NEXT, *COLUMNS[4:])


# Called for every row of a repaint; it changes with the size of the terminal only.
@lru_cache(maxsize=16)
def layout(width: int, *, acts: bool = False) -> tuple[tuple[IncidentColumn, int], ...]:
    """The columns that fit, with the width of each; with `acts` also what is done next."""
    left = width - 1
    chosen = fitting(_ACTING if acts else COLUMNS, left, _SIGN)
    return tuple(zip(chosen, filled(chosen, left - needed(chosen)), strict=True))


def heading(width: int, glyphs: Glyphs, *, sort: str, descending: bool, acts: bool = False) -> Line:
    """The titles, the sorted one marked."""
    sized_columns = layout(width, acts=acts)
    return columns.heading(sized_columns, width, glyphs, sort=sort, descending=descending)


def sort_at(width: int, x: int, *, acts: bool = False) -> str:
    """What a click on a cell of the heading sorts by; empty for nothing."""
    column = columns.at(layout(width, acts=acts), x)
    return "" if column is None else column.sort


def row_line(row: IncidentRow, context: IncidentRenderContext, width: int) -> Line:
    """One incident."""
    line: Line = [(" ", "text")]
    for column, size in layout(width, acts=context.acts):
        line += [*column.cell(row, context, size), (" " * GAP, "text")]
    shown = clipped(line, width)
    return [(text, "faint") for text, _ in shown] if context.silent else shown
