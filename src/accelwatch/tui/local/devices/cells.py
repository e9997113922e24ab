"""The cells of a device's row: one function a column, each giving a line of any width. Pure."""

from accelwatch.schema.display import printable
from accelwatch.schema.natural_order import natural
from accelwatch.schema.snapshot import DeviceView
from accelwatch.schema.status.device_status import CALM_THROTTLES
from accelwatch.schema.status.heat import MARGIN_CELSIUS
from accelwatch.tui.drawing import format as fmt
from accelwatch.tui.drawing.glyphs import Glyphs
from accelwatch.tui.drawing.lines import Line, cell_len, fit

# Why clocks are held down, gravest first, as short words.
THROTTLE_LABELS = {
    "thermal_hardware": "hot (hw)",
    "thermal_software": "hot",
    "power_brake": "brake",
    "power": "power",
    "reliability": "voltage",
    "sync_boost": "sync",
    "clock_setting": "set",
}


def throttle(view: DeviceView) -> str:
    """The gravest active reason for low clocks as a short word; empty when there is none."""
    active = {
        series[1]
        for series, value in view.reading.values.items()
        if series[0] == "throttle_active" and value and series[1] not in CALM_THROTTLES
    }
    text = next((label for reason, label in THROTTLE_LABELS.items() if reason in active), "")
    return text or (sorted(active)[0].replace("_", " ") if active else "")


_REPAIRS = (
    "memory_repair_pending",
    "memory_repair_failed",
    "memory_unrepairable",
    "sram_error_threshold_exceeded",
    "compute_repair_pending",
)


def flags(view: DeviceView) -> str:
    """`E` uncorrected memory errors, `X` error events, `L` links down, `M` repair waits, `R` reset."""
    values = view.reading.values
    shown = []
    uncorrected = values.get(("ecc_errors_total", "uncorrected"), 0)
    if uncorrected:
        shown.append(f"E{uncorrected:.0f}")
    if events := sum(count.total for count in view.event_counts):
        shown.append(f"X{events}")
    down = sum(
        value
        for series, value in values.items()
        if series[0] == "interconnect_links" and series[-1] == "down"
    )
    if down:
        shown.append(f"L{down:.0f}")
    if any(values.get((key,)) for key in _REPAIRS):
        shown.append("M")
    if values.get(("reset_required",)):
        shown.append("R")
    return " ".join(shown)


def name_cell(view: DeviceView, width: int, glyphs: Glyphs) -> Line:
    """The device's short name; partitions are set in."""
    indent = "  " if view.device.parent_id else ""
    return [(fit(indent + view.device.name, width, ellipsis=glyphs.ellipsis), "strong")]


def model_cell(view: DeviceView, width: int, glyphs: Glyphs) -> Line:
    """The product name."""
    name = fmt.model_name(view, ascii_only=glyphs.ascii_only)
    return [(fit(name, width, ellipsis=glyphs.ellipsis), "dim")]


def state_cell(view: DeviceView, width: int, glyphs: Glyphs) -> Line:
    """Sign and word."""
    label = f"{fmt.state_glyph(view, glyphs)} {fmt.status_text(view)}"
    role = fmt.state_role(view)
    if role == "bad":
        shown = fit(label, min(width, cell_len(label)), ellipsis=glyphs.ellipsis)
        return [(shown, "alarm"), (" " * (width - cell_len(shown)), "text")]
    return [(fit(label, width, ellipsis=glyphs.ellipsis), role)]


def sign_cell(view: DeviceView, width: int, glyphs: Glyphs) -> Line:
    """The sign alone, where there is no room for the word."""
    return [(fit(fmt.state_glyph(view, glyphs), width), fmt.state_role(view))]


def utilization_cell(view: DeviceView, width: int, glyphs: Glyphs) -> Line:
    """A bar and the busy share; where the device reports none, that of its compute units."""
    ratio = utilization(view)
    return _barred(ratio, fmt.percent(ratio), 5, width, glyphs, role=fmt.level_role(ratio))


def utilization(view: DeviceView) -> float | None:
    """How busy the device is, by its own measure or by its compute units."""
    return fmt.busy(view.reading)


