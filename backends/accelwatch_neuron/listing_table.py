"""The tables of neuron-ls for people, of the releases that have no JSON and as people save them. Pure.

Headings are of two lines, and columns come and go with the options; what is drawn below the table
(`--topology`) says what the column of connected devices says.
"""

import re
from collections.abc import Iterator, Mapping

from accelwatch.backend.kit.text.quantity import Units, quantity
from accelwatch.base.absence import Absence

_DEVICE = "neuron device"
_COLUMNS = {
    "pci bdf": "bdf",
    "numa node": "numa_node",
}
# What the table calls GB are the GiB of the JSON.
_BYTES: Units = {
    f"{letter}{unit}": 1024.0**power
    for power, letter in enumerate("kmgt", 1)
    for unit in ("b", "ib")
}
_RANGE = re.compile(r"(\d{1,4})(?:-(\d{1,4}))?")
_MOST_CORES = 64
_MOST_ROWS = 4096


def rows_of(text: str) -> list[dict[str, object]]:
    """Devices in the keys of the JSON; empty without a table."""
    devices: list[dict[str, object]] = []
    for row in _cells(text):
        if row.get(_DEVICE, "").isdecimal():
            devices.append(_device(row))
        elif not devices or row.get(_DEVICE):
            continue
        listed = devices[-1].get("neuron_processes")
        if isinstance(listed, list) and (pid := row.get("pid", "")):
            pid_number = int(pid) if pid.isdecimal() and len(pid) < 10 else None
            listed.append({"pid": pid_number, "command": row.get("command", "")})
    return devices


def _device(row: Mapping[str, str]) -> dict[str, object]:
    fields: dict[str, object] = {"neuron_device": int(row[_DEVICE])}
    fields |= {key: row[heading] for heading, key in _COLUMNS.items() if heading in row}
    size = quantity(row.get("neuron memory"), _BYTES)
    if not isinstance(size, Absence):
        fields["memory_size"] = round(size)
    if "connected devices" in row:
        fields["connected_to"] = _numbers(row["connected devices"])
    if "neuron core ids" in row:
        fields["neuroncore_ids"] = _numbers(row["neuron core ids"])
    if "pid" in row:
        fields["neuron_processes"] = []
    return fields


def _cells(text: str) -> Iterator[dict[str, str]]:
    """Each line of the table by its headings, whose lines stand before the second rule."""
    headings: list[str] = []
    rules = 0
    for line in text.splitlines()[:_MOST_ROWS]:
        plain = line.strip()
        if plain.startswith("+") and plain.endswith("+"):
            rules += 1
            continue
        if not (plain.startswith("|") and plain.endswith("|") and len(plain) > 1):
            continue
        cells = [cell.strip() for cell in plain[1:-1].split("|")]
        if rules > 1:
            yield dict(zip(headings, cells, strict=False)) if len(cells) >= len(headings) else {}
        elif not headings:
            headings = [cell.lower() for cell in cells]
        else:
            both = zip(headings, cells, strict=False)
            headings = [f"{upper} {lower.lower()}".strip() for upper, lower in both]


def _numbers(cell: str) -> list[int] | None:
    """Of `12, 3` and `8-11`; None when there is something else."""
    numbers: list[int] = []
    for segment in cell.split(",") if cell else ():
        match = _RANGE.fullmatch(segment.strip())
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if not 0 <= last - first < _MOST_CORES:
            return None
        numbers += range(first, last + 1)
    return numbers
