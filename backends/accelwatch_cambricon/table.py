"""The table of `cnmon`: two lines a card, then the processes. Pure.

Columns are found by their headings: release 4 has no PCI address, release 5 none of Inited and vMemory.
"""

import re
from collections.abc import Iterator
from types import MappingProxyType

import msgspec

from accelwatch.backend.kit.text.failed_cells import with_failed_cells
from accelwatch.backend.kit.text.process_rows import process_rows
from accelwatch.base.errors import ReadError
from accelwatch.schema.device import normal_pci_bus_id
from accelwatch_cambricon.document import (
    BUS,
    Card,
    Job,
    Path,
    ToolOutput,
    distinct,
    meaningful_text,
    number_of,
)

# Between values; `30 W/  75 W` is one.
_GAP = re.compile(r"(?<![^\s/]/)\s{2,}")
# Between used and total, of which each may be N/A.
_PAIR = re.compile(r"(?<!N)/")
_DRIVER = re.compile(r"\bDriver\s+v?(\d[^\s|]*)")
_JOB = re.compile(
    r"\|\s*(\d{1,4})\s+(?:/|\d{1,4})\s+(\d{1,9})\s+(\S.*?)\s+(\d+ ?[KMG]iB|N/A)\s*\|", re.ASCII
)
_FRAME = ("|", "+")
_PROCESSES = re.compile(r"\|\s*Processes:\s*\|")
_NOBODY = re.compile(r"\|\s*No running processes found\.?\s*\|")
# Heading to the paths that `cnmon info` has for it.
_PATHS: MappingProxyType[str, tuple[Path, ...]] = MappingProxyType(
    {
        "name": (("product name",),),
        "firmware": (("firmware",),),
        "driver": (("driver",),),
        "util": (("utilization", "mlu average"),),
        "ecc-error": (("ecc-error",),),
        "fan": (("fan",),),
        "temp": (("temperature", "chip"),),
        "pwr:usage/cap": (("power", "usage"), ("power", "cap")),
        "memory-usage": (("physical memory usage", "used"), ("physical memory usage", "total")),
    }
)


def parse_table(output: bytes) -> ToolOutput:
    """Cards and processes, without uuids and health. Raises ReadError when there is no table."""
    text = output.decode("utf-8", "replace")
    lines = text.splitlines()
    # A warning may stand between the lines of a card.
    rows = [_cells(line) for line in lines if line.strip()[:1] in _FRAME]
    if not any(_heads(cells) for cells in rows):
        raise ReadError("cnmon printed no table of cards", code="garbage")
    titles = (at for at, line in enumerate(lines) if _PROCESSES.fullmatch(line.strip()))
    jobs = process_rows(lines[next(titles, len(lines)) :], _JOB, _NOBODY)
    cards = distinct(_cards(rows))
    version = _DRIVER.search(text)
    driver_version = next(
        (driver_version for card in cards if (driver_version := card.text("driver"))), None
    )
    return ToolOutput(
        driver_version=driver_version if version is None else version[1],
        cards=tuple(
            card if jobs is None else msgspec.structs.replace(card, jobs=_of(card, jobs))
            for card in cards
        ),
    )


def _of(card: Card, jobs: list[re.Match[str]]) -> tuple[Job, ...]:
    return tuple(
        Job(pid=int(match[2]), command=match[3], memory=match[4])
        for match in jobs
        if int(match[1]) == card.number and int(match[2])
    )


def _cells(line: str) -> list[list[str]]:
    """The values of each part of a whole framed line; nothing for other lines."""
    framed = with_failed_cells(line.strip())
    if len(framed) < 2 or not (framed.startswith("|") and framed.endswith("|")):
        return []
    return [_GAP.split(segment.strip()) for segment in framed[1:-1].split("|")]


def _heads(cells: list[list[str]]) -> bool:
    return bool(cells) and cells[0][:1] == ["Card"] and len(cells) == 3


def _cards(rows: list[list[list[str]]]) -> Iterator[Card]:
    """Cards from pairs of lines; half a pair is none, and virtual functions are not listed."""
    above: list[list[list[str]]] = []
    first: list[list[str]] = []
    for cells in rows:
        if _heads(cells):
            above = [cells]
        elif len(above) == 1 and len(cells) == 3:
            above.append(cells)
        elif len(above) == 2 and len(cells) == 3:
            if number_of(cells[0][0]) is not None:
                first = cells
                continue
            if first:
                card = _card({**_named(above[0], first), **_named(above[1], cells)})
                if card is not None:
                    yield card
            first = []
        else:
            first = []


def _named(headings: list[list[str]], cells: list[list[str]]) -> dict[str, str]:
    """Values by heading; those of a part with another number of values are nobody's."""
    return {
        name.lower(): value
        for names, values in zip(headings, cells, strict=True)
        if len(names) == len(values)
        for name, value in zip(names, values, strict=True)
    }


def _card(row: dict[str, str]) -> Card | None:
    number = number_of(row.get("card"))
    if number is None or row.get("vf", "/") != "/":
        return None
    address = row.get("bus-id", "")
    fields: dict[Path, str] = {}
    for heading, paths in _PATHS.items():
        value = meaningful_text(row.get(heading))
        if value is not None:
            values = (
                [segment.strip() for segment in _PAIR.split(value)] if len(paths) == 2 else [value]
            )
            if len(values) == len(paths):
                fields.update(zip(paths, values, strict=True))
    if "ecc-error" in row:
        fields["ecc-error",] = row["ecc-error"]
    bus = normal_pci_bus_id(address) if BUS.fullmatch(address) else None
    return Card(number=number, pci_bus_id=bus, fields=fields)
