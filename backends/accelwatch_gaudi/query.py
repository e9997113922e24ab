"""What `hl-smi -Q ... -f csv,nounits` prints, parsed by its header. Pure.

The header keeps its units although none are requested, and some versions put one behind each number too.
"""

import re
from collections.abc import Mapping, Sequence

from accelwatch.base.errors import ReadError
from accelwatch_gaudi.document import Card, ToolOutput, card_of, unique

_BASIC = (
    "index",
    "bus_id",
    "name",
    "uuid",
    "driver_version",
    "module_id",
    "memory.total",
    "memory.used",
    "power.draw",
    "temperature.aip",
    "utilization.aip",
)
_ECC = (
    "serial",
    "ecc.errors.corrected.volatile.total",
    "ecc.errors.uncorrected.volatile.total",
    "ecc.errors.corrected.aggregate.total",
    "ecc.errors.uncorrected.aggregate.total",
    "ecc.mode.current",
    "ecc.mode.pending",
)
_NEW = (
    "ecc.errors.dram-corrected.volatile.total",
    "ecc.errors.dram.volatile.total",
    "clocks.current.soc",
    "clocks.max.soc",
    "pcie.link.gen.current",
    "pcie.link.gen.max",
    "pcie.link.width.current",
    "pcie.link.width.max",
)
# From what the newest versions know to what all do: one unknown name spoils the whole query.
QUERIES: tuple[tuple[str, ...], ...] = (
    (*_BASIC, *_ECC, *_NEW),
    (*_BASIC, *_ECC),
    _BASIC,
)

_HEADING = re.compile(r"([a-z][\w.\-]*)\s*(?:\[([^\]]*)\])?")
_RECOGNISED_NAMES = frozenset(
    (*QUERIES[0], "timestamp", "memory.free", "power.max", "nic_driver_version")
)
_BARE = re.compile(r"[+-]?\d+(?:\.\d+)?")
# What a number is in that stands without one, in header and cell.
_UNITS: Mapping[str, str] = {
    "memory.total": "MiB",
    "memory.used": "MiB",
    "memory.free": "MiB",
    "power.draw": "W",
    "power.max": "W",
    "temperature.aip": "C",
    "utilization.aip": "%",
    "clocks.current.soc": "MHz",
    "clocks.max.soc": "MHz",
}
_MAX_CARDS = 1024


def parse_query(output: bytes, requested: Sequence[str] = ()) -> ToolOutput:
    """The cards; `requested` names the columns where there is no header. Raises ReadError without
    any.
    """
    lines = [line for line in output.decode("utf-8", "replace").splitlines() if line.strip()]
    header = next((at for at, line in enumerate(lines) if _headings(line)), None)
    if header is not None:
        columns = _headings(lines[header])
    elif requested:
        columns = [(name, "") for name in requested]
    else:
        raise ReadError("hl-smi -Q printed no header of its query", code="garbage")
    rows = lines[(0 if header is None else header + 1) :]
    is_complete = output.endswith(b"\n")
    cards: list[Card] = []
    for at, line in enumerate(rows[:_MAX_CARDS]):
        cells = [cell.strip() for cell in line.split(",")]
        if at == len(rows) - 1 and not is_complete:
            # A line that was cut: its last number may be half of one.
            cells = cells[:-1]
        elif len(cells) != len(columns):
            continue
        if cells and _is_row(cells, columns, header is not None):
            cards.append(card_of(_fields(cells, columns), len(cards)))
    if not cards:
        raise ReadError("hl-smi -Q listed no accelerator", code="garbage")
    driver = next((version for card in cards if (version := card.text("driver_version"))), None)
    return ToolOutput(driver_version=driver, cards=unique(cards))


def _headings(line: str) -> list[tuple[str, str]]:
    """Names and units of a header; empty for a line that is none."""
    matches = [_HEADING.fullmatch(cell.strip()) for cell in line.split(",")]
    if any(match is None for match in matches):
        return []
    columns = [(match[1], match[2] or "") for match in matches if match is not None]
    return columns if any(name in _RECOGNISED_NAMES for name, _ in columns) else []


def _is_row(cells: Sequence[str], columns: Sequence[tuple[str, str]], headed: bool) -> bool:
    """Whether a line is of a card; without a header its index and PCI id must look like such."""
    if headed:
        return True
    fields = {name: cell for (name, _), cell in zip(columns, cells, strict=False)}
    return fields.get("index", "").isdecimal() and ":" in fields.get("bus_id", ":")


def _fields(cells: Sequence[str], columns: Sequence[tuple[str, str]]) -> dict[str, str]:
    fields: dict[str, str] = {}
    for (name, unit), cell in zip(columns, cells, strict=False):
        suffix = unit or _UNITS.get(name, "")
        fields[name] = f"{cell} {suffix}" if suffix and _BARE.fullmatch(cell) else cell
    return fields
