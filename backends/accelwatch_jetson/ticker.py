"""Follows `tegrastats` for as long as the backend is open, or reads one line of it."""

from pathlib import Path

from accelwatch.backend import Context
from accelwatch.base.absence import Absence
from accelwatch.system.processes.line_stream import LineStream, first_line
from accelwatch_jetson.tegrastats import Line, parse

_INTERVAL_MS = 1000
# A line that is older is not shown any more: two have failed to come.
_OLDEST_S = 2.5
_SILENCE_S = 15.0
# For a single reading: the time that it measures, and for which it is waited.
_QUICK_MS, _QUICK_S = 100, 1.0


class Ticker:
    """The newest line. A daemon thread reads, unless there is a single reading to be made."""

    def __init__(self, context: Context, program: Path) -> None:
        self._program = program
        self._stream = None
        if not context.one_shot:
            self._stream = LineStream(self._argv(_INTERVAL_MS), context.clock, _SILENCE_S)

    def newest(self) -> Line | Absence:
        """What it says now; `timeout` without a new line, `error` where nothing in it is known."""
        if self._stream is None:
            line = first_line(self._argv(_QUICK_MS), _QUICK_S)
            return Absence.TIMEOUT if line is None else _read(line)
        newest = self._stream.newest()
        if newest is None or newest[1] > _OLDEST_S:
            return Absence.TIMEOUT
        return _read(newest[0])

    def close(self) -> None:
        """End the command."""
        if self._stream is not None:
            self._stream.close()

    def _argv(self, interval_ms: int) -> list[str]:
        return [str(self._program), "--interval", str(interval_ms)]


def _read(output: bytes) -> Line | Absence:
    line = parse(output.decode("utf-8", "replace"))
    return line if line.values or line.rails else Absence.ERROR
