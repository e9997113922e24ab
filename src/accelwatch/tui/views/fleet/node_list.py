"""The fleet's rows and events as lists that show only what is visible."""

from collections.abc import Callable, Hashable

from accelwatch.fleet.wire import FleetEvent
from accelwatch.tui.drawing.lines import Line
from accelwatch.tui.events.event_lines import event_heading, event_line
from accelwatch.tui.fleet import columns
from accelwatch.tui.fleet.board import FleetBoard
from accelwatch.tui.fleet.cells.render_context import RenderContext
from accelwatch.tui.fleet.troubles import why_empty
from accelwatch.tui.state.board import Board


def render_context(board: Board, fleet: FleetBoard) -> RenderContext:
    """How the fleet is drawn now."""
    return RenderContext(
        board=fleet,
        glyphs=board.paint.glyphs,
        group=board.preferences.fleet_group,
        shade=board.preferences.fleet_shade,
        plot="ascii" if board.paint.glyphs.ascii_only else board.preferences.plot,
        since_s=fleet.since_s,
        silent=fleet.silent,
    )


class FleetList:
    """Nodes, or groups with their nodes."""

    stride = 1

    def __init__(self, board: Board, fleet: FleetBoard) -> None:
        self._board = board
        self._fleet = fleet

    def __len__(self) -> int:
        return len(self._fleet.rows)

    def heading(self, width: int) -> Line | None:
        """The titles; without any row there is nothing for them to stand above."""
        board = self._board
        if self._fleet.view is not None and not len(self):
            return None
        return columns.heading(width, self._fleet, board.preferences, board.paint.glyphs)

    def line(self, index: int, width: int, _: int, /) -> Line:
        """One node or group."""
        return columns.row_line(
            self._fleet.rows[index], render_context(self._board, self._fleet), width
        )

    def key(self, index: int) -> Hashable:
        """Group and node."""
        return self._fleet.rows[index].key

    def bare(self, width: int) -> list[Line]:
        """Why there is no row."""
        return why_empty(self._fleet, width, self._board.paint.glyphs)

    def position_of(self, key: Hashable) -> int | None:
        """Where a row is."""
        return self._fleet.position_of(key)


class EventList:
    """Events of the fleet, newest first."""

    stride = 1

    def __init__(self, board: Board, fleet: FleetBoard, now: Callable[[], float]) -> None:
        self._board = board
        self._fleet = fleet
        self._now = now

    def __len__(self) -> int:
        view = self._fleet.view
        return len(view.events) if view is not None else 0

    def at(self, index: int) -> FleetEvent | None:
        """The event of a row."""
        view = self._fleet.view
        if view is None or not 0 <= index < len(view.events):
            return None
        return view.events[-1 - index]

    def heading(self, width: int) -> Line | None:
        """How many, and the titles."""
        return event_heading(len(self), width, self._board.paint.glyphs)

    def line(self, index: int, width: int, _: int, /) -> Line:
        """One event."""
        event = self.at(index)
        if event is None:
            return []
        glyphs = self._board.paint.glyphs
        return event_line(event, width, self._now(), glyphs, self._fleet.affixes)

    def key(self, index: int) -> Hashable:
        """What it is, so that the selection stays with it when newer ones come."""
        event = self.at(index)
        return None if event is None else _identity(event)

    def position_of(self, key: Hashable) -> int | None:
        """Where an event is now."""
        view = self._fleet.view
        events = view.events if view is not None else ()
        return next(
            (n for n, event in enumerate(reversed(events)) if _identity(event) == key), None
        )


def _identity(event: FleetEvent) -> Hashable:
    return event.sequence, event.time, event.node, event.device, event.code
