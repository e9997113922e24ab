"""How long and how repeatably damage is tried."""

from hypothesis import HealthCheck, settings

# The same examples in every run, whatever the machine's load.
FUZZ = settings(
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
