"""What people look for first on a device, each with its limit and a bar. Pure."""

from collections.abc import Iterator

import msgspec

from accelwatch.schema.reading import Number
from accelwatch.schema.snapshot import DeviceView
from accelwatch.schema.status.heat import MARGIN_CELSIUS
from accelwatch.tui.drawing import format as fmt
from accelwatch.tui.drawing.glyphs import Glyphs
from accelwatch.tui.drawing.lines import Line, clipped, fit
from accelwatch.tui.local.devices.quantity_names import quantity_name

# Cells of a tile at least: `clock graphics 1980 MHz` and a gap.
_WIDTH = 25


class Tile(msgspec.Struct, frozen=True, kw_only=True):
    """One figure; `share` is of its limit, None where the device reports no limit.

    `short` is the figure without its limit, for a title that would be cut beside both.
    """

    title: str
    text: str
    short: str = ""
    share: float | None
    role: str
    bar: str


def tiles(view: DeviceView, glyphs: Glyphs) -> list[Tile]:
    """Those whose figure the device gives, in their order."""
    return [
        *_power(view),
        *_temperatures(view, glyphs),
        *_memory(view),
        *_load(view),
        *_clocks(view),
    ]


def tile_lines(view: DeviceView, width: int, glyphs: Glyphs) -> list[Line]:
    """As many beside each other as fit, each on two lines."""
    shown = tiles(view, glyphs)
    if not shown:
        return []
    across = min(max((width - 1) // _WIDTH, 1), len(shown))
    each = (width - 1) // across
    lines: list[Line] = []
    for first in range(0, len(shown), across):
        row = shown[first : first + across]
        heads: Line = [(" ", "text")]
        bars: Line = [(" ", "text")]
        for tile in row:
            heads += [*_head(tile, each - 2), ("  ", "text")]
            bars += [*_bar(tile, each - 2, glyphs), ("  ", "text")]
        lines += [[], clipped(heads, width), clipped(bars, width)]
    return lines


def _head(tile: Tile, width: int) -> Line:
    fits = len(tile.title) + 1 + len(tile.text) <= width
    text = tile.text if fits else tile.short or tile.text
    title = fit(tile.title, max(width - len(text) - 1, 0))
    return [(f"{title} ", "dim"), (fit(text, width - len(title) - 1, right=True), tile.role)]


def _bar(tile: Tile, width: int, glyphs: Glyphs) -> Line:
    if tile.share is None:
        return [(" " * width, "text")]
    return fmt.bar(tile.share, width, glyphs, tile.bar)


def _share(value: Number, limit: Number | None) -> float | None:
    return value / limit if limit else None


def _power(view: DeviceView) -> Iterator[Tile]:
    value, limit = fmt.number(view, "power_watts"), fmt.number(view, "power_limit_watts")
    if value is not None:
        share = _share(value, limit)
        text = fmt.of_limit(value, limit, " W")
        yield Tile(title="power", text=text, share=share, role="strong", bar=fmt.level_role(share))


def _temperatures(view: DeviceView, glyphs: Glyphs) -> Iterator[Tile]:
    values = view.reading.values
    for series, value in sorted(values.items()):
        if series[0] != "temperature_celsius":
            continue
        bounds = (values.get(("temperature_limit_celsius", series[1], name)) for name in _BOUNDS)
        limit = next((bound for bound in bounds if bound is not None), None)
        share, role = _share(value, limit), fmt.limit_role(value, limit, MARGIN_CELSIUS)
        yield Tile(
            title=quantity_name(("temp", series[1])).replace(",", ""),
            text=fmt.of_limit(value, limit, f"{glyphs.degree}C"),
            short=fmt.of_limit(value, None, f"{glyphs.degree}C"),
            share=share,
            role="strong" if role == "text" else role,
            bar=fmt.level_role(share) if role == "text" else role,
        )


_BOUNDS = ("slowdown", "shutdown")


def _memory(view: DeviceView) -> Iterator[Tile]:
    used, size = fmt.number(view, "memory_used_bytes"), fmt.number(view, "memory_size_bytes")
    if used is None:
        return
    of = f"/{fmt.gibibytes(size)}" if size is not None else ""
    share = fmt.memory_ratio(view)
    role = fmt.memory_role(share)
    yield Tile(
        title="memory",
        text=f"{fmt.gibibytes(used)}{of} GiB",
        share=share,
        role="warn" if role == "warn" else "strong",
        bar=role,
    )


def _load(view: DeviceView) -> Iterator[Tile]:
    ratio = fmt.busy(view.reading)
    if ratio is not None:
        role = fmt.level_role(ratio)
        yield Tile(title="load", text=fmt.percent(ratio), share=ratio, role="strong", bar=role)


def _clocks(view: DeviceView) -> Iterator[Tile]:
    values = view.reading.values
    for series, value in sorted(values.items()):
        if series[0] != "clock_hertz":
            continue
        limit = values.get(("clock_limit_hertz", series[1], "max"))
        of = f"{value / 1e6:.0f}/" if limit is not None else ""
        share = _share(value, limit)
        yield Tile(
            title=quantity_name(("clock", series[1])).replace(",", ""),
            text=f"{of}{fmt.megahertz(limit if limit is not None else value)}",
            short=fmt.megahertz(value),
            share=share,
            role="strong",
            bar=fmt.level_role(share),
        )
