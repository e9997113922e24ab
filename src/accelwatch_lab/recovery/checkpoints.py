"""How often to save: Young's interval, and the share of time that is productive."""

import math


def best_interval(save_s: float, ends_per_s: float) -> float:
    """Between two saves that hold the job up for `save_s`, seconds: sqrt(2 w / lambda)."""
    return math.sqrt(2.0 * save_s / ends_per_s)


def effective_ratio(
    save_s: float, interval_s: float, ends_per_s: float, recovery_s: float
) -> float:
    """Effective training time ratio: 1 / (1 + w/tau + lambda (D + R + tau/2)).

    `recovery_s` is D + R: from the fault to the first productive step. What is computed twice is half
    an interval on average.
    """
    lost = ends_per_s * (recovery_s + interval_s / 2.0)
    return 1.0 / (1.0 + save_s / interval_s + lost)
