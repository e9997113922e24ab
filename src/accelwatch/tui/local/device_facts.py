"""Everything about one device as lines: identity, events, each quantity with unit, limit and source.

What is absent is there too, with its reason. Pure.
"""

from functools import cache

from accelwatch.display import printable, quantity
from accelwatch.natural_order import Natural, natural
from accelwatch.schema.absence import Absence
from accelwatch.schema.metrics import Kind, Metric, MetricSource, Scope, Series, by_key, catalogue
from accelwatch.schema.snapshot import DeviceView, Snapshot, absences
from accelwatch.schema.verdict import verdict
from accelwatch.tui.drawing import format as fmt
from accelwatch.tui.drawing.glyphs import Glyphs
from accelwatch.tui.drawing.lines import Line, clipped, fit
from accelwatch.tui.drawing.sentence import whole_sentence

REASONS = {
    Absence.UNSUPPORTED: "the device, driver or library cannot give it",
    Absence.PERMISSION: "this user may not read it",
    Absence.TIMEOUT: "the call did not come back in time",
    Absence.LOST: "the device is gone",
    Absence.SUSPENDED: "the device sleeps and was not woken",
    Absence.ERROR: "the driver answered with an error or an impossible value",
    Absence.STALE: "the last value is too old to be shown",
    Absence.NOT_COLLECTED: "nobody asked for it, or it needs two readings",
}
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
_IDENTITY = (
    ("model", "model"),
    ("architecture", "architecture"),
    ("uuid", "uuid"),
    ("serial", "serial"),
    ("part_number", "part number"),
    ("pci_bus_id", "PCI address"),
    ("numa_node", "NUMA node"),
    ("driver_version", "driver"),
    ("firmware_version", "firmware"),
    ("vbios_version", "video BIOS"),
    ("memory_kind", "memory is"),
    ("partition_mode", "partitioning"),
    ("partition_profile", "profile"),
    ("parent_id", "part of"),
)
_LIMITS = {
    "power_watts": ("power_limit_watts", ("enforced",)),
    "memory_used_bytes": ("memory_size_bytes", ()),
    "pcie_link_generation": ("pcie_link_generation", ("max",)),
    "pcie_link_width_lanes": ("pcie_link_width_lanes", ("max",)),
}
_MEMORY_KINDS = {
    "dedicated": "its own (dedicated)",
    "shared": "one pool with the host (shared)",
    "aggregate": "the sum over processes; the driver gives no total (aggregate)",
}


@cache
def _section_of(key: str) -> str:
    for title, prefixes in _SECTIONS:
        if key.startswith(prefixes):
            return title
    return "Other"


def lines(view: DeviceView, shot: Snapshot, width: int, glyphs: Glyphs) -> list[Line]:
    """All of it."""
    return [
        *state_lines(view, shot, width, glyphs),
        *_identity_lines(view, width, glyphs),
        *_event_lines(view, shot, width, glyphs),
        *_quantity_lines(view, width, glyphs),
    ]


def state_lines(view: DeviceView, shot: Snapshot, width: int, glyphs: Glyphs) -> list[Line]:
    """State, since when, why."""
    since = fmt.ago(shot.time - view.state_since)
    sign = fmt.state_glyph(view, glyphs)
    head: Line = [
        (f" {sign} {fmt.state_word(view)}", fmt.state_role(view)),
        (f"  since {fmt.clock_time(view.state_since)}, {since}", "dim"),
        (f"   health {view.health.value}", "dim" if view.health.value == "ok" else "warn"),
        (f"   sample {fmt.age(view.sample_age_s)} old", "dim"),
    ]
    given = [clipped(head, width)]
    given += whole_sentence(verdict(view, shot), width, glyphs, fmt.state_role(view))
    for owner in view.owners:
        name = owner.pod or owner.job_id or owner.container
        space = f"{owner.namespace}/" if owner.namespace else ""
        allocation = f"allocated to {owner.kind} {space}{name} {owner.user}".rstrip()
        shown = printable(allocation, ascii_only=glyphs.ascii_only)
        given.append(clipped([(f"   {shown}", "text")], width))
    given += [[(f"   {note}", "dim")] for note in view.reading.notes]
    return given


def _title(text: str, width: int, glyphs: Glyphs) -> list[Line]:
    rule = glyphs.rule
    head: Line = [(f"{rule} ", "rule"), (text, "title"), (" ", "text")]
    return [[], clipped([*head, (rule * width, "rule")], width)]


def _identity_lines(view: DeviceView, width: int, glyphs: Glyphs) -> list[Line]:
    given = _title("Identity", width, glyphs)
    for name, label in _IDENTITY:
        value = getattr(view.device, name)
        if name == "memory_kind":
            value = _MEMORY_KINDS.get(str(value), str(value))
        if value is None and name in ("partition_mode", "partition_profile", "parent_id"):
            continue
        if value is None:
            reason = view.device.absent.get(name, Absence.UNSUPPORTED)
            given.append([(f" {fit(label, 14)}", "dim"), (f"{fmt.NOTHING} {reason}", "faint")])
        else:
            text = printable(str(value), ascii_only=glyphs.ascii_only)
            given.append(clipped([(f" {fit(label, 14)}", "dim"), (text, "text")], width))
    return given


