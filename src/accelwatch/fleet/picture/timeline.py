"""A recorded fleet's whole span as its screen sees it, and the protocol of whatever plays it. Pure."""

from collections.abc import Sequence
from typing import Protocol

import msgspec

ALERT, WATCH, INFO = "alert", "watch", "info"
"""Levels of an incident, the gravest first: it wakes somebody, is worth a look, or is only recorded."""
LEVELS = (ALERT, WATCH, INFO)


class Reason(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that an incident rests on; None for what does not apply."""

    signal: str
    value: float | str | None = None
    expected: float | str | None = None
    since: float | None = None
    """Unix seconds."""


class Marker(msgspec.Struct, frozen=True, kw_only=True):
    """An incident on the time line; times in Unix seconds."""

    opened: float
    closed: float | None = None
    """None: still open at the end."""
    level: str = ALERT
    node: str = ""
    device: str = ""
    """Its id."""
    rule: str = ""
    """The one that weighs most."""
    rules: tuple[str, ...] = ()
    scope: str = ""
    """`device`, `node`, `job` or `group`."""
    job: str = ""
    nodes: tuple[str, ...] = ()
    """All that are concerned, best suspect first."""
    advice: str = ""
    reasons: tuple[Reason, ...] = ()


class Stretch(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the span of which something is to be said; times in Unix seconds."""

    start: float
    end: float
    node: str = ""
    """Empty: the whole fleet."""
    text: str = ""


class Timeline(msgspec.Struct, frozen=True, kw_only=True):
    """What there is between `start` and `end` (Unix seconds), as far as it is known by now."""

    start: float
    end: float
    events: Sequence[int] = ()
    """How many there are in each of as many equal shares of the span; empty while not known."""
    incidents: Sequence[Marker] = ()
    """By when they were opened."""
    maintenance: Sequence[Stretch] = ()
    silences: Sequence[Stretch] = ()
    """Where no data."""
    note: str = ""
    """What is still being looked for, or could not be, in a few words."""


class Playback(msgspec.Struct, frozen=True, kw_only=True):
    """Where it is played and how."""

    time: float
    """Unix seconds."""
    playing: bool
    is_finished: bool
    speed: float
    """Recorded seconds a second."""
    loop: bool = False
    """Whether it begins again at its end."""


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
