"""Header and devices on the terminal while Textual, most of a start's time, is being loaded.

A thread receives the collector's reports and draws; nobody else touches source, board or terminal until
it has ended. Then the dashboard paints over the same cells.
"""

import contextlib
import math
import os
import select
import sys
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from accelwatch.tui.drawing.lines import Line
from accelwatch.tui.drawing.pen import Pen, system_of
from accelwatch.tui.local.local_plan import plan
from accelwatch.tui.state.action import LOCAL
from accelwatch.tui.terminal.alternate_screen import ENTER, LEAVE, write
from accelwatch.tui.terminal.termination_signals import raised
from accelwatch.tui.views.device_list import DeviceList
from accelwatch.tui.views.header import header

if TYPE_CHECKING:
    from accelwatch.tui.local.sources.live import LiveSource
    from accelwatch.tui.state.board import Board

# How soon the drawing thread runs beside the imports; Python's own 5 ms would add up.
_SWITCH_S = 0.0005
# So long nothing else is loaded while the first readings are under way: it would compete with them
# for processor and interpreter. A slower driver is not waited for.
_FIRST_S = 0.04
# Reports that come together are drawn together; the last of the first ones is drawn at once.
_GATHER_S = 0.01


@contextlib.contextmanager
def first_picture(board: "Board", source: "LiveSource", descriptor: int) -> Iterator[None]:
    """Draw on the terminal behind the descriptor until the block ends, which waits for first readings.

    An error in the block gives the terminal back.
    """
    stop, stop_write = os.pipe()
    reported = threading.Event()
    arguments = board, source, descriptor, stop, reported
    drawing = threading.Thread(target=_draw, args=arguments, daemon=True)
    usual = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_S)
    try:
        write(descriptor, ENTER)
        drawing.start()
        with raised():
            reported.wait(_FIRST_S)
            yield
    except BaseException:
        _stop_drawing(drawing, stop_write)
        write(descriptor, LEAVE)
        raise
    else:
        _stop_drawing(drawing, stop_write)
    finally:
        sys.setswitchinterval(usual)
        os.close(stop)


def _stop_drawing(drawing: threading.Thread, stop_write: int) -> None:
    os.close(stop_write)
    if drawing.ident is not None:
        drawing.join()


def _draw(
    board: "Board", source: "LiveSource", descriptor: int, stop: int, reported: threading.Event
) -> None:
    while True:
        snapshot = source.snapshot()
        if snapshot is not None:
            board.show(snapshot)
        write(descriptor, picture(board, _size(descriptor), time.time()))
        if source.all_reported:
            reported.set()
        if not _wait_for_changes(source, stop):
            return


def _size(descriptor: int) -> os.terminal_size:
    """The terminal's; one that does not know it, such as a serial line, counts as 80 by 24."""
    columns, lines = os.get_terminal_size(descriptor)
    return os.terminal_size((columns or 80, lines or 24))


def _wait_for_changes(source: "LiveSource", stop: int) -> bool:
    """Wait until there is something new to show; false when it is time to end."""
    reported, until = source.all_reported, math.inf
    while True:
        left = until - time.monotonic()
        if _wait_for_stop(source.descriptor, stop, left):
            return False
        if source.receive():
            until = min(until, time.monotonic() + _GATHER_S)
        if until < math.inf and (source.all_reported > reported or time.monotonic() >= until):
            return True


def _wait_for_stop(reports: int | None, stop: int, left: float) -> bool:
    """Wait for reports, so long at most; whether it is time to end."""
    watched = [stop] if reports is None else [stop, reports]
    ready, _, _ = select.select(watched, [], [], None if left == math.inf else max(left, 0.0))
    return stop in ready


def picture(board: "Board", size: os.terminal_size, now: float) -> str:
    """Header and devices in a terminal's size; a heat grid is left to the dashboard."""
    rows = DeviceList(board)
    shared = plan(size.lines, len(rows), board.preferences.density, 0)
    rows.full = shared.form == "full"
    lines = header(board, size.columns, shared.header, now, LOCAL)
    if shared.form != "grid" and len(rows):
        lines += _devices(rows, size.columns)[: shared.devices]
    pen = Pen(system_of(os.environ))
    for y, line in enumerate(lines[: size.lines]):
        pen.move(y, 0)
        for text, style, _ in board.paint.segments(line, size.columns, "" if y else "edge"):
            pen.write(text, style)
    return pen.finished()


def _devices(rows: DeviceList, width: int) -> list[Line]:
    heading = rows.heading(width)
    lines = [] if heading is None else [heading]
    for index in range(len(rows)):
        lines += [rows.line(index, width, line_index) for line_index in range(rows.stride)]
    return lines
