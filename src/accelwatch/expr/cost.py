"""What evaluating a rule has cost."""

from dataclasses import dataclass


@dataclass(slots=True)
class Cost:
    """A counter for one rule; the clock is the caller's."""

    # All evaluations together, in nanoseconds.
    ns: int = 0
    # Of one device each.
    evaluations: int = 0

    def add(self, ns: int, evaluations: int = 1) -> None:
        """Add some evaluations and their time together."""
        self.ns += ns
        self.evaluations += evaluations

    @property
    def mean_ns(self) -> float:
        """Of one evaluation; 0 before the first."""
        return self.ns / self.evaluations if self.evaluations else 0.0