def memory_cell(view: DeviceView, width: int, glyphs: Glyphs) -> Line:
    """A bar and `used/size`."""
    ratio = fmt.memory_ratio(view)
    used = fmt.number(view, "memory_used_bytes")
    size = fmt.number(view, "memory_size_bytes")
    shown = fmt.gibibytes(used)
    if size is not None and used is not None:
        shown = f"{shown}/{fmt.gibibytes(size)}"
    text = f"{shown} GiB" if used is not None else shown
    return _barred(ratio, text, 14, width, glyphs, role=fmt.memory_role(ratio))


def short_memory_cell(view: DeviceView, width: int, glyphs: Glyphs) -> Line:
    """A bar and the share in use."""
    ratio = fmt.memory_ratio(view)
    return _barred(ratio, fmt.percent(ratio), 5, width, glyphs, role=fmt.memory_role(ratio))


def _barred(
    ratio: float | None, text: str, text_width: int, width: int, glyphs: Glyphs, *, role: str
) -> Line:
    room = width - text_width - 1
    shown = (
        fit(text, min(text_width, width), right=True),
        "text" if ratio is not None else "faint",
    )
    if room < 4:
        return [(fit(text, width, right=True, ellipsis=glyphs.ellipsis), shown[1])]
    return [*fmt.bar(ratio, room, glyphs, role), (" ", "text"), shown]


def temperature_cell(view: DeviceView, width: int, glyphs: Glyphs) -> Line:
    """`61/89°C`: the limit is where the device slows itself down."""
    value = fmt.number(view, "temperature_celsius")
    limit = fmt.number(view, "temperature_limit_celsius") if width >= 8 else None
    shown = fmt.of_limit(value, limit, f"{glyphs.degree}C")
    device_limit = fmt.number(view, "temperature_limit_celsius")
    return [(fit(shown, width, right=True), fmt.limit_role(value, device_limit, MARGIN_CELSIUS))]


def power_cell(view: DeviceView, width: int, _: Glyphs) -> Line:
    """`642/700 W`: the limit is the cap in force."""
    value, limit = fmt.number(view, "power_watts"), fmt.number(view, "power_limit_watts")
    shown = fmt.of_limit(value, limit if width >= 9 else None, " W")
    role = "faint" if value is None else "warn" if limit and value > limit * 1.02 else "text"
    return [(fit(shown, width, right=True), role)]


def clock_cell(view: DeviceView, width: int, _: Glyphs) -> Line:
    """The clock of the core."""
    value = fmt.number(view, "clock_hertz")
    return [(fit(fmt.megahertz(value), width, right=True), "text" if value else "faint")]


def throttle_cell(view: DeviceView, width: int, glyphs: Glyphs) -> Line:
    """Why the clocks are held down."""
    reason = throttle(view)
    grave = reason.startswith(("hot", "brake"))
    return [(fit(reason, width, ellipsis=glyphs.ellipsis), "warn" if grave else "dim")]


def work(view: DeviceView, *, ascii_only: bool = False) -> str:
    """`48121 ada`: to whom the device is allocated, as job or pod and user or namespace. A job with a
    name goes by it.

    Where no owner names a user it is those who run processes on it, as the hub has it.
    """
    jobs = {
        owner.job_name or owner.job_id or owner.pod or owner.container for owner in view.owners
    } - {""}
    users = {owner.user or owner.namespace for owner in view.owners} - {""}
    if not users:
        users = {process.user for process in view.reading.processes or () if process.user}
    texts = (
        fmt.few(sorted(jobs, key=natural), "jobs", 1),
        fmt.few(sorted(users, key=natural), "users", 2),
    )
    return printable(" ".join(text for text in texts if text), ascii_only=ascii_only)


def work_cell(view: DeviceView, width: int, glyphs: Glyphs) -> Line:
    """Whose work it does."""
    shown = work(view, ascii_only=glyphs.ascii_only)
    return [(fit(shown, width, ellipsis=glyphs.ellipsis), "text")]


def flags_cell(view: DeviceView, width: int, glyphs: Glyphs) -> Line:
    """Error flags; the Device screen writes them out."""
    return [(fit(flags(view), width, ellipsis=glyphs.ellipsis), "bad")]
