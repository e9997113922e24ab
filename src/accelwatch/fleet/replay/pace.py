"""Where a recording is while it plays: a moment that goes on with the clock, times a speed. Pure."""

from collections.abc import Callable

# Recorded seconds a second.
SPEEDS = (1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0)
USUAL_SPEED = 60.0


class Pace:
    """`now` gives monotonic seconds; moments are Unix seconds between `first` and `last`."""

    def __init__(self, first: float, last: float, now: Callable[[], float]) -> None:
        self.first = first
        self.last = last
        self.playing = True
        self.loop = False
        self.speed = USUAL_SPEED
        self._now = now
        self._from = first
        self._since = now()

    @property
    def position(self) -> float:
        """Where it is; at the end it stays, or begins again."""
        if not self.playing:
            return self._from
        there = self._from + max(self._now() - self._since, 0.0) * self.speed
        if self.loop and there > self.last > self.first:
            return self.first + (there - self.last) % (self.last - self.first)
        return min(there, self.last)

    @property
    def is_finished(self) -> bool:
        """Whether it has come to the end and does not go on."""
        return self.position >= self.last and not (self.loop and self.playing)

    def start(self) -> None:
        """Time runs from now on: the time to get ready does not count."""
        self._since = self._now()

    def seek(self, time: float) -> None:
        """Go to a moment, or to the end that it lies beyond."""
        self._from = min(max(time, self.first), self.last)
        self._since = self._now()

    def pause(self) -> None:
        """Stop, or go on; at the end, begin again."""
        if self.is_finished:
            self.seek(self.first)
            self.playing = True
            return
        self.seek(self.position)
        self.playing = not self.playing

    def stop(self) -> None:
        """Stop where it is."""
        self.seek(self.position)
        self.playing = False

    def faster(self, step: int) -> None:
        """The next speed of the list; a negative step is slower."""
        self.seek(self.position)
        index = SPEEDS.index(self.speed) + step
        self.speed = SPEEDS[min(max(index, 0), len(SPEEDS) - 1)]
