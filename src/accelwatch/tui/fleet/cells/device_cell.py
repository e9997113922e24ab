"""A device in a few cells: quiet while it is well, filled while something is wrong with it. Pure."""

from functools import lru_cache
from typing import TYPE_CHECKING

from accelwatch.fleet.picture.model import MEMORY_SIZE, MEMORY_USED, TEMPERATURE, UTILIZATION
from accelwatch.fleet.picture.tally import device_class
from accelwatch.fleet.wire import DeviceNow
from accelwatch.tui.drawing import device_signs
from accelwatch.tui.drawing import format as fmt
from accelwatch.tui.drawing.lines import Line, fit
from accelwatch.tui.drawing.plot import columns_of, graph
from accelwatch.tui.fleet.grid_shape import NUMBERED, TRACED

if TYPE_CHECKING:
    from accelwatch.tui.fleet.cells.render_context import RenderContext

# Degrees Celsius at which the shade of a cell begins and is full.
_COOL, _HOT = 30.0, 90.0
# Percent at which the next shade of a device that is well begins.
_LEVEL_STEPS = (2, 50)


def device_cell(now: DeviceNow, context: "RenderContext", width: int, *, live: bool) -> Line:
    """The device in exactly `width` cells; where there are few of them the last one is a gap."""
    status = device_class(now)
    if status != "ok":
        return _fault(status, context, width)
    view = context.board.view
    time = 0.0 if view is None else view.time
    value = context.board.steady.of(now.slot, context.shade, _value(now, context.shade), time)
    ratio = _ratio(value, context.shade)
    sign, role = context.glyphs.states["ok"], "quiet0"
    if ratio is not None:
        sign, role = _healthy_sign(int(ratio * 100), context.glyphs.low_levels)
    if not live:
        role = "faint"
    if width < NUMBERED:
        if width == 1:
            return [(sign, role)]
        shown = sign * (width - 1)
        return [(shown, role), (" " * (width - len(shown)), "text")]
    trace = width - NUMBERED if width >= TRACED and context.shade == "load" else 0
    figure = fit(_figure(value, context), NUMBERED - 3, right=True)
    cell: Line = [(f"{sign} ", role), (figure, "dim" if live and ratio else "faint")]
    if trace:
        cell.append((f" {_trace(now, context, trace - 1)}", role))
    return [*cell, (" " * (width - NUMBERED - trace + 1), "text")]


def _fault(status: str, context: "RenderContext", width: int) -> Line:
    sign = device_signs.device_glyph(status, context.glyphs)
    role = device_signs.filled_role(status)
    if width < NUMBERED:
        return [(fit(sign, min(width, 2)), role), (" " * max(width - 2, 0), "text")]
    shown = f"{sign} {device_signs.device_status_text(status)}"
    return [(fit(shown, width - 1, ellipsis=context.glyphs.ellipsis), role), (" ", "text")]


# Called for every device of the map at each repaint; 101 values for a set of glyphs.
@lru_cache(maxsize=512)
def _healthy_sign(percent: int, levels: str) -> tuple[str, str]:
    """Sign and role of a device that is well: higher and brighter, the more there is."""
    sign = levels[min(percent * len(levels) // 100, len(levels) - 1)]
    return sign, f"quiet{sum(percent >= step for step in _LEVEL_STEPS)}"


def _figure(value: float | None, context: "RenderContext") -> str:
    if context.shade == "temperature":
        return fmt.NOTHING if value is None else f"{value:.0f}{context.glyphs.degree}"
    return fmt.percent(_ratio(value, context.shade))


def _trace(now: DeviceNow, context: "RenderContext", width: int) -> str:
    values = context.board.recent.of(now.slot, columns_of(context.plot, width))
    return fit("".join(graph(values, width, 1, 1.0, context.plot)), width)


def _value(now: DeviceNow, shade: str) -> float | None:
    """What a device's cell shows: a share of its load or memory, or degrees."""
    values = now.values
    if shade == "memory":
        used, total = values[MEMORY_USED], values[MEMORY_SIZE]
        return used / total if used is not None and total else None
    return values[TEMPERATURE] if shade == "temperature" else values[UTILIZATION]


def _ratio(value: float | None, shade: str) -> float | None:
    """How full a cell is, 0 to 1."""
    if value is None:
        return None
    ratio = (value - _COOL) / (_HOT - _COOL) if shade == "temperature" else value
    return min(max(ratio, 0.0), 1.0)
