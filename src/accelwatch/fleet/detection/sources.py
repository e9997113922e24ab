"""The columns that frames are made of."""

from collections.abc import Iterable, Sequence

from accelwatch.expr.needs import Needs
from accelwatch.schema.metrics import Series

UPTIME: Series = ("host_uptime_seconds",)
STAGE_LABEL = "stage"
# What says who a device is, and what it does. The node is always there.
_FIELDS = frozenset({"id", "name", "uuid", "serial", "model", "job"})


def needs_of(sources: Iterable[Sequence[Series]]) -> Needs:
    """The columns that frames are made of."""
    series = frozenset(key for each in sources for key in each) | {UPTIME}
    return Needs(series=series, fields=_FIELDS, labels=frozenset({STAGE_LABEL}))