def _event_lines(view: DeviceView, shot: Snapshot, width: int, glyphs: Glyphs) -> list[Line]:
    mine = [event for event in shot.events if event.device_id == view.device.id]
    if not mine and not view.event_counts:
        return []
    given = _title("Events", width, glyphs)
    for count in view.event_counts:
        last = fmt.ago(shot.time - count.last_time)
        summary = f" {count.code} ({count.category}): {count.total} in all, last {last} ago"
        given.append(clipped([(summary, "bad")], width))
    for event in mine[-20:]:
        text = printable(event.text, ascii_only=glyphs.ascii_only)
        line = f"   {fmt.clock_time(event.time)}  {event.code}  {text}  ({event.source})"
        given.append(clipped([(line, "text")], width))
    return given


def _quantity_lines(view: DeviceView, width: int, glyphs: Glyphs) -> list[Line]:
    sections: dict[str, list[Line]] = {title: [] for title, _ in _SECTIONS}
    for row in catalogue():
        if row.scope is not Scope.DEVICE or row.kind is Kind.HISTOGRAM:
            continue
        if row.kind is Kind.INFO and row.source is not MetricSource.READ:
            continue
        mine = (series for series in view.reading.values if series[0] == row.key)
        ordered = sorted(mine, key=_by_label)
        place = sections.setdefault(_section_of(row.key), [])
        place += [_value_line(view, row, series, width, glyphs) for series in ordered]
        place += _absent_lines(view, row, width, have=bool(ordered))
    given: list[Line] = []
    for title, rows in sections.items():
        if rows:
            given += [*_title(title, width, glyphs), *rows]
    return given


def _widths(width: int) -> tuple[int, int, int]:
    """Of name, value and limit; the source gets what is left."""
    if width >= 100:
        return 42, 12, 14
    return (36, 13, 12) if width >= 76 else (max(width - 14, 12), 12, 0)


def _by_label(series: Series) -> tuple[Natural, ...]:
    return tuple(natural(part) for part in series)


def _name(series: Series) -> str:
    return " ".join((series[0], *series[1:]))


def _value_line(view: DeviceView, row: Metric, series: Series, width: int, glyphs: Glyphs) -> Line:
    name_width, value_width, limit_width = _widths(width)
    value = view.reading.values[series]
    shown = quantity(row.key, value, ascii_only=glyphs.ascii_only)
    if row.kind is Kind.INFO:
        shown = "yes" if value else "no"
    limit = _limit(view, series)
    bound = f"of {quantity(row.key, limit, ascii_only=glyphs.ascii_only)}" if limit else ""
    sources = view.reading.sources
    read_from = sources.get(row.key) or sources.get("*", "")
    source = "derived" if row.source is MetricSource.DERIVED else read_from
    return clipped(
        [
            (f" {fit(_name(series), name_width, ellipsis=glyphs.ellipsis)} ", "dim"),
            (fit(shown, value_width, right=True), "strong"),
            (f"  {fit(bound, limit_width)}  ", "text"),
            (source if limit_width else "", "faint"),
        ],
        width,
    )


def _limit(view: DeviceView, series: Series) -> float | None:
    """The value that this one is measured by, where the device tells one."""
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


def _absent_lines(view: DeviceView, row: Metric, width: int, *, have: bool) -> list[Line]:
    absent = absences(view)
    whole = absent.get((row.key,)) or (None if have else absent.get(("*",)))
    missing = [series for series in absent if series[0] == row.key and len(series) > 1]
    if whole is not None and not have:
        missing = [(row.key,)]
    name_width, value_width, _ = _widths(width)
    given = []
    for series in sorted(missing, key=_by_label):
        reason = absent.get(series) or whole or Absence.UNSUPPORTED
        explanation = f"{reason.value}: {_why(row, reason)}"
        spans: Line = [
            (f" {fit(_name(series), name_width)} ", "faint"),
            (fit(fmt.NOTHING, value_width, right=True), "faint"),
            (f"  {explanation}", "faint"),
        ]
        if width < 76:
            spans = [(f" {fit(_name(series), name_width)} ", "faint"), (reason.value, "faint")]
        given.append(clipped(spans, width))
    return given


def _why(row: Metric, reason: Absence) -> str:
    if reason is Absence.NOT_COLLECTED and row.group:
        return f"opt-in group {row.group} is off"
    return REASONS[reason]


def as_document(view: DeviceView) -> dict[str, object]:
    """The device as plain data, for the clipboard."""
    values = {" ".join(series): value for series, value in view.reading.values.items()}
    known = by_key()
    return {
        "id": view.device.id,
        "name": view.device.name,
        "state": view.state.value,
        "values": {name: value for name, value in values.items() if name.split(" ")[0] in known},
        "absent": {" ".join(series): str(why) for series, why in absences(view).items()},
    }
