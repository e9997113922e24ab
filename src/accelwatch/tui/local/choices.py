"""A few choices as rows of a list. Pure."""

from collections.abc import Hashable, Sequence

from accelwatch.tui.drawing.lines import Line, clipped


class Choices:
    """Pairs of id and label."""

    stride = 1

    def __init__(self, choices: Sequence[tuple[str, str]]) -> None:
        self._choices = list(choices)

    @property
    def labels(self) -> list[str]:
        """The labels."""
        return [label for _, label in self._choices]

    def __len__(self) -> int:
        return len(self._choices)

    def heading(self, _: int, /) -> Line | None:
        """There is none."""
        return None

    def line(self, index: int, width: int, _: int, /) -> Line:
        """One label."""
        return clipped([(f"  {self._choices[index][1]}", "strong")], width)

    def key(self, index: int) -> Hashable:
        """The id."""
        return self._choices[index][0]

    def place(self, key: Hashable) -> int | None:
        """Where an id is."""
        return next((n for n, (one, _) in enumerate(self._choices) if one == key), None)
