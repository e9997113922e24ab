"""How many spare nodes are enough, by outages that are independent and by outages in clusters."""

import math
from heapq import heappop, heappush
from random import Random

ENOUGH = 0.99
# InfiniteHBD's trace, 400 servers and 349 days: starts a day have a variance of 3.4 times their mean,
# an outage lasts 1.1 days in the median and 6.0 in the mean.
_SERVERS, _DISPERSION = 400, 3.4
_MEAN_OVER_MEDIAN = 6.0 / 1.1
# Of an exponent of a normal distribution: mean / median = exp(sigma ** 2 / 2).
_SIGMA = math.sqrt(2.0 * math.log(_MEAN_OVER_MEDIAN))
# Days that are simulated: enough for this many outages, within limits; the first ones fill the workshop.
_OUTAGES, _DAYS_LIMITS, _SETTLED = 200_000, (5_000, 100_000), 2_000
# Counts of a larger mean are drawn in pieces: exp(-mean) becomes 0.
_LARGEST_MEAN = 500.0


def poisson_spares(mean: float, enough: float = ENOUGH) -> int:
    """The fewest spares that suffice in so much of the time, where `mean` nodes are out on average."""
    if mean <= 0.0:
        return 0
    spares, total = 0, math.exp(-mean)
    while total < enough:
        spares += 1
        # By logarithms: exp(-mean) alone is 0 for a large fleet.
        total += math.exp(spares * math.log(mean) - mean - math.lgamma(spares + 1))
    return spares


def clustered_spares(
    per_day: float, repair_days: float, nodes: int, chance: Random, enough: float = ENOUGH
) -> int:
    """The same where outages come in clusters, by a simulation of up to 270 years.

    Of the trace's excess over Poisson a fleet has the share that its nodes are of those servers: nodes
    of one cluster are spread over all. Beyond that many servers nothing was measured.
    """
    excess = (_DISPERSION - 1.0) * min(1.0, nodes / _SERVERS)
    median_days = repair_days / _MEAN_OVER_MEDIAN
    returns: list[float] = []
    days_by_count: dict[int, int] = {}
    low, high = _DAYS_LIMITS
    days = high if per_day <= 0.0 else min(high, max(low, round(_OUTAGES / per_day)))
    for day in range(days):
        while returns and returns[0] <= day:
            heappop(returns)
        for _ in range(_clustered(per_day, excess, chance)):
            length = median_days * math.exp(_SIGMA * chance.gauss(0.0, 1.0))
            heappush(returns, day + chance.random() + length)
        if day >= _SETTLED:
            days_by_count[len(returns)] = days_by_count.get(len(returns), 0) + 1
    return _quantile(days_by_count, enough)


def _clustered(mean: float, excess: float, chance: Random) -> int:
    """A negative binomial count: Poisson with a gamma mean, variance/mean = 1 + excess."""
    if mean <= 0.0:
        return 0
    rate = mean if excess <= 0.0 else chance.gammavariate(mean / excess, excess)
    count = 0
    while rate > _LARGEST_MEAN:
        count += _poisson(_LARGEST_MEAN, chance)
        rate -= _LARGEST_MEAN
    return count + _poisson(rate, chance)


def _poisson(mean: float, chance: Random) -> int:
    """Knuth's: how many uniform numbers are multiplied until they are below exp(-mean)."""
    limit, product, count = math.exp(-mean), chance.random(), 0
    while product > limit:
        product *= chance.random()
        count += 1
    return count


def _quantile(days_by_count: dict[int, int], enough: float) -> int:
    needed, total = enough * sum(days_by_count.values()), 0
    for count in sorted(days_by_count):
        total += days_by_count[count]
        if total >= needed:
            return count
    return 0
