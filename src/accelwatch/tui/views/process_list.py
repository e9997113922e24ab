"""The processes of the board as rows of a list: filtered, sorted, grouped, tagged."""

import getpass
import os
from collections.abc import Callable, Hashable

from accelwatch.schema.display import size
from accelwatch.schema.reading import Process
from accelwatch.tui.drawing.lines import Line, clipped, width_of
from accelwatch.tui.local.processes import rows as process_rows
from accelwatch.tui.local.processes.arranging import arranged, merged, rows_of
from accelwatch.tui.local.processes.columns import COLUMNS, NONE_EMPTY, empty_columns
from accelwatch.tui.local.processes.process_row import Key, ProcessRow, command
from accelwatch.tui.state.board import Board

# Cells that a key moves the commands by.
_STEP = 8
# The note on processes whose numbers mean nothing here, the complete one first.
_FOREIGN = (
    "belong to another pid namespace: no signals",
    "of another pid namespace: no signals",
    "foreign: no signals",
    "foreign",
)
ProcessFilter = Callable[[ProcessRow], bool]


def own_user() -> str:
    """The user whose processes are not dimmed; empty for the superuser, who may act on all."""
    if os.geteuid() == 0:
        return ""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return ""


class ProcessList:
    """Recomputed by `update`, once a change."""

    stride = 1

    def __init__(self, board: Board) -> None:
        self._board = board
        self._mine = own_user()
        self.rows: list[ProcessRow] = []
        self.tagged: set[Key] = set()
        self.keeps: ProcessFilter | None = None
        self.filter_text = ""
        # How many processes the filter leaves, and of how many.
        self.kept = self.total = 0
        # Columns in which no row has anything.
        self.empty: frozenset[str] = NONE_EMPTY
        # Cells of the commands that are left of the screen.
        self.scroll = 0
        self._positions: dict[Key, int] = {}

    def update(self) -> None:
        """Read the board's processes again."""
        preferences = self._board.preferences
        every = rows_of(self._board.devices)
        rows = merged(every if self.keeps is None else [row for row in every if self.keeps(row)])
        self.kept = len(rows)
        self.total = len(rows) if self.keeps is None else len(merged(every))
        self.empty = empty_columns(rows)
        self.rows = arranged(
            rows, preferences.sort, descending=preferences.descending, tree=preferences.tree
        )
        self._positions = {row.key: position for position, row in enumerate(self.rows)}
        self.tagged &= self._positions.keys()

    def __len__(self) -> int:
        return len(self.rows)

    def heading(self, width: int) -> Line | None:
        """The titles."""
        preferences = self._board.preferences
        return process_rows.heading(
            width,
            preferences.sort,
            preferences.descending,
            self._board.paint.glyphs,
            empty=self.empty,
        )

    def line(self, index: int, width: int, _: int, /) -> Line:
        """One process."""
        row = self.rows[index]
        return process_rows.line(
            row,
            self._board.snapshot,
            width,
            self._board.paint.glyphs,
            tagged=row.key in self.tagged,
            mine=self._mine,
            empty=self.empty,
            scroll=self.scroll,
        )

    def key(self, index: int) -> Hashable:
        """pid, start time, device."""
        return self.rows[index].key

    def position_of(self, key: Hashable) -> int | None:
        """Where a process is."""
        return self._positions.get(key)  # type: ignore[call-overload,no-any-return]  # any hashable

    def process_of(self, key: Hashable) -> Process | None:
        """The process of a row; None for a group, and where there is no such row."""
        position = self.position_of(key)
        return None if position is None else self.rows[position].process

    def scroll_by(self, steps: int) -> None:
        """Move all commands sideways; the longest stops at its last cells."""
        commands = (command(row.process) for row in self.rows if row.process)
        most = max(max(map(len, commands), default=0) - _STEP, 0)
        self.scroll = min(max(self.scroll + steps * _STEP, 0), most)

    def toggle(self, key: Hashable) -> None:
        """Tag, or untag."""
        for row in self.rows:
            if row.key == key and row.process is not None:
                self.tagged ^= {row.key}

    def set_filter(self, text: str, keeps: ProcessFilter | None) -> None:
        """Keep only processes that `keeps` is true for; the header shows the text."""
        self.filter_text = self._board.process_filter_text = text.strip()
        self.keeps = keeps

    def clear(self) -> bool:
        """Forget tags and filter; whether there were any."""
        had_any = bool(self.tagged or self.filter_text)
        self.tagged.clear()
        self.set_filter("", None)
        return had_any

    def note(self, width: int) -> Line:
        """How many there are, what is tagged, and a note on numbers of other namespaces."""
        shown = [row.process for row in self.rows if row.process is not None]
        memory = sum(process.gpu_memory_bytes or 0 for process in shown)
        pids = len({process.pid for process in shown})
        summary = f" {pids} processes hold {size(memory)}"
        line: Line = [(summary, "dim")]
        if self.filter_text:
            line.append((f"   filter {self.filter_text}", "accent"))
        if self.tagged:
            line.append((f"   {len(self.tagged)} tagged", "accent"))
        foreign = sum(process.pid_namespace != "same" for process in shown)
        hints = (f"   {foreign} {text}" for text in _FOREIGN) if foreign else iter(())
        left = width - width_of(line)
        line.append((next((text for text in hints if len(text) <= left), ""), "warn"))
        return clipped(line, width)

    def sort_by(self, column: str) -> None:
        """Sort by a column; by the present one: turn the order round."""
        preferences = self._board.preferences
        if preferences.sort == column:
            preferences.descending = not preferences.descending
        else:
            preferences.sort = column
            preferences.descending = column not in ("pid", "user", "device", "command", "workload")

    def sort_step(self, step: int) -> None:
        """Sort by the column `step` columns on."""
        ids = [column.id for column in COLUMNS]
        index = (ids.index(self._board.preferences.sort) + step) % len(ids)
        self.sort_by(ids[index])
