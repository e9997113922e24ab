"""The quantities of a device under titles, with unit, limit and source; what is not given, folded."""

from collections.abc import Iterable, Sequence
from functools import cache

from accelwatch.base.absence import Absence
from accelwatch.schema.catalogue.lookup import catalogue
from accelwatch.schema.display import quantity
from accelwatch.schema.metrics import FLAG, Kind, Metric, MetricSource, Scope, Series
from accelwatch.schema.natural_order import Natural, natural
from accelwatch.schema.snapshot import DeviceView, absences
from accelwatch.tui.drawing.glyphs import Glyphs
from accelwatch.tui.drawing.lines import Line, clipped, fit, paragraph
from accelwatch.tui.local.devices.quantity_names import quantity_name

# The text before the names of quantities without a value.
LACKS = {
    Absence.UNSUPPORTED: "not given by this driver",
    Absence.PERMISSION: "not allowed for this user",
    Absence.TIMEOUT: "did not come back in time",
    Absence.LOST: "gone with the device",
    Absence.SUSPENDED: "left asleep with the device",
    Absence.ERROR: "answered with an error or an impossible value",
    Absence.STALE: "too old to be shown",
    Absence.NOT_COLLECTED: "not requested, or it needs two readings",
}
# Cells from which sections stand beside each other.
_TWO_COLUMNS = 150
_BETWEEN = 2
_SECTIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "Load",
        (
            "utilization",
            "engine_",
            "compute_active",
            "compute_occupancy",
            "matrix_",
            "pipe_",
            "core_",
            "busy_",
            "memory_controller",
            "memory_bandwidth",
        ),
    ),
    (
        "Health",
        (
            "ecc_",
            "memory_remapped",
            "memory_repair",
            "memory_retired",
            "memory_row_remap",
            "memory_unrepairable",
            "sram_",
            "compute_repair",
            "reset",
            "recovery",
            "fabric",
            "error_event",
            "health",
            "device_",
        ),
    ),
    ("Memory", ("memory_",)),
    ("Temperature, power, fans", ("temperature", "power", "energy", "fan", "voltage")),
    ("Clocks", ("clock", "performance", "throttle")),
    ("PCIe and links", ("pcie", "interconnect", "link")),
    ("Processes and partitions", ("process", "partition")),
    ("Last minute", ("window_", "sampled")),
)
_LIMITS = {
    "power_watts": ("power_limit_watts", ("enforced",)),
    "memory_used_bytes": ("memory_size_bytes", ()),
    "pcie_link_generation": ("pcie_link_generation", ("max",)),
    "pcie_link_width_lanes": ("pcie_link_width_lanes", ("max",)),
}


def column_width(width: int) -> int:
    """Cells that a section has."""
    return (width - _BETWEEN) // 2 if width >= _TWO_COLUMNS else width


def in_columns(blocks: Sequence[list[Line]], width: int) -> list[Line]:
    """Blocks below each other, or in two columns of about the same height where there is room."""
    if width < _TWO_COLUMNS:
        return [line for block in blocks for line in block]
    half = sum(map(len, blocks)) / 2
    left: list[Line] = []
    right: list[Line] = []
    for block in blocks:
        (right if right or len(left) + len(block) / 2 > half else left).extend(block)
    each = column_width(width)
    height = max(len(left), len(right))
    pairs = zip(_filled(left, height), _filled(right, height), strict=True)
    gap = (" " * _BETWEEN, "text")
    return [clipped([*clipped(first, each), gap, *other], width) for first, other in pairs]


def _filled(lines: list[Line], height: int) -> list[Line]:
    return [*lines, *([] for _ in range(height - len(lines)))]


def section_title(text: str, width: int, glyphs: Glyphs) -> list[Line]:
    """A blank line, and a title with a rule behind it."""
    rule = glyphs.rule
    head: Line = [(f"{rule} ", "rule"), (text, "title"), (" ", "text")]
    return [[], clipped([*head, (rule * width, "rule")], width)]


# Called for each quantity at each repaint; the sections are constants.
@cache
def _section_of(key: str) -> str:
    for title, prefixes in _SECTIONS:
        if key.startswith(prefixes):
            return title
    return "Other"


# The catalogue is constant, so the result is never invalid.
@cache
def _rows() -> tuple[Metric, ...]:
    """The quantities that a device may have."""
    return tuple(
        row
        for row in catalogue()
        if row.scope is Scope.DEVICE
        and row.kind is not Kind.HISTOGRAM
        and (row.kind is not Kind.INFO or row.source is MetricSource.READ)
    )


