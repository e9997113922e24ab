"""Devices as rows: which columns fit a width, a row of one line, a block of several. Pure."""

from collections.abc import Callable
from functools import lru_cache
from itertools import product

from accelwatch.schema.snapshot import DeviceView, Snapshot
from accelwatch.schema.status.verdict import verdict
from accelwatch.tui.drawing import columns
from accelwatch.tui.drawing import format as fmt
from accelwatch.tui.drawing.columns import GAP, Column, needed, shared
from accelwatch.tui.drawing.glyphs import Glyphs
from accelwatch.tui.drawing.lines import Line, clipped
from accelwatch.tui.drawing.sentence import sentence
from accelwatch.tui.local.devices import cells

Cell = Callable[[DeviceView, int, Glyphs], Line]
# What is left of a row that is too narrow for a column of states.
_WORDLESS = 50


class DeviceColumn(Column[Cell], frozen=True, kw_only=True):
    """One column of devices."""

    # Shown of a device that cannot be read too.
    identity: bool = False


def _column(
    title: str,
    cell: Cell,
    width: int,
    grow: int = 0,
    *,
    right: bool = False,
    identity: bool = False,
    sort: str = "",
) -> DeviceColumn:
    return DeviceColumn(
        title=title, cell=cell, width=width, grow=grow, right=right, identity=identity, sort=sort
    )


_SIGN = _column("", cells.sign_cell, 1, identity=True, sort="state")
_MODEL = _column("MODEL", cells.model_cell, 16, identity=True, sort="model")
# The wider one where there is room for it.
_WORK = (
    _column("WORK", cells.work_cell, 14, 1, identity=True, sort="work"),
    _column("WORK", cells.work_cell, 10, 1, identity=True, sort="work"),
)
_NAME = _column("DEVICE", cells.name_cell, 9, identity=True, sort="name")
_STATE = _column("STATE", cells.state_cell, 10, identity=True, sort="state")
_TEMP = _column("TEMP", cells.temperature_cell, 5, right=True, sort="temperature")
_POWER = _column("POWER", cells.power_cell, 10, right=True, sort="power")
_CLOCK = _column("CLOCK", cells.clock_cell, 8, right=True, sort="clock")
_WHY = _column("THROTTLED", cells.throttle_cell, 9, sort="throttled")
_FLAGS = _column("FLAGS", cells.flags_cell, 8, sort="flags")

# Least width and the columns of each kind of terminal.
_TIERS: tuple[tuple[int, tuple[DeviceColumn, ...]], ...] = (
    (
        133,
        (
            _NAME,
            _MODEL,
            _STATE,
            _column("LOAD", cells.utilization_cell, 15, 3, sort="utilization"),
            _column("MEMORY", cells.memory_cell, 22, 3, sort="memory"),
            _column("TEMP", cells.temperature_cell, 8, right=True, sort="temperature"),
            _POWER,
            _CLOCK,
            _WHY,
            _FLAGS,
        ),
    ),
    (
        100,
        (
            _NAME,
            _STATE,
            _column("LOAD", cells.utilization_cell, 11, 1, sort="utilization"),
            _column("MEMORY", cells.memory_cell, 20, 1, sort="memory"),
            _column("TEMP", cells.temperature_cell, 8, right=True, sort="temperature"),
            _POWER,
            _CLOCK,
            _column("FLAGS", cells.flags_cell, 6, sort="flags"),
        ),
    ),
    (
        76,
        (
            _NAME,
            _STATE,
            _column("LOAD", cells.utilization_cell, 10, 1, sort="utilization"),
            _column("MEMORY", cells.memory_cell, 14, 1, sort="memory"),
            _TEMP,
            _column("POWER", cells.power_cell, 9, right=True, sort="power"),
            _column("FLAGS", cells.flags_cell, 5, sort="flags"),
        ),
    ),
    (
        56,
        (
            _SIGN,
            _NAME,
            _column("LOAD", cells.utilization_cell, 10, 1, sort="utilization"),
            _column("MEM", cells.short_memory_cell, 10, 1, sort="memory"),
            _TEMP,
            _column("POWER", cells.power_cell, 6, right=True, sort="power"),
        ),
    ),
    (
        0,
        (
            _SIGN,
            _NAME,
            _column("LOAD", cells.utilization_cell, 5, 1, sort="utilization"),
            _column("MEM", cells.short_memory_cell, 5, 1, sort="memory"),
            _TEMP,
        ),
    ),
)


# What gives way to the owner where there is no room for both.
_SPARE = (_MODEL, _CLOCK)


def _with_work(tier: tuple[DeviceColumn, ...], width: int) -> tuple[DeviceColumn, ...]:
    """The columns with that of the owner, if it fits instead of at most one other."""
    if _STATE not in tier:
        return tier
    index = tier.index(_STATE) + 1
    for work, spare in product(_WORK, (None, *_SPARE)):
        candidate = (*tier[:index], work, *tier[index:])
        shown = tuple(column for column in candidate if column is not spare)
        if needed(shown) <= width:
            return shown
    return tier


