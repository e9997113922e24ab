"""The incidents as a list, how many there are, and why there is none."""

from collections.abc import Callable, Hashable, Iterable

from accelwatch.fleet.picture.incidents import OVER, status_of
from accelwatch.fleet.picture.model import FleetView
from accelwatch.fleet.wire import RulesNow
from accelwatch.schema.display import printable
from accelwatch.tui.drawing.glyphs import Glyphs
from accelwatch.tui.drawing.lines import Line, clipped, in_role, paragraph, spread, width_of
from accelwatch.tui.drawing.severity_signs import SEVERITY_ROLES, severity_role, severity_sign
from accelwatch.tui.fleet.board import FleetBoard
from accelwatch.tui.incidents import columns, remedy_summary
from accelwatch.tui.incidents.columns import IncidentRenderContext
from accelwatch.tui.state.board import Board

_SWITCH_ON = (
    "rules:",
    "  packs: [nvidia, amd, host]",
)


class IncidentList:
    """Incidents, members below their group."""

    stride = 1

    def __init__(self, board: Board, fleet: FleetBoard, now: Callable[[], float]) -> None:
        self._board = board
        self._fleet = fleet
        self._now = now

    def __len__(self) -> int:
        return len(self._fleet.incidents.rows)

    def heading(self, width: int) -> Line | None:
        """The titles; without any row there is nothing for them to stand above."""
        incidents = self._fleet.incidents
        if not incidents.rows:
            return None
        glyphs = self._board.paint.glyphs
        sort, descending = incidents.sort, incidents.descending
        acts = self._fleet.remedies.acts
        return columns.heading(width, glyphs, sort=sort, descending=descending, acts=acts)

    def line(self, index: int, width: int, _: int, /) -> Line:
        """One incident."""
        fleet, now = self._fleet, self._now()
        remedies = fleet.remedies
        context = IncidentRenderContext(
            glyphs=self._board.paint.glyphs,
            now=now,
            affixes=fleet.affixes,
            unfolded=fleet.incidents.unfolded,
            silent=fleet.silent,
            acts=remedies.acts,
            next_of=lambda incident, cells: remedy_summary.of_incident(
                remedies.of_incident(incident), now, cells
            ),
        )
        return columns.row_line(fleet.incidents.rows[index], context, width)

    def key(self, index: int) -> Hashable:
        """Its id."""
        return self._fleet.incidents.rows[index].incident.id

    def position_of(self, key: Hashable) -> int | None:
        """Where an incident is."""
        return self._fleet.incidents.position_of(key)

    def bare(self, width: int) -> list[Line]:
        """Why there is no row, and what to do."""
        board = self._board
        return why_none(self._fleet, width, board.paint.glyphs, archive=board.archive)


def totals(fleet: FleetBoard, width: int, glyphs: Glyphs) -> Line:
    """Open ones by severity, muted ones, those that are over; how many rules watch how much."""
    view = fleet.view
    rules = view.rules if view is not None else None
    if fleet.alone and fleet.problem is not None:
        text = printable(fleet.problem.text, ascii_only=glyphs.ascii_only)
        return clipped([(f" {text}", "warn")], width)
    if view is None or rules is None or not rules.evaluated:
        return [(" no picture of the incidents yet" if view is None else "", "dim")]
    over = sum(status_of(entry.incident) == OVER for entry in fleet.incidents.reported)
    left: Line = [(f" {sum(rules.open.values())} open  ", "strong"), *_counts(rules, glyphs)]
    left += [(f"{rules.muted} muted  ", "dim")] if rules.muted else []
    left += [(f"{over} resolved recently  ", "faint")] if over else []
    left += [(f"{rules.omitted} more, not listed  ", "warn")] if rules.omitted else []
    right: Line = [(f"{watched(fleet)} ", "dim")]
    if width_of(left) + width_of(right) > width:
        right = []
    line = spread(left, right, width)
    return in_role(line, "faint") if fleet.silent else clipped(line, width)