def quantity_blocks(view: DeviceView, width: int, glyphs: Glyphs) -> list[list[Line]]:
    """A block a section, of those that have a value."""
    sections: dict[str, list[Line]] = {title: [] for title, _ in _SECTIONS}
    for row in _rows():
        mine = (series for series in view.reading.values if series[0] == row.key)
        ordered = sorted(mine, key=_by_label)
        section_lines = sections.setdefault(_section_of(row.key), [])
        section_lines += [_value_line(view, row, series, width, glyphs) for series in ordered]
    return [
        [*section_title(title, width, glyphs), *rows] for title, rows in sections.items() if rows
    ]


def _widths(width: int) -> tuple[int, int, int]:
    """Of name, value and limit; the source gets what is left, names no more than the longest needs."""
    if width >= 76:
        return min(width - 41, 48), 13, 12
    return max(width - 14, 12), 12, 0


def _by_label(series: Series) -> tuple[Natural, ...]:
    return tuple(natural(label) for label in series)


def _value_line(view: DeviceView, row: Metric, series: Series, width: int, glyphs: Glyphs) -> Line:
    name_width, value_width, limit_width = _widths(width)
    value = view.reading.values[series]
    shown = quantity(row.key, value, ascii_only=glyphs.ascii_only)
    if row.kind is Kind.INFO or (row.bounds == FLAG and not row.unit):
        shown = "yes" if value else "no"
    limit = _limit(view, series)
    bound = f"of {quantity(row.key, limit, ascii_only=glyphs.ascii_only)}" if limit else ""
    sources = view.reading.sources
    read_from = sources.get(row.key) or sources.get("*", "")
    source = "derived" if row.source is MetricSource.DERIVED else read_from
    return clipped(
        [
            (f" {fit(quantity_name(series), name_width, ellipsis=glyphs.ellipsis)} ", "dim"),
            (fit(shown, value_width, right=True), "strong"),
            (f"  {fit(bound, limit_width)}  ", "text"),
            (source if limit_width else "", "faint"),
        ],
        width,
    )


def _limit(view: DeviceView, series: Series) -> float | None:
    """The limit that this value is measured by, where the device reports one."""
    values = view.reading.values
    key, *labels = series
    if key == "temperature_celsius":
        return values.get(("temperature_limit_celsius", *labels, "slowdown"))
    if key == "clock_hertz":
        return values.get(("clock_limit_hertz", *labels, "max"))
    if key in _LIMITS and tuple(labels) != _LIMITS[key][1]:
        limit_key, limit_labels = _LIMITS[key]
        return values.get((limit_key, *limit_labels))
    return None


def lack_lines(
    view: DeviceView, width: int, glyphs: Glyphs, *, more: Iterable[tuple[str, Absence]] = ()
) -> list[Line]:
    """A paragraph a reason, with the names of all that has no value for it; `more` are no quantities."""
    lacks: dict[str, list[str]] = {}
    for name, reason in more:
        lacks.setdefault(LACKS[reason], []).append(name)
    device_absence = view.reading.absent.get(("*",))
    if device_absence is not None:
        lacks.setdefault(LACKS[device_absence], []).append("every quantity")
    for row in () if device_absence is not None else _rows():
        for series, reason in _lacking(view, row):
            lacks.setdefault(_why(row, reason), []).append(quantity_name(series))
    if not lacks:
        return []
    lines = section_title("Not given", width, glyphs)
    for why, names in lacks.items():
        text = f"{why}: {', '.join(dict.fromkeys(names))}"
        lines += paragraph(" ", text, "faint", width, glyphs)
    return lines


def _lacking(view: DeviceView, row: Metric) -> list[tuple[Series, Absence]]:
    """What of a quantity has no value, and why: all of it, or some labels."""
    absent = absences(view)
    have = any(series[0] == row.key for series in view.reading.values)
    absence = absent.get((row.key,))
    if absence is not None and not have:
        return [((row.key,), absence)]
    mine = (series for series in absent if series[0] == row.key and len(series) > 1)
    return [(series, absent[series]) for series in sorted(mine, key=_by_label)]


def _why(row: Metric, reason: Absence) -> str:
    if reason is Absence.NOT_COLLECTED and row.group:
        return f"not collected (--collect {row.group})"
    return LACKS[reason]