# Called for every row of a repaint; it changes with the size of the terminal only.
@lru_cache(maxsize=32)
def layout(width: int, *, owned: bool = False) -> tuple[tuple[DeviceColumn, int], ...]:
    """The columns that fit, with the width of each; `owned` where a device's owner is known."""
    chosen = next(tier for least, tier in _TIERS if width >= least)
    if owned:
        chosen = _with_work(chosen, width)
    widths = shared(chosen, max(width - needed(chosen) - GAP, 0))
    return tuple(zip(chosen, widths, strict=True))


def heading(
    width: int, glyphs: Glyphs, *, owned: bool = False, sort: str = "", descending: bool = True
) -> Line:
    """The titles of the columns, the sorted one marked."""
    sized_columns = layout(width - 1, owned=owned)
    return columns.heading(sized_columns, width, glyphs, sort=sort, descending=descending)


def sort_at(width: int, x: int, *, owned: bool = False) -> str:
    """What a click on a cell of the heading sorts by; empty beyond the last."""
    column = columns.at(layout(width - 1, owned=owned), x)
    return "" if column is None else column.sort


def row(
    view: DeviceView, snapshot: Snapshot, width: int, glyphs: Glyphs, *, owned: bool = False
) -> Line:
    """One device on one line; one that cannot be read shows its state, why, and since when."""
    spans: Line = [(" ", "text")]
    left = width - 1
    for column, size in layout(width - 1, owned=owned):
        if not column.identity and not fmt.readable(view):
            return clipped([*spans, *why_not(view, snapshot, left, glyphs)], width)
        spans += [*column.cell(view, size, glyphs), (" " * GAP, "text")]
        left -= size + GAP
    if fmt.readable(view):
        return clipped(spans, width)
    return clipped([*spans, *why_not(view, snapshot, left, glyphs)], width)


def why_not(view: DeviceView, snapshot: Snapshot, width: int, glyphs: Glyphs) -> Line:
    """State word where there was no room for it, since when if known, and what is wrong."""
    status = fmt.status_text(view) if width < _WORDLESS else ""
    since = fmt.state_lasts(view, snapshot)
    finding = verdict(view, snapshot)
    return sentence(finding, width, glyphs, fmt.state_role(view), status=status, since=since)


def block(view: DeviceView, snapshot: Snapshot, width: int, glyphs: Glyphs) -> list[Line]:
    """One device on three lines, for machines with one or two."""
    head: Line = [
        (" ", "text"),
        *cells.state_cell(view, 11, glyphs),
        (" ", "text"),
        (view.device.name, "strong"),
        ("  ", "text"),
        (fmt.model_name(view, ascii_only=glyphs.ascii_only), "text"),
        (f"   {view.device.pci_bus_id or ''}", "dim"),
    ]
    if view.owners:
        work = cells.work(view, ascii_only=glyphs.ascii_only)
        head += [("   work ", "dim"), (work, "text")]
    if not fmt.readable(view):
        why: Line = [(" ", "text"), *why_not(view, snapshot, width - 1, glyphs)]
        return [clipped(line, width) for line in (head, why, [])]
    half = (width - 17) // 2
    bars: Line = [
        (" load ", "dim"),
        *cells.utilization_cell(view, half, glyphs),
        ("   memory ", "dim"),
        *cells.memory_cell(view, half, glyphs),
    ]
    return [clipped(line, width) for line in (head, bars, _facts(view, glyphs))]


def _facts(view: DeviceView, glyphs: Glyphs) -> Line:
    """The figures of a block, each with its name; what the device does not give is left out."""
    why = cells.throttle(view)
    shown: list[tuple[str, Line]] = [
        ("", cells.temperature_cell(view, 8, glyphs)),
        ("", cells.power_cell(view, 10, glyphs)),
        ("clock ", cells.clock_cell(view, 8, glyphs)),
        ("memory clock ", _clock(view, "memory")),
        ("fan ", _share(view, "fan_speed_ratio")),
        ("PCIe ", _pcie(view)),
        ("throttled ", [(why, "warn")] if why else []),
        ("", [(cells.flags(view), "bad")] if cells.flags(view) else []),
    ]
    line: Line = [(" ", "text")]
    for label, spans in shown:
        if spans:
            line += [(label, "dim"), *spans, ("   ", "text")]
    return line


def _clock(view: DeviceView, domain: str) -> Line:
    value = view.reading.values.get(("clock_hertz", domain))
    return [] if value is None else [(fmt.megahertz(value), "text")]


def _share(view: DeviceView, key: str) -> Line:
    value = fmt.number(view, key)
    return [] if value is None else [(fmt.percent(value), "text")]


def _pcie(view: DeviceView) -> Line:
    generation = fmt.number(view, "pcie_link_generation")
    lanes = fmt.number(view, "pcie_link_width_lanes")
    return [] if generation is None else [(f"{generation} x{lanes or fmt.NOTHING}", "text")]
