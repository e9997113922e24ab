"""The exact interval of a Poisson rate (Garwood)."""

import math
from collections.abc import Callable


def interval(count: int, exposure: float, confidence: float = 0.95) -> tuple[float, float]:
    """The rates between which the true one lies, of so many events in an exposure."""
    tail = (1.0 - confidence) / 2.0
    low = 0.0 if count == 0 else _solve(lambda mean: 1.0 - _at_most(count - 1, mean), tail, count)
    high = _solve(lambda mean: -_at_most(count, mean), -tail, count)
    return low / exposure, high / exposure


def _at_most(count: int, mean: float) -> float:
    """How likely so many or fewer are."""
    if mean <= 0:
        return 1.0
    log = math.log(mean)
    return math.fsum(math.exp(at * log - mean - math.lgamma(at + 1)) for at in range(count + 1))


def _solve(grows: Callable[[float], float], goal: float, count: int) -> float:
    low, high = 0.0, 10.0 + 4.0 * count
    for _ in range(100):
        middle = (low + high) / 2.0
        low, high = (middle, high) if grows(middle) < goal else (low, middle)
    return (low + high) / 2.0
