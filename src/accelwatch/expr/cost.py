"""What evaluating a rule has taken, and whether it is more than it may."""

from dataclasses import dataclass


@dataclass(slots=True)
class Cost:
    """A counter for one rule; the clock is the caller's."""

    ns: int = 0
    """All evaluations together, in nanoseconds."""
    evaluations: int = 0
    """Of one device each."""
    budget_ns: float = float("inf")
    """What one evaluation may take on average."""
    overruns: int = 0
    """How often in a row it took more."""

    def add(self, ns: int, evaluations: int = 1) -> None:
        """Some evaluations took so long together."""
        self.ns += ns
        self.evaluations += evaluations
        over = evaluations > 0 and ns > self.budget_ns * evaluations
        self.overruns = self.overruns + 1 if over else 0

    @property
    def mean_ns(self) -> float:
        """Of one evaluation; 0 before the first."""
        return self.ns / self.evaluations if self.evaluations else 0.0
