"""What keys do to a recording: stop, step, speed, seek, loop."""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from accelwatch.durations import seconds
from accelwatch.errors import UsageError
from accelwatch.tui.local.replay import ReplaySource

if TYPE_CHECKING:
    from accelwatch.tui.app import Dashboard

_MINUTE_S = 60.0


def moment_of(text: str, first: float, now: float, last: float) -> float:
    """Unix seconds meant by `10:32`, `10:32:05`, `+5m`, `-30s` or `50%`. Raises UsageError."""
    word = text.strip()
    if word.endswith("%") and word[:-1].replace(".", "", 1).isdecimal():
        return first + (last - first) * min(float(word[:-1]), 100.0) / 100
    if word[:1] in "+-" and len(word) > 1:
        return now + seconds(word[1:]) * (1 if word[0] == "+" else -1)
    parts = word.split(":")
    if len(parts) in (2, 3) and all(part.isdecimal() for part in parts):
        numbers = [int(part) for part in (*parts, "0")][:3]
        return _time_of_day(numbers, first, last)
    raise UsageError(f"no moment {text!r}; write 10:32, 10:32:05, +5m, -30s or 50%")


def _time_of_day(numbers: list[int], first: float, last: float) -> float:
    """The first such time of day within the recording, local time."""
    hour, minute, second = numbers
    start = datetime.fromtimestamp(first).astimezone()
    try:
        meant = start.replace(hour=hour, minute=minute, second=second, microsecond=999_999)
    except ValueError as error:
        raise UsageError(f"no such time: {error}") from error
    if meant.timestamp() < first and (meant + timedelta(days=1)).timestamp() <= last:
        meant += timedelta(days=1)
    return meant.timestamp()


class ReplayCommands:
    """One method an action; False where no recording is played."""

    def __init__(self, app: "Dashboard") -> None:
        self._app = app

    @property
    def _source(self) -> ReplaySource | None:
        source = self._app.source
        return source if isinstance(source, ReplaySource) else None

    def do_pause(self) -> bool:
        """Stop or go on."""
        source = self._source
        if source is None:
            return False
        source.pause()
        return True

    def do_faster(self) -> bool:
        """Play faster."""
        return self._speed(1)

    def do_slower(self) -> bool:
        """Play slower."""
        return self._speed(-1)

    def _speed(self, step: int) -> bool:
        source = self._source
        if source is None:
            return False
        source.faster(step)
        return True

    def do_step(self) -> bool:
        """One frame on."""
        return self._step(1)

    def do_step_back(self) -> bool:
        """One frame back."""
        return self._step(-1)

    def _step(self, frames: int) -> bool:
        source = self._source
        if source is not None:
            source.step(frames)
        return source is not None

    def do_seek(self) -> bool:
        """A minute forward."""
        return self._seek(_MINUTE_S)

    def do_seek_back(self) -> bool:
        """A minute back."""
        return self._seek(-_MINUTE_S)

    def _seek(self, step_s: float) -> bool:
        source = self._source
        if source is not None:
            source.seek(source.progress[1] + step_s)
        return source is not None

    def do_loop(self) -> bool:
        """Begin again at the end, or not."""
        source = self._source
        if source is not None:
            source.toggle_loop()
        return source is not None

    def do_seek_to(self) -> bool:
        """Ask for a moment."""
        from accelwatch.tui.screens.prompt import PromptScreen

        source = self._source
        if source is None:
            return False

        def wrong(text: str) -> str:
            try:
                if text.strip():
                    moment_of(text, *source.progress)
            except UsageError as error:
                return str(error)
            return ""

        def taken(text: str | None) -> None:
            if text and text.strip():
                source.seek(moment_of(text, *source.progress))

        hint = "10:32, 10:32:05, +5m, -30s or 50%"
        self._app.push_screen(PromptScreen(self._app.board, "Go to", "", hint, wrong), taken)
        return True
