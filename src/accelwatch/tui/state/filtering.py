"""How a screen is filtered: what, by which condition, and how much is left."""

from collections.abc import Callable, Sequence

import msgspec


class Filtering(msgspec.Struct, frozen=True, kw_only=True):
    """What is filtered, and how."""

    # In one word, as people say it.
    what: str
    # Name under which typed filters are remembered.
    table: str
    # The filter that is set.
    present: str
    # A condition.
    example: str
    # What is wrong with a text; empty when nothing is.
    wrong: Callable[[str], str]
    # What is completed.
    names: Sequence[str]
    # Filter by a text that is well.
    set: Callable[[str], None]
    # What is left of how much, now.
    count: Callable[[], str]
    # How long typing must pause before the filter is set: the hub evaluates it.
    pause_s: float = 0.0
