"""Names of columns: the catalogue key and its label values joined with dots.

Only the first dot ends the key, for label values may hold dots: `host_nfs_backlog_total./mnt/v1.2`.
"""

from accelwatch.schema.catalogue.lookup import by_key
from accelwatch.schema.metrics import Kind, Series

# Kinds that are kept: those whose numbers say something.
KINDS = frozenset({Kind.GAUGE, Kind.COUNTER})
# Families of words that are kept as well: a column a word, 1 where it holds.
TEXT_FAMILIES = frozenset({"device_unreadable_info"})

# Labels that the row itself says: how a node was read is one column.
_OF_ROW = ("node",)


def column_of(series: Series) -> str:
    """`("temperature_celsius", "gpu")` as `temperature_celsius.gpu`."""
    return ".".join(series)


def series_of(column: str) -> Series | None:
    """The series of a column; None for one that the catalogue does not know or that is not kept.

    Where there are more parts than labels, the first label has the dots: interfaces and paths come
    first, directions and kinds last.
    """
    key, _, suffix = column.partition(".")
    row = by_key().get(key)
    if row is None or not (row.kind in KINDS or key in TEXT_FAMILIES):
        return None
    if row.labels in ((), _OF_ROW):
        return None if suffix else (key,)
    label_values = suffix.split(".")
    last = len(row.labels) - 1
    if not suffix or len(label_values) <= last:
        return None
    split = len(label_values) - last
    return (key, ".".join(label_values[:split]), *label_values[split:])
