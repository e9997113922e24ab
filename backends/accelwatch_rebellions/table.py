"""The table that rbln-smi and rbln-stat print for people, for drivers whose command knows no `-j`. Pure.

Columns are found by their headings: `Perf` is missing in the oldest, and rules are drawn with - or =,
between NPUs too. Of a card with several NPUs (RBLN-CA25) only the first has its name and its power;
a rule ends the card. A second table has the contexts.
"""

import re

from accelwatch.base.errors import ReadError
from accelwatch_rebellions.document import Entry, Npu, ToolOutput, distinct, entry_of, npu_of

_DRIVER = re.compile(r"KMD ver:\s*(\S+)")
# Heading to key of the document.
_COLUMNS = {
    "npu": "npu",
    "name": "name",
    "device": "device",
    "temp": "temperature",
    "power": "card_power",
    "perf": "pstate",
    "util": "util",
    "status": "status",
}
_ADDRESS, _MEMORY = "pci bus id", "memory(used/total)"
# Heading of the second table, of contexts.
_PROCESS = "pid"


def parse_table(output: bytes) -> ToolOutput:
    """The same document as of `-j`, without uuids and serials. Raises ReadError."""
    text = output.decode("utf-8", "replace")
    headings: list[str] = []
    npus: list[Npu] = []
    entries: list[Entry | None] = []
    has_processes = False
    name = ""
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        lower = [cell.lower() for cell in cells]
        if "npu" in lower and (_ADDRESS in lower or _PROCESS in lower):
            headings, has_processes = lower, has_processes or _PROCESS in lower
        elif headings and len(cells) == len(headings):
            row = dict(zip(headings, cells, strict=True))
            if _PROCESS in row:
                entries.append(entry_of(row))
            else:
                name = row["name"] = row.get("name") or name
                npus += [npu for npu in [npu_of(_fields(row))] if npu is not None]
        else:
            name = ""
    if not headings:
        raise ReadError("rbln-smi printed neither JSON nor its table of devices", code="garbage")
    driver = _DRIVER.search(text)
    version = None if driver is None or driver[1] == "N/A" else driver[1]
    return ToolOutput(
        driver_version=version,
        npus=distinct(npus),
        contexts=tuple(filter(None, entries)) if has_processes and None not in entries else None,
    )


def _fields(row: dict[str, str]) -> dict[str, object]:
    fields: dict[str, object] = {
        key: row[heading] for heading, key in _COLUMNS.items() if heading in row
    }
    used, _, total = row.get(_MEMORY, "").partition("/")
    return {
        **fields,
        "pci": {"bus_id": row.get(_ADDRESS, "")},
        "memory": {"used": used.strip(), "total": total.strip()},
    }