def _counts(rules: RulesNow, glyphs: Glyphs) -> Iterable[tuple[str, str]]:
    for severity in SEVERITY_ROLES:
        count = rules.open.get(severity, 0)
        if count:
            text = f"{severity_sign(severity, glyphs)} {count} {severity}  "
            yield text, severity_role(severity)


def watched(fleet: FleetBoard) -> str:
    """How many rules watch how many devices."""
    view = fleet.view
    rules = view.rules if view is not None else None
    if view is None or rules is None or view.recorded:
        return ""
    sums = view.sums
    return (
        f"{_many(rules.rules, 'rule')} watch {_many(sums.devices_total, 'device')} of "
        f"{_many(sums.nodes_total, 'node')}"
    )


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def why_none(fleet: FleetBoard, width: int, glyphs: Glyphs, *, archive: bool = False) -> list[Line]:
    """Why no incident is shown, and what to do; nothing before the first tick."""
    view, incidents = fleet.view, fleet.incidents
    if fleet.alone and (
        fleet.problem is not None or (view is not None and not _is_evaluated(view))
    ):
        return _no_agent(fleet, width, glyphs)
    if view is None:
        return []
    rules = view.rules
    if rules is None and archive:
        what = "no back-test looks for incidents in this archive"
        more = (
            "leave --no-backtest out, or give what accelwatch rules backtest has found: "
            "--incidents FILE",
        )
        return _advice(what, more, width, glyphs)
    if rules is None:
        what = "this hub reports no incidents: it is older than this dashboard"
        return _advice(what, ("accelwatch incidents --hub URL queries it",), width, glyphs)
    if not rules.evaluated:
        return _no_rules(width, glyphs)
    if incidents.filter_text and incidents.reported:
        what = f"no incident matches {incidents.filter_text}"
        return _advice(what, ("Esc shows all, / asks for another filter",), width, glyphs)
    if incidents.reported:
        what = (
            f"no incident is open; {_many(len(incidents.reported), 'incident')} resolved recently"
        )
        return _advice(what, ("o shows resolved ones too",), width, glyphs)
    if archive:
        return _advice("no incident is known up to this moment", (), width, glyphs)
    return _advice(f"no incident: {watched(fleet)}", (), width, glyphs, role="ok")


def _is_evaluated(view: FleetView) -> bool:
    return view.rules is not None and view.rules.evaluated


def _no_agent(fleet: FleetBoard, width: int, glyphs: Glyphs) -> list[Line]:
    """How this machine gets incidents."""
    problem = fleet.problem
    what = "the agent of this machine has no rules" if problem is None else problem.text
    more = (
        "this screen shows what the rules of this machine's agent found; enable rules in its "
        "configuration:",
    )
    lines = _advice(f"no incidents: {what}", more, width, glyphs)
    lines += [[], *([(f"   {row}", "accent")] for row in _SWITCH_ON), []]
    for text in (
        "accelwatch agent --config.file agent.yaml starts it with them",
        "accelwatch check evaluates once, now, without an agent; accelwatch rules list shows the rules",
    ):
        lines += paragraph(" ", text, "dim", width, glyphs)
    return [clipped(line, width) for line in lines]


def _no_rules(width: int, glyphs: Glyphs) -> list[Line]:
    what = "the hub has no rules, so there are no incidents"
    lines = _advice(
        what, ("rules are switched on in the hub's configuration, which is then read again (SIGHUP):",),
        width, glyphs,
    )  # fmt: skip
    lines += [[], *([(f"   {row}", "accent")] for row in _SWITCH_ON), []]
    for text in (
        "accelwatch rules list shows the rules that are shipped, docs/rules.md how to write others",
        "the dashboard's own hub reads the same file: accelwatch fleet --config.file hub.yaml",
    ):
        lines += paragraph(" ", text, "dim", width, glyphs)
    return [clipped(line, width) for line in lines]


def _advice(
    what: str, more: Iterable[str], width: int, glyphs: Glyphs, *, role: str = "strong"
) -> list[Line]:
    lines: list[Line] = [[], *paragraph(" ", what, role, width, glyphs)]
    for text in more:
        lines += paragraph(" ", text, "dim", width, glyphs)
    return [clipped(line, width) for line in lines]
