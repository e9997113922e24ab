"""What a row of the catalogue is. `schema/catalogue/` has the rows; its `lookup.py` finds them.

One row per quantity. JSON keys, Prometheus families, CSV headers, `--fields`, expression names and
docs/metrics.md all come from these rows, so adding a quantity is adding a row.
"""

from enum import StrEnum

import msgspec

PREFIX = "accel_"

# A catalogue key followed by one value per label, in the row's label order.
Series = tuple[str, ...]

# Least and greatest number that can be true, in base units.
Bounds = tuple[float, float]
# Of a quantity that is 1 or 0.
FLAG: Bounds = (0.0, 1.0)


class Kind(StrEnum):
    """What may be done with the numbers of a family."""

    GAUGE = "gauge"
    COUNTER = "counter"
    HISTOGRAM = "histogram"
    # Always 1; the labels are the data.
    INFO = "info"
    # One series per possible value, exactly one of them 1.
    STATE = "state"


class Tier(StrEnum):
    """Who gets a family by default."""

    MINIMAL = "minimal"
    DEFAULT = "default"
    OPT_IN = "opt_in"
    WORKLOAD = "workload"
    SELF = "self"
    AGGREGATE = "aggregate"


class Scope(StrEnum):
    """What a family describes, and so which identity labels it carries."""

    # Carries vendor, device and uuid.
    DEVICE = "device"
    # Carries vendor only.
    VENDOR = "vendor"
    # Carries none: the host, or ourselves.
    NODE = "node"


class MetricSource(StrEnum):
    """Who fills a family."""

    # A backend, from the device or the host.
    READ = "read"
    # We, from readings over time.
    DERIVED = "derived"
    # We, from what a device, link, process or partition is.
    IDENTITY = "identity"
    # We, about ourselves.
    SELF = "self"


class Metric(msgspec.Struct, frozen=True):
    """One quantity. `primary` lists, best first, the label values that the bare key stands for."""

    key: str
    kind: Kind
    tier: Tier
    unit: str
    help: str
    labels: tuple[str, ...] = ()
    group: str = ""
    scope: Scope = Scope.DEVICE
    source: MetricSource = MetricSource.READ
    primary: tuple[tuple[str, ...], ...] = ()
    buckets: tuple[float, ...] = ()
    otel: str = ""
    prefix: str = PREFIX
    # What can be true, where the unit does not say it (`schema/values/plausible.py`).
    bounds: Bounds | None = None
    # The quantity of which the readings over time make this one; it exists only so.
    over_time: str = ""

    @property
    def family(self) -> str:
        """Name of the Prometheus family."""
        return self.prefix + self.key
