"""The table that hl-smi prints for people. Pure.

It is read by its words, not by its columns: those run over on cards with much memory. The number at the
right is ECC errors in older versions; newer ones count events of all kinds there (`Uncor-Events`), which
are not ECC errors and are left out.
"""

import re
from collections.abc import Iterator

from accelwatch.backend.kit.text.failed_cells import with_failed_cells
from accelwatch.base.errors import ReadError
from accelwatch_gaudi.document import Card, Entry, ToolOutput, card_of, unique

_DRIVER = re.compile(r"^\W*Driver Version:\s*(\S+)", re.MULTILINE)
_BUS = re.compile(r"(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", re.IGNORECASE)
# What stands for an unknown number, as `N/A` or `ERR!`; it costs that number only.
_NO_NUMBER = r"N/A|[A-Z!?-]+"
_WATTS, _MEMORY = rf"({_NO_NUMBER}|\d+(?:\.\d+)?\s*W)", rf"({_NO_NUMBER}|\d+\s*[KMGT]iB)"
_STATE = re.compile(
    rf"\S+\s+({_NO_NUMBER}|\d+\s*C)\s+(\S+)\s+{_WATTS}\s*/\s*{_WATTS}\s+{_MEMORY}\s*/\s*{_MEMORY}"
    rf"\s+({_NO_NUMBER}|\d+\s*%)(?=\s)",
    re.IGNORECASE,
)
_STATE_NAMES = (
    "temperature.aip",
    "pstate",
    "power.draw",
    "power.max",
    "memory.used",
    "memory.total",
    "utilization.aip",
)
_PROCESS = re.compile(r"(\d{1,5})\s+(\d{1,9})\s+(\S+)\s+(\S.*?)\s{2,}(\S+)")
_VACANT = re.compile(r"(\d{1,5})\s+N/A(?:\s.*)?", re.IGNORECASE)
# Memory of a process, whole: what was cut off has lost its unit, or a part of it.
_USAGE = re.compile(r"\d+\s*[KMGT]iB|N/A", re.IGNORECASE)
_ECC = "ecc.errors.uncorrected.volatile.total"


def parse_table(output: bytes) -> ToolOutput:
    """The same document as of a query, without uuids and serials. Raises ReadError."""
    text = output.decode("utf-8", "replace")
    if "HL-SMI VERSION" not in text.upper():
        raise ReadError("hl-smi did not print its table", code="garbage")
    above, heading, below = text.partition("Compute Processes")
    driver = _DRIVER.search(above)
    return ToolOutput(
        driver_version=None if driver is None else driver[1],
        cards=_cards(above),
        entries=_entries(below) if heading else None,
        vacant=frozenset(
            int(match[1]) for row in _rows(below) if (match := _VACANT.fullmatch(row))
        ),
    )


def _cards(text: str) -> tuple[Card, ...]:
    """Two lines a card: who it is, and how it is."""
    ecc = "uncorr. ecc" in text.lower()
    listed: list[dict[str, str]] = []
    for line in text.splitlines():
        plain = with_failed_cells(line.replace("|", " ").strip())
        identity = _identity(plain, ecc=ecc and line.rstrip().endswith("|"))
        if identity is not None:
            listed.append(identity)
            continue
        state = _STATE.search(f"{plain} ")
        if state is not None and listed and "pstate" not in listed[-1]:
            listed[-1].update(zip(_STATE_NAMES, state.groups(), strict=True))
    return unique(card_of(fields, at) for at, fields in enumerate(listed))


def _identity(line: str, *, ecc: bool) -> dict[str, str] | None:
    tokens = line.split()
    at = next((at for at, token in enumerate(tokens) if _BUS.fullmatch(token)), None)
    if at is None or at < 2 or not tokens[0].isdecimal():
        return None
    fields = {"index": tokens[0], "bus_id": tokens[at], "name": " ".join(tokens[1 : at - 1])}
    if ecc and len(tokens) > at + 2:
        fields[_ECC] = tokens[at + 2]
    return fields


def _entries(text: str) -> tuple[Entry, ...]:
    entries = []
    for row in _rows(text):
        match = _PROCESS.fullmatch(row)
        if match is None or not int(match[2]):
            continue
        name = None if match[4].upper() == "N/A" else match[4]
        entries.append(
            Entry(number=int(match[1]), pid=int(match[2]), command=name, memory=match[5])
        )
    return tuple(entries)


def _rows(text: str) -> Iterator[str]:
    """Rows that were printed to their end, without their bars.

    A row of a running process may have no bar at the right (1.20), or its memory on a line of its own
    (1.6); it ends with the memory and its unit.
    """
    before = ""
    for line in text.splitlines():
        row = line.strip().strip("|").strip()
        is_closed = line.rstrip().endswith("|")
        if before and _USAGE.fullmatch(row):
            yield f"{before}  {row}"
        elif is_closed or _USAGE.fullmatch(row.rpartition("  ")[2]):
            yield row
        before = "" if is_closed else row
