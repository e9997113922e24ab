"""A recorded fleet's whole span as its screen sees it, and the protocol of whatever plays it. Pure."""

from collections.abc import Sequence
from typing import Protocol

import msgspec

# Levels of an incident, the gravest first: it wakes somebody, is worth a look, or is only recorded.
ALERT, WATCH, INFO = "alert", "watch", "info"
LEVELS = (ALERT, WATCH, INFO)


class Reason(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that an incident rests on; None for what does not apply."""

    signal: str
    value: float | str | None = None
    expected: float | str | None = None
    # Unix seconds.
    since: float | None = None


class Marker(msgspec.Struct, frozen=True, kw_only=True):
    """An incident on the time line; times in Unix seconds."""

    opened: float
    # None: still open at the end.
    closed: float | None = None
    level: str = ALERT
    node: str = ""
    # Its id.
    device: str = ""
    # The one that weighs most.
    rule: str = ""
    rules: tuple[str, ...] = ()
    # `device`, `node`, `job` or `group`.
    scope: str = ""
    job: str = ""
    # All that are concerned, best suspect first.
    nodes: tuple[str, ...] = ()
    advice: str = ""
    reasons: tuple[Reason, ...] = ()
    # What the detector says of it; empty where it rests on rules by hand.
    sentence: str = ""


class Stretch(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the span of which something is to be said; times in Unix seconds."""

    start: float
    end: float
    # Empty: the whole fleet.
    node: str = ""
    text: str = ""


class Timeline(msgspec.Struct, frozen=True, kw_only=True):
    """The content between `start` and `end` (Unix seconds), as far as it is known by now."""

    start: float
    end: float
    # How many there are in each of as many equal shares of the span; empty while not known.
    events: Sequence[int] = ()
    # By when they were opened.
    incidents: Sequence[Marker] = ()
    maintenance: Sequence[Stretch] = ()
    # Where no data.
    silences: Sequence[Stretch] = ()
    # What is still being looked for, or could not be, in a few words.
    note: str = ""


class Playback(msgspec.Struct, frozen=True, kw_only=True):
    """Where it is played and how."""

    # Unix seconds.
    time: float
    playing: bool
    is_finished: bool
    # Recorded seconds a second.
    speed: float
    # Whether it begins again at its end.
    loop: bool = False


class Player(Protocol):
    """Moves through a recorded fleet; everything happens on the event loop and nothing blocks it."""

    @property
    def timeline(self) -> Timeline:
        """The whole span."""
        ...

    @property
    def playback(self) -> Playback:
        """Where it is."""
        ...

    @property
    def progress(self) -> tuple[float, float, float]:
        """First, present and last moment, Unix seconds."""
        ...

    def toggle_loop(self) -> None:
        """Begin again at the end, or not."""
        ...

    def pause(self) -> None:
        """Stop, or go on; at the end, begin again."""
        ...

    def faster(self, step: int) -> None:
        """The next speed of the list; a negative step is slower."""
        ...

    def step(self, intervals: int) -> None:
        """Stop, so many intervals on."""
        ...

    def seek(self, time: float) -> None:
        """Go to a moment, Unix seconds; beyond the ends, to the end."""
        ...

    def seek_incident(self, step: int) -> str:
        """Go to where the next incident was opened, or the one before; what it is, in words."""
        ...

    async def seek_event(self, step: int) -> str:
        """Go to the next event, or the one before; what it is, in words. Raises AccelwatchError."""
        ...
