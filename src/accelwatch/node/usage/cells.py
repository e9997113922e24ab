"""A usage report as cells of a table, for a terminal and for the dashboard."""

from accelwatch.node.usage.ledger import By
from accelwatch.node.usage.report import UsageReport, UsageRow
from accelwatch.node.usage.shares import Kind
from accelwatch.schema.display import duration, energy, printable, short_duration, size

# A quantity that is known for less of the time is marked.
_COMPLETE = 0.99
_JOULES_PER_KWH = 3.6e6
_NAMELESS = {
    Kind.UNKNOWN: "(unknown)",
    Kind.OTHERS: "(others)",
    Kind.FREE: "(nobody)",
    Kind.TOTAL: "total",
}
# Titles of columns of numbers.
NUMBERS = frozenset(
    {"DEVICES", "HELD", "LOAD", "MEMORY", "PEAK", "ENERGY", "COST", "IDLE", "NO DATA"}
)


def header(report: UsageReport, *, ages: bool) -> list[str]:
    """Titles. `ages`: whether to show since when each is counted."""
    who = ["USER"] if report.by is By.USER else ["JOB", "USER"]
    cost = ["COST"] if report.price is not None else []
    since = ["BEGAN", "COUNTED SINCE"] if ages else []
    return [
        *who,
        "DEVICES",
        "HELD",
        "LOAD",
        "MEMORY",
        "PEAK",
        "ENERGY",
        *cost,
        "IDLE",
        "NO DATA",
        *since,
    ]


def cells(row: UsageRow, report: UsageReport, *, ages: bool, ascii_only: bool = False) -> list[str]:
    """One row as texts below the titles."""
    sign = _at_least(ascii_only=ascii_only) if _is_partial(row) else "~" if _is_divided(row) else ""
    cost = [] if report.price is None else [_money(row.cost, report.price.currency, sign)]
    since = [_clock(row.began), _clock(row.counted_since)] if ages else []
    return [
        *_names(row, report.by, ascii_only=ascii_only),
        str(row.devices),
        short_duration(row.device_seconds),
        "-" if row.load_ratio is None else f"{row.load_ratio:.0%}",
        _size(row.memory_bytes),
        _size(row.memory_peak_bytes),
        "-" if row.energy_kwh is None else f"{sign}{energy(row.energy_kwh * _JOULES_PER_KWH)}",
        *cost,
        "-" if row.idle_seconds is None else short_duration(row.idle_seconds),
        short_duration(row.unseen_seconds) if row.unseen_seconds > 0 else "-",
        *since,
    ]


def summary(report: UsageReport) -> str:
    """What was counted, from when on, by whom."""
    where = f"{report.source}: " if report.source else ""
    if report.total is None:
        return f"{where}no device was seen"
    since, until = _clock(report.since), _clock(report.until)
    day, _, time = until.partition(" ")
    end = time if since.startswith(day) else until
    return f"{where}counted from {since} to {end} ({duration(report.seconds)})"


def remarks(report: UsageReport, *, ascii_only: bool = False) -> list[str]:
    """What the marks in the table mean, as far as there are any."""
    rows = [*report.rows, *([report.total] if report.total is not None else [])]
    lines = list(report.notes)
    if any(_is_partial(row) for row in rows):
        lines.append(
            f"{_at_least(ascii_only=ascii_only)} the energy of some of the time is not known"
        )
    if any(_is_divided(row) for row in report.rows):
        lines.append("~ energy of shared devices divided evenly: usage by process is unknown")
    if any(row.unseen_seconds > 0 for row in rows):
        lines.append(
            "no data: these devices were not observed, so they count neither as busy nor as idle"
        )
    return lines


def _at_least(*, ascii_only: bool) -> str:
    return ">=" if ascii_only else "≥"


def _is_partial(row: UsageRow) -> bool:
    """Whether its energy is that of a part of the time."""
    return row.energy_kwh is not None and row.energy_seconds < _COMPLETE * row.device_seconds


def _is_divided(row: UsageRow) -> bool:
    """Whether some of its energy is a device's divided evenly."""
    return row.energy_kwh is not None and row.energy_divided_seconds > 0


def _names(row: UsageRow, by: By, *, ascii_only: bool) -> list[str]:
    nameless = _NAMELESS.get(row.kind, "")
    user = printable(row.user or "-", ascii_only=ascii_only)
    if by is By.USER:
        return [nameless or user]
    job = printable(row.job or "(no job)", ascii_only=ascii_only)
    return [nameless or job, user]


def _size(value: float | None) -> str:
    return "-" if value is None else size(value)


def _money(cost: float | None, currency: str, sign: str) -> str:
    return "-" if cost is None else f"{sign}{cost:.2f} {currency}".rstrip()


def _clock(timestamp: str | None) -> str:
    """A moment of a document without what nobody reads."""
    return "-" if timestamp is None else timestamp[:19].replace("T", " ") + "Z"
