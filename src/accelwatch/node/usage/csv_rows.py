"""A usage report as RFC 4180 CSV: one row a user or job, the total last, empty cells for absence."""

import csv
import io

from accelwatch.base.untrusted_text import cell_text
from accelwatch.node.usage.report import UsageReport, UsageRow

_COLUMNS = (
    "kind",
    "user",
    "job",
    "devices",
    "device_seconds",
    "load_ratio",
    "idle_seconds",
    "memory_bytes",
    "memory_peak_bytes",
    "energy_kwh",
    "cost",
    "unseen_seconds",
    "shared_seconds",
    "load_seconds",
    "energy_seconds",
    "energy_divided_seconds",
    "counted_since",
    "began",
    "last_seen",
)


def csv_of(report: UsageReport) -> bytes:
    """Header and rows, lines ended by CR LF; the cost's column names the currency."""
    currency = report.price.currency if report.price is not None else ""
    header = [
        f"cost_{currency}" if column == "cost" and currency else column for column in _COLUMNS
    ]
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\r\n")
    writer.writerow(header)
    for row in (*report.rows, *([report.total] if report.total is not None else [])):
        writer.writerow([_text(row, name) for name in _COLUMNS])
    return buffer.getvalue().encode()


def _text(row: UsageRow, name: str) -> str:
    value = getattr(row, name)
    if value is None:
        return ""
    return repr(round(value, 6)) if isinstance(value, int | float) else cell_text(str(value))
