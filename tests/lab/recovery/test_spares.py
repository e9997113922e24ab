"""Spares that are enough, against the exact distributions."""

import math
from random import Random

import pytest

from accelwatch_lab.recovery.spares import clustered_spares, poisson_spares


def at_most(spares: int, mean: float) -> float:
    return math.fsum(
        math.exp(k * math.log(mean) - mean - math.lgamma(k + 1)) for k in range(spares + 1)
    )


def binomial_spares(nodes: int, share: float) -> int:
    total, spares = 0.0, -1
    while total < 0.99:
        spares += 1
        total += math.comb(nodes, spares) * share**spares * (1 - share) ** (nodes - spares)
    return spares


@pytest.mark.parametrize("mean", [0.01, 0.59, 1.37, 1.76, 9.2, 40.0])
def test_as_many_are_enough_and_fewer_are_not(mean: float) -> None:
    spares = poisson_spares(mean)
    assert at_most(spares, mean) >= 0.99
    assert spares == 0 or at_most(spares - 1, mean) < 0.99


@pytest.mark.parametrize(("rate", "days", "spares"), [(0.0049, 2, 3), (0.0038, 6, 5)])
def test_sixty_nodes_by_published_rates(rate: float, days: float, spares: int) -> None:
    """2605.09370v1 with two days of repair; the servers of InfiniteHBD with their six."""
    assert poisson_spares(60 * rate * days) == spares
    assert binomial_spares(60, rate * days / (1 + rate * days)) == spares


@pytest.mark.parametrize("mean", [0.0, -1.0])
def test_who_has_no_failures_needs_none(mean: float) -> None:
    assert poisson_spares(mean) == 0
    assert clustered_spares(mean, 6.0, 60, Random(0)) == 0


def test_a_large_fleet() -> None:
    assert poisson_spares(2_000.0) == pytest.approx(2_000.0 + 2.326 * math.sqrt(2_000.0), abs=3)


@pytest.mark.parametrize("seed", range(3))
def test_clusters_need_one_more_as_in_the_trace(seed: int) -> None:
    """60 of the 400 servers have 6 or fewer out in 99 % of the hours (median of 200 choices)."""
    assert clustered_spares(1.44 / 6.0, 6.0, 60, Random(seed)) in (5, 6)
    assert clustered_spares(0.294, 6.0, 60, Random(seed)) == 6


def test_the_more_servers_the_more_clusters_matter() -> None:
    few, many = (nodes * 0.0038 for nodes in (60, 400))
    assert clustered_spares(few, 6.0, 60, Random(0)) - poisson_spares(6.0 * few) <= 1
    assert clustered_spares(many, 6.0, 400, Random(0)) - poisson_spares(6.0 * many) >= 3


def test_many_outages_a_day_are_counted_too() -> None:
    # Days of a mean of 1,200: exp(-1200) is 0.
    assert clustered_spares(1_200.0, 0.5, 100_000, Random(0)) > 600
