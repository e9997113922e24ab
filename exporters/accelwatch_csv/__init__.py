"""Devices as RFC 4180 CSV: one row a device, units in the header's names, empty cells for absence."""

import csv
import io
from collections.abc import Mapping

from accelwatch.base.untrusted_text import cell_text
from accelwatch.schema.fields import DEFAULT_CSV, Cell, cell, columns
from accelwatch.schema.snapshot import Snapshot


def _text(value: Cell) -> str:
    if value is None:
        return ""
    if isinstance(value, int | float):
        return repr(value)
    return cell_text(str(value))


class CsvExporter:
    """Options: `fields` (sequence of field names), `header` (bool, default true)."""

    name = "csv"
    content_type = "text/csv; charset=utf-8; header=present"
    options = frozenset({"fields", "header"})

    def render(self, snapshot: Snapshot, options: Mapping[str, object]) -> bytes:
        """Header and one row a device, lines ended by CR LF."""
        requested = options.get("fields")
        wide = DEFAULT_CSV
        if isinstance(requested, list | tuple) and requested:
            wide = columns(requested, snapshot.devices)
        buffer = io.StringIO(newline="")
        writer = csv.writer(buffer, lineterminator="\r\n")
        if options.get("header", True):
            writer.writerow(wide)
        for view in snapshot.devices:
            writer.writerow([_text(cell(view, name)) for name in wide])
        return buffer.getvalue().encode()
