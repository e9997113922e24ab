"""How a screen is filtered: what, by which condition, and how much is left."""

from collections.abc import Callable, Sequence

import msgspec


class Filtering(msgspec.Struct, frozen=True, kw_only=True):
    """What is filtered, and how."""

    what: str
    """In one word, as people say it."""
    table: str
    """Name under which typed filters are remembered."""
    present: str
    """The filter that is set."""
    example: str
    """A condition."""
    wrong: Callable[[str], str]
    """What is wrong with a text; empty when nothing is."""
    names: Sequence[str]
    """What is completed."""
    set: Callable[[str], None]
    """Filter by a text that is well."""
    count: Callable[[], str]
    """What is left of how much, now."""
    pause_s: float = 0.0
    """So long nothing may be typed before the filter is set: somebody else is asked."""
