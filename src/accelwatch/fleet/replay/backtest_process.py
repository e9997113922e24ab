"""Incidents while they are found: a process of its own plays the archive, its lines become marks.

It never keeps the screen waiting, and what befalls it is a note on the time line.
"""

import asyncio
import contextlib
import subprocess
import tempfile
import threading
from collections.abc import Callable, Sequence
from typing import IO

import msgspec

from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch.base.untrusted_text import printable
from accelwatch.fleet.picture.timeline import Marker
from accelwatch.fleet.replay.incidents import MOST, parse_marker

_MOST_LINE = 1 << 20
_MAX_STDERR_BYTES = 4096
# Between two reports of new incidents.
_GATHER_S = 0.5


class _Message(msgspec.Struct, frozen=True):
    """What the process says: how far it has come, or an incident."""

    type: str
    until: float = 0.0
    number: int = 0
    line: msgspec.Raw = msgspec.Raw(b"{}")


_decode = msgspec.json.Decoder(_Message).decode
# Gets the marks that are known by now, and a note; an empty one at the end.
ReportMarkers = Callable[[Sequence[Marker], str], None]


class BacktestProcess:
    """Follows one such process; a thread waits for what it says."""

    def __init__(
        self, command: Sequence[str], start: float, end: float, report: ReportMarkers
    ) -> None:
        """`start` and `end` are the span that is judged, Unix seconds."""
        self._command = command
        self._start, self._end = start, end
        self._report = report
        self._markers: dict[int, Marker] = {}
        self._share = 0.0

    async def run(self) -> None:
        """Until the process has ended, or this is cancelled; then it is killed."""
        with tempfile.TemporaryFile() as complaints:
            try:
                process = subprocess.Popen(
                    self._command,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=complaints,
                )
            except OSError as error:
                self._report_note(f"no back-test: {error.strerror}")
                return
            fault = await self._followed(process)
            if fault is None:
                fault = _last_line(complaints) or "it has ended"
        self._report_note(f"no back-test: {fault}" if fault else "")

    async def _followed(self, process: "subprocess.Popen[bytes]") -> str | None:
        """What is wrong with what it says; empty when it has come to its end, None when it failed."""
        loop = asyncio.get_running_loop()
        finished: asyncio.Future[str | None] = loop.create_future()

        def on_line(line: bytes) -> None:
            if not finished.done():
                try:
                    self._accept_line(line)
                except ValueError as error:
                    finished.set_result(str(error))

        def on_exit(status: int) -> None:
            if not finished.done():
                finished.set_result("" if status == 0 else None)

        reading = threading.Thread(
            target=_read, args=(process, loop, on_line, on_exit), name="judging", daemon=True
        )
        reading.start()
        telling = asyncio.create_task(self._report_progress())
        try:
            return await finished
        finally:
            telling.cancel()
            process.kill()  # the thread reaps it

    def _accept_line(self, line: bytes) -> None:
        """Raises ValueError for what is no message."""
        try:
            message = _decode(line)
        except DECODE_ERRORS as error:
            raise ValueError(str(error)) from error
        if message.type == "reached":
            span = max(self._end - self._start, 1.0)
            self._share = min(max((message.until - self._start) / span, 0.0), 1.0)
        elif message.number in self._markers or len(self._markers) < MOST:
            self._markers[message.number] = parse_marker(bytes(message.line))

    async def _report_progress(self) -> None:
        while True:
            self._report_note(f"looking for incidents, {self._share:.0%}")
            await asyncio.sleep(_GATHER_S)

    def _report_note(self, note: str) -> None:
        self._report(tuple(self._markers.values()), note)


def _read(
    process: "subprocess.Popen[bytes]",
    loop: asyncio.AbstractEventLoop,
    on_line: Callable[[bytes], None],
    end: Callable[[int], None],
) -> None:
    """On a thread: hand on every line, then how it ended."""
    assert process.stdout is not None
    with contextlib.suppress(RuntimeError), process.stdout:  # nobody waits in a loop that is closed
        while line := process.stdout.readline(_MOST_LINE):
            loop.call_soon_threadsafe(on_line, line)
    status = process.wait()
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(end, status)


def _last_line(stderr: IO[bytes]) -> str:
    """The last that a process complained of."""
    stderr.seek(0, 2)
    stderr.seek(max(stderr.tell() - _MAX_STDERR_BYTES, 0))
    return printable(stderr.read().decode("utf-8", "replace").strip().rpartition("\n")[2])
