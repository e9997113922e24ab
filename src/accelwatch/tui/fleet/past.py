"""The hub's history of a device as rows for the dashboard's graphs. Pure."""

from collections.abc import Iterator

from accelwatch.fleet.picture.model import Past
from accelwatch.schema.reading import Number, Reading
from accelwatch.schema.series import series_of


def rows_of(past: Past, memory_size_bytes: Number | None) -> Iterator[tuple[float, Reading]]:
    """(Unix seconds, what is known of that moment), oldest first; empty moments are left out."""
    columns = {series_of(path): steps for path, steps in past.values.items()}
    count = max((len(steps) for steps in columns.values()), default=0)
    for step in range(count):
        values: dict[tuple[str, ...], Number] = {}
        for series, steps in columns.items():
            value = steps[step] if step < len(steps) else None
            if value is not None:
                values[series] = value
        if values:
            if memory_size_bytes is not None:
                values["memory_size_bytes",] = memory_size_bytes
            moment = past.end - (count - 1 - step) * past.step_s
            yield moment, Reading(device_id="", values=values)
