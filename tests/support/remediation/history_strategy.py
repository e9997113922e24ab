"""A history of the walker as turns and events, which Hypothesis draws, and shrinks by removing.

Each event has numbers of its own for what is left to chance in it, so that leaving one out changes
nothing about the others; when its numbers are used up, chance says 0.
"""

import random
from collections.abc import Sequence
from typing import Any, NamedTuple

from hypothesis import strategies as st

from support.remediation.walker import STEPS, WAITS, History

_GREATEST = (1 << 16) - 1
# Each of 0 to 65535.
Numbers = Sequence[int]


class Drawn(random.Random):
    """Chance that was written down."""

    def __init__(self, numbers: Numbers) -> None:
        super().__init__(0)
        self._left = list(reversed(numbers))

    def random(self) -> float:
        return self._next() / (_GREATEST + 1)

    def getrandbits(self, k: int, /) -> int:
        return self._next() & ((1 << k) - 1)

    def sample(self, population: Sequence[Any], k: int, **_: Any) -> list[Any]:
        """The usual way waits for another number than before, which may never come."""
        left = list(population)
        return [left.pop(self.randrange(len(left))) for _ in range(k)]

    def _next(self) -> int:
        return self._left.pop() if self._left else 0


class Event(NamedTuple):
    """Something that happens."""

    # Name of a method of History.
    move: str
    numbers: Numbers = ()


class Turn(NamedTuple):
    """What happens before a step of the machine."""

    events: Sequence[Event]
    wait_s: float = 0.0
    # For what is seen, and in which order it is told.
    numbers: Numbers = ()


# What happens often stands there often.
MOVES = (
    *("fault",) * 4,
    *("progress",) * 8,
    *("clear",) * 3,
    *("person",) * 2,
    *("hang_under_a_job", "job", "approve", "crash", "more_evidence", "late_poll"),
    *("blind", "group", "mute", "orphan", "agent", "scheduler", "admin", "swap", "profile", "hang"),
    "controller",
)


def play(turns: Sequence[Turn], *, verbose: bool = False) -> History:
    """The history as it comes out; a person leaves everything in the end. Raises BrokenError."""
    history = History(Drawn(()), verbose)
    history.start()
    for turn in turns:
        for event in turn.events:
            history.rng = Drawn(event.numbers)
            getattr(history, event.move)()
        history.now += turn.wait_s
        history.rng = Drawn(turn.numbers)
        history.look(history.rng.random())
        history.step()
    history.rng = Drawn(())
    history.ways_out()
    return history


def histories() -> st.SearchStrategy[list[Turn]]:
    """Any history of at most as many turns as the walker's."""
    numbers = st.lists(st.integers(0, _GREATEST), max_size=8)
    events = st.builds(Event, move=st.sampled_from(MOVES), numbers=numbers)
    turns = st.builds(
        Turn,
        events=st.lists(events, max_size=3),
        wait_s=st.sampled_from(sorted(set(WAITS))),
        numbers=numbers,
    )
    return st.lists(turns, max_size=STEPS)
