"""Budgets and breakers of benchmarks, and many nodes at once that are many incidents."""

import contextlib
import sys
from collections.abc import Iterator

from accelwatch.alerting.incidents.grouping import storm_rules
from accelwatch.remediation.settings import Breaker, Budget

MANY = Budget(share=1.0, most=100_000, min_available=0.0, per_hour=100_000, spacing_s=0.0)
LIFTED = Breaker(breaches=100_000, failures=100_000, overrides=100_000)
BOUNDED = Budget(share=0.05, most=40, min_available=0.9, per_hour=100_000, spacing_s=0.0)


@contextlib.contextmanager
def without_storms() -> Iterator[None]:
    """Many nodes at once are many incidents."""
    before = storm_rules.LEAST_NODES, storm_rules.LEAST_OF_RACK
    storm_rules.LEAST_NODES = storm_rules.LEAST_OF_RACK = sys.maxsize
    try:
        yield
    finally:
        storm_rules.LEAST_NODES, storm_rules.LEAST_OF_RACK = before
