"""A usage report as cells of a table, for a terminal and for the dashboard."""

from accelwatch.display import duration, printable, size
from accelwatch.usage.ledger import By
from accelwatch.usage.report import UsageReport, UsageRow
from accelwatch.usage.shares import Kind

_WHOLE = 0.99
"""A quantity that is known for less of the time is marked."""
_NAMELESS = {
    Kind.UNKNOWN: "(unknown)",
    Kind.OTHERS: "(others)",
    Kind.FREE: "(nobody)",
    Kind.TOTAL: "total",
}
NUMBERS = frozenset(
    {"DEVICES", "HELD", "LOAD", "MEMORY", "PEAK", "ENERGY", "COST", "IDLE", "NO DATA"}
)
"""Titles of columns of numbers."""


def header(report: UsageReport, *, ages: bool) -> list[str]:
    """Titles. `ages`: whether to tell since when each is counted."""
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
    divided = "~" if row.energy_divided_seconds > 0 else ""
    part = row.energy_seconds < _WHOLE * row.device_seconds
    least = (">=" if ascii_only else "≥") if part else divided
    cost = [] if report.price is None else [_money(row.cost, report.price.currency, least)]
    since = [_clock(row.began), _clock(row.counted_since)] if ages else []
    return [
        *_names(row, report.by, ascii_only=ascii_only),
        str(row.devices),
        hours(row.device_seconds),
        "-" if row.load_ratio is None else f"{row.load_ratio:.0%}",
        _size(row.memory_bytes),
        _size(row.memory_peak_bytes),
        "-" if row.energy_kwh is None else f"{least}{_digits(row.energy_kwh)} kWh",
        *cost,
        "-" if row.idle_seconds is None else hours(row.idle_seconds),
        hours(row.unseen_seconds) if row.unseen_seconds > 0 else "-",
        *since,
    ]


def summary(report: UsageReport) -> str:
    """What was counted, from when on, by whom."""
    where = f" ({report.source})" if report.source else ""
    if report.total is None:
        return f"no device was seen{where}"
    begun = "" if report.whole else ", since when it is counted"
    time = f"from {_clock(report.since)}{begun} to {_clock(report.until)}"
    return f"{duration(report.seconds)} {time}{where}"


def remarks(report: UsageReport) -> list[str]:
    """What the marks in the table mean, as far as there are any."""
    rows = [*report.rows, *([report.total] if report.total is not None else [])]
    said = list(report.notes)
    if any(row.energy_seconds < _WHOLE * row.device_seconds for row in rows):
        said.append("at least: the energy of some of the time is not known")
    if any(row.energy_divided_seconds > 0 for row in report.rows):
        said.append("~ energy of shared devices divided evenly: nobody tells whose it is")
    if any(row.unseen_seconds > 0 for row in rows):
        said.append("no data: nobody saw these devices, so they count neither as busy nor as idle")
    return said


def hours(seconds: float) -> str:
    """Hours with three significant digits."""
    return f"{_digits(seconds / 3600)} h"


def _digits(value: float) -> str:
    digits = 0 if value >= 100 else 1 if value >= 10 else 2 if value >= 1 else 3
    return f"{value:.{digits}f}"


def _names(row: UsageRow, by: By, *, ascii_only: bool) -> list[str]:
    nameless = _NAMELESS.get(row.kind, "")
    user = printable(row.user or "-", ascii_only=ascii_only)
    if by is By.USER:
        return [nameless or user]
    job = printable(row.job or "(no job)", ascii_only=ascii_only)
    return [nameless or job, user]


def _size(value: float | None) -> str:
    return "-" if value is None else size(value)


def _money(cost: float | None, currency: str, least: str) -> str:
    return "-" if cost is None else f"{least}{cost:.2f} {currency}".rstrip()


def _clock(moment: str | None) -> str:
    """A moment of a document without what nobody reads."""
    return "-" if moment is None else moment[:19].replace("T", " ") + "Z"
