"""The order of devices by a column of their table; without one that of the machine. Pure."""

from collections.abc import Callable, Iterable

from accelwatch.schema.natural_order import Natural, natural
from accelwatch.schema.reading import Number
from accelwatch.schema.snapshot import DeviceView
from accelwatch.schema.status.device_status import severity
from accelwatch.tui.drawing import format as fmt
from accelwatch.tui.drawing.device_signs import device_class
from accelwatch.tui.local.devices import cells

# The order in which the machine lists its devices.
MACHINE = ""
_Value = Number | Natural | None
# What devices are sorted by; the greatest, or the worst, comes first but for names.
SORTS: dict[str, Callable[[DeviceView], _Value]] = {
    "name": lambda view: natural(view.device.name),
    "model": lambda view: natural(fmt.model_name(view)),
    "state": lambda view: severity(device_class(view)),
    "work": lambda view: natural(cells.work(view)) or None,
    "utilization": cells.utilization,
    "memory": fmt.memory_ratio,
    "temperature": lambda view: fmt.number(view, "temperature_celsius"),
    "power": lambda view: fmt.number(view, "power_watts"),
    "clock": lambda view: fmt.number(view, "clock_hertz"),
    "throttled": lambda view: natural(cells.throttle(view)) or None,
    "flags": lambda view: natural(cells.flags(view)) or None,
}
_NAMES = frozenset({"name", "model", "work"})


def ordered(views: Iterable[DeviceView], sort: str, *, descending: bool) -> tuple[DeviceView, ...]:
    """By a column; what has no value of it comes last either way."""
    if sort not in SORTS:
        return tuple(views)
    pairs = [(SORTS[sort](view), view) for view in views]
    valued = [pair for pair in pairs if pair[0] is not None]
    valued.sort(key=lambda pair: pair[0], reverse=descending)  # type: ignore[arg-type,return-value]  # of one kind
    return tuple(view for _, view in (*valued, *(pair for pair in pairs if pair[0] is None)))


def following(sort: str, descending: bool, clicked: str) -> tuple[str, bool]:
    """(column, descending) after a click: by that column, turned round, as the machine has them."""
    first = clicked not in _NAMES
    if clicked not in SORTS:
        return sort, descending
    if clicked != sort:
        return clicked, first
    return (clicked, not first) if descending is first else (MACHINE, True)
