"""The plans that people were sent links for: by them a page says what is new in the present one."""

from collections import OrderedDict
from collections.abc import Sequence

MOST_KEPT = 512


class ShownPlans:
    """Steps by the plan's digest; a restart forgets them."""

    def __init__(self) -> None:
        self._steps: OrderedDict[str, tuple[str, ...]] = OrderedDict()

    def store(self, plan: str, steps: Sequence[str]) -> None:
        """A plan is shown to people."""
        self._steps[plan] = tuple(steps)
        self._steps.move_to_end(plan)
        while len(self._steps) > MOST_KEPT:
            self._steps.popitem(last=False)

    def changes(self, plan: str, steps: Sequence[str]) -> tuple[str, ...]:
        """What steps have, and have not any more, that a plan of before had not, or had."""
        before = self._steps.get(plan)
        if before is None:
            return ()
        new = [f"New: {text}" for text in steps if text not in before]
        return (*new, *(f"No more: {text}" for text in before if text not in steps))
