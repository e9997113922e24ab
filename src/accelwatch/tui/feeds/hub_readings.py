"""What the hub still has of a device's last hour, as readings for its graphs."""

from collections.abc import Iterator

from accelwatch.fleet.picture.model import RecentHistory
from accelwatch.schema.reading import Number, Reading
from accelwatch.schema.series import series_of


def readings_of(
    history: RecentHistory, memory_size_bytes: Number | None
) -> Iterator[tuple[float, Reading]]:
    """(Unix seconds, the values of that time), oldest first; steps without a value are left out."""
    columns = {series_of(path): steps for path, steps in history.values.items()}
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
            timestamp = history.end - (count - 1 - step) * history.step_s
            yield timestamp, Reading(device_id="", values=values)
