"""Words and numbers for people on the dashboard: states, bars, pairs of value and limit. Pure."""

from collections.abc import Sequence
from datetime import datetime

from accelwatch.base.absence import Absence
from accelwatch.schema.catalogue.lookup import by_key
from accelwatch.schema.display import duration, printable, without_vendor
from accelwatch.schema.reading import Number, Reading
from accelwatch.schema.series import primary_value
from accelwatch.schema.snapshot import DeviceView, Snapshot, observed_since
from accelwatch.tui.drawing.device_signs import (
    device_class,
    device_glyph,
    device_role,
    device_status_text,
)
from accelwatch.tui.drawing.glyphs import Glyphs
from accelwatch.tui.drawing.lines import Line

# For a value that is absent; the Device screen shows the reason.
NOTHING = "-"
GIB = 1 << 30
# Where the next shade of a bar begins.
_LEVELS = (0.25, 0.6, 0.85)


def number(view: DeviceView, key: str) -> Number | None:
    """The value that the bare key stands for; None when it is absent."""
    value: Number | None = primary_value(view.reading.values, by_key()[key])
    return value


def busy(reading: Reading) -> Number | None:
    """How busy a device is, by its own measure or by that of its compute units."""
    quantities = by_key()
    own: Number | None = primary_value(reading.values, quantities["utilization_ratio"])
    return (
        own
        if own is not None
        else primary_value(reading.values, quantities["compute_active_ratio"])
    )


def readable(view: DeviceView) -> bool:
    """Whether the device has a current reading."""
    return ("*",) not in view.reading.absent


def is_stale(view: DeviceView) -> bool:
    """Whether it did not answer, which says nothing about the device itself."""
    return view.reading.absent.get(("*",)) is Absence.STALE


def status_text(view: DeviceView) -> str:
    """Its class as a label: `ok`, `hot`, `degraded`, `lost`, `hung`, `stale`, `asleep`."""
    return device_status_text(device_class(view))


def state_glyph(view: DeviceView, glyphs: Glyphs) -> str:
    """The sign of that."""
    return device_glyph(device_class(view), glyphs)


def state_role(view: DeviceView) -> str:
    """The role that is painted in."""
    return "bad" if is_stale(view) else device_role(device_class(view))


def state_lasts(view: DeviceView, snapshot: Snapshot) -> str:
    """How long it has been in its state, `42 s`; empty where nobody saw that begin."""
    since = observed_since(view, snapshot)
    return "" if since is None else ago(snapshot.time - since)


def ago(seconds: float | None) -> str:
    """`4 s`, `12 min`; a dash when unknown."""
    return NOTHING if seconds is None else duration(max(seconds, 0.0))


def age(seconds: float | None) -> str:
    """A sample's age, with a decimal below ten seconds."""
    if seconds is None:
        return NOTHING
    return f"{seconds:.1f} s" if seconds < 10 else ago(seconds)


def clock_time(timestamp: float) -> str:
    """Local time of day."""
    return datetime.fromtimestamp(timestamp).astimezone().strftime("%H:%M:%S")


def model_name(view: DeviceView, *, ascii_only: bool = False) -> str:
    """The model without its vendor's name, which the device's own name contains already.

    A device that was never identified, such as one lost before, shows its PCI address instead.
    """
    name = without_vendor(view.device.model or view.device.pci_bus_id or NOTHING)
    profile = view.device.partition_profile
    return printable(f"{profile} of {name}" if profile else name, ascii_only=ascii_only)


def percent(ratio: Number | None) -> str:
    """A ratio in percent, without a blank."""
    return NOTHING if ratio is None else f"{ratio * 100:.0f}%"


def gibibytes(value: Number | None) -> str:
    """Bytes in GiB with one decimal below a hundred."""
    if value is None:
        return NOTHING
    shown = value / GIB
    return f"{shown:.1f}" if shown < 99.95 else f"{shown:.0f}"


def of_limit(value: Number | None, limit: Number | None, unit: str) -> str:
    """`642/700 W`; without the limit where it is unknown."""
    if value is None:
        return NOTHING
    return f"{value:.0f}/{limit:.0f}{unit}" if limit is not None else f"{value:.0f}{unit}"


def megahertz(value: Number | None) -> str:
    """A clock in MHz."""
    return NOTHING if value is None else f"{value / 1e6:.0f} MHz"


def memory_ratio(view: DeviceView) -> float | None:
    """Used of size."""
    size, used = number(view, "memory_size_bytes"), number(view, "memory_used_bytes")
    return used / size if size and used is not None else None


def bar(ratio: Number | None, width: int, glyphs: Glyphs, role: str) -> Line:
    """A bar of `width` cells with eighths of a cell (whole cells in ASCII)."""
    if width <= 0:
        return []
    share = min(max(float(ratio or 0.0), 0.0), 1.0)
    steps = len(glyphs.bar)
    filled = round(share * width * steps)
    if ratio and not filled:
        filled = 1
    full, remainder = divmod(filled, steps)
    shown = glyphs.bar[-1] * full + (glyphs.bar[remainder - 1] if remainder else "")
    return [(shown, role), (glyphs.track * (width - len(shown)), "track")]


def level_role(ratio: Number | None) -> str:
    """The role of a bar: brighter, the more there is of whatever it shows."""
    if ratio is None:
        return "track"
    return f"level{sum(ratio >= step for step in _LEVELS)}"


def memory_role(ratio: float | None) -> str:
    """Memory that is about to run out is a warning."""
    return "warn" if ratio is not None and ratio >= 0.97 else level_role(ratio)


def limit_role(value: Number | None, limit: Number | None, margin: float) -> str:
    """`bad` at a limit, `warn` within a margin of it."""
    if value is None:
        return "faint"
    if limit is None or value < limit - margin:
        return "text"
    return "bad" if value >= limit else "warn"


def few(names: Sequence[str], plural: str, most: int) -> str:
    """The names, or when there are more than `most` how many of them there are."""
    return f"{len(names)} {plural}" if len(names) > most else ",".join(names)


def versions(snapshot: Snapshot) -> str:
    """The drivers that are in use: `nvidia 590.48.01`."""
    labels = []
    for status in snapshot.backends:
        version = status.versions.get("driver")
        if version and status.devices:
            labels.append(f"{status.vendor or status.name} {version}")
    return ", ".join(dict.fromkeys(labels))
