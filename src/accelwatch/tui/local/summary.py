"""What the header tells of all devices together; computed once a snapshot. Pure."""

from collections import Counter
from collections.abc import Iterable

import msgspec

from accelwatch.schema.snapshot import DeviceView
from accelwatch.schema.standing import WORST_FIRST
from accelwatch.tui.drawing import format as fmt


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """How many devices are in each state, worst first, and the age of the oldest current sample."""

    states: tuple[tuple[DeviceView, int], ...] = ()
    """A device of each state and how many there are."""
    oldest_s: float | None = None


def summary(views: Iterable[DeviceView]) -> Summary:
    """Of all the devices."""
    counted: Counter[str] = Counter()
    examples: dict[str, DeviceView] = {}
    oldest = -1.0
    for view in views:
        word = fmt.state_word(view)
        counted[word] += 1
        examples.setdefault(word, view)
        age = view.sample_age_s
        if age is not None and age > oldest and fmt.readable(view):
            oldest = age
    order = sorted(examples, key=lambda word: WORST_FIRST.index(examples[word].state))
    return Summary(
        states=tuple((examples[word], counted[word]) for word in order),
        oldest_s=oldest if oldest >= 0 else None,
    )
