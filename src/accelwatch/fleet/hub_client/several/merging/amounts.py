"""Sums and means of what is not known of each. Pure."""

from collections.abc import Iterable
from typing import TypeVar

Amount = TypeVar("Amount", int, float)


def sum_of_present(values: Iterable[Amount | None]) -> Amount | None:
    """None where none is known."""
    present = [value for value in values if value is not None]
    return sum(present) if present else None


def weighted_mean(weighted: Iterable[tuple[float | None, float]]) -> float | None:
    """The mean of (value, weight); None where no value that is known has a weight."""
    present = [(value, weight) for value, weight in weighted if value is not None and weight]
    weights = sum(weight for _, weight in present)
    return sum(value * weight for value, weight in present) / weights if weights else None
