"""A recording as a source: played at its own pace, faster, slower, one by one, or from anywhere."""

import asyncio
import bisect
from collections.abc import Callable, Sequence
from typing import Protocol

from accelwatch.base.errors import WireError
from accelwatch.schema.snapshot import Snapshot
from accelwatch.tui.drawing.glyphs import Glyphs

SPEEDS = (0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0)
# A gap in a recording is passed over after this long.
_LONGEST_WAIT_S = 2.0
_LEAST_WAIT_S = 0.1
_LOOKBACK_S = 300.0
# Frames that are decoded after a jump.
_LOOKBACK_FRAMES = 60


def banner(source: "ReplaySource", glyphs: Glyphs) -> str:
    """Where a recording is and how it plays, for the header."""
    number, count = source.position
    goes_on = source.playing and not source.is_finished
    sign = "playing" if goes_on else "ended" if source.is_finished else "stopped"
    if not glyphs.ascii_only:
        sign = f"{'▶' if goes_on else '■'} {sign}"
    loop = ", loop" if source.loop else ""
    again = ", p starts again" if source.is_finished else ""
    return f"{sign} {source.speed:g}x, {number} of {count}{loop}{again}"


class Frames(Protocol):
    """A recording: moments in Unix seconds, ascending, and the snapshot of each."""

    def times(self) -> Sequence[float]:
        """The moment of each snapshot."""
        ...

    def at(self, index: int) -> Snapshot:
        """One snapshot. Raises WireError for one that is damaged."""
        ...

    def close(self) -> None:
        """Let go of files."""
        ...


class ReplaySource:
    """Plays frames. At the end it stops, or begins again with `loop`."""

    local = False
    recorded = True

    def __init__(self, frames: Frames, *, loop: bool = False) -> None:
        self._frames = frames
        self._times = frames.times()
        self._index = 0
        self._shot: Snapshot | None = None
        self._changed: Callable[[], None] = lambda: None
        self._moved = asyncio.Event()
        self.loop = loop
        self.playing = True
        self.speed = 1.0
        self._jumped = False
        self._passed: list[Snapshot] = []

    @property
    def progress(self) -> tuple[float, float, float]:
        """(first, present, last moment)."""
        return self._times[0], self._times[self._index], self._times[-1]

    @property
    def position(self) -> tuple[int, int]:
        """(number of the present frame from 1, how many there are)."""
        return self._index + 1, len(self._times)

    @property
    def is_finished(self) -> bool:
        """Whether the last frame is shown and none follows it."""
        return self._index + 1 >= len(self._times) and not self.loop

    def snapshot(self) -> Snapshot | None:
        """The present frame; one that is damaged is passed over and the one before stays."""
        return self._shot

    def set_interval(self, interval_s: float) -> None:
        """A recording has its own; `speed` is what can be set."""

    def close(self) -> None:
        """Let go of the recording's files."""
        self._frames.close()

    def faster(self, step: int) -> None:
        """The next speed of the list; a negative step is slower."""
        index = SPEEDS.index(self.speed) + step
        self.speed = SPEEDS[min(max(index, 0), len(SPEEDS) - 1)]
        self._moved.set()
        self._changed()

    def pause(self) -> None:
        """Stop, or go on; at the end, begin again."""
        last = self._index + 1 >= len(self._times)
        if self.is_finished or (last and not self.playing):
            self._show_frame(0)
            self.playing = True
        else:
            self.playing = not self.playing
        self._moved.set()
        self._changed()

    def toggle_loop(self) -> None:
        """Begin again at the end, or not."""
        self.loop = not self.loop
        self._moved.set()
        self._changed()

    def step(self, frames: int) -> None:
        """Stop, and show the frame so many frames on."""
        self.playing = False
        self._show_frame(self._index + frames)

    def seek(self, time: float) -> None:
        """Show the frame that is current at a moment."""
        self._show_frame(bisect.bisect_right(self._times, time) - 1)

    def drain(self) -> tuple[bool, list[Snapshot]]:
        """(whether history restarts, the frames passed since the last call, for history)."""
        jumped, self._jumped = self._jumped, False
        passed, self._passed = self._passed, []
        if jumped:
            passed = self._before()
        return jumped, passed

    def _before(self) -> list[Snapshot]:
        """Some frames of the five minutes before the present one, to draw graphs with after a jump."""
        first = bisect.bisect_left(self._times, self._times[self._index] - _LOOKBACK_S)
        indices = range(first, self._index)
        stride = -(-len(indices) // _LOOKBACK_FRAMES) if indices else 1
        shots = (self._read(index) for index in indices[::stride])
        return [shot for shot in shots if shot is not None]

    async def run(self, changed: Callable[[], None]) -> None:
        """Play until cancelled."""
        self._changed = changed
        self._show_frame(self._index)
        while True:
            self._moved.clear()
            wait = self._wait()
            try:
                async with asyncio.timeout(wait):
                    await self._moved.wait()
            except TimeoutError:
                self._advance()

    def _wait(self) -> float | None:
        last = self._index + 1 >= len(self._times)
        if not self.playing or self.is_finished:
            return None
        gap = 1.0 if last else self._times[self._index + 1] - self._times[self._index]
        return min(max(gap / self.speed, _LEAST_WAIT_S), _LONGEST_WAIT_S)

    def _advance(self) -> None:
        """One frame on; at high speeds as many as the picture cannot keep up with."""
        if self._index + 1 >= len(self._times):
            self._show_frame(0)
            return
        due = self._times[self._index] + self.speed * _LEAST_WAIT_S
        target = max(bisect.bisect_right(self._times, due) - 1, self._index + 1)
        for index in range(self._index + 1, target):
            shot = self._read(index)
            if shot is not None:
                self._passed.append(shot)
        self._show_frame(target, played=True)

    def _show_frame(self, index: int, *, played: bool = False) -> None:
        """Show a frame; unless it was `played` up to, or is the next one, that is a jump."""
        index = min(max(index, 0), len(self._times) - 1)
        near = played or 0 <= index - self._index <= 1
        self._jumped = self._jumped or not near or self._shot is None
        self._index = index
        self._shot = self._read(index) or self._shot
        self._moved.set()
        self._changed()

    def _read(self, index: int) -> Snapshot | None:
        try:
            return self._frames.at(index)
        except WireError:
            return None
