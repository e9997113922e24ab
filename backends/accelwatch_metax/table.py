"""The table that mx-smi prints without options: GPUs by heading, two lines each, and processes. Pure.

Layouts differ by release: three columns or four, with or without the limit of power and the state.
"""

import re
from collections.abc import Iterator

import msgspec

from accelwatch.backend.kit.smi import processes
from accelwatch.backend.kit.text.failed_cells import with_failed_cells
from accelwatch_metax.sections import BUS, MAX_GPUS, Fields

_GAP = re.compile(r"\s{2,}")
_VERSIONS = (
    ("driver", re.compile(r"Kernel Mode Driver Version: *([^\s|]+)")),
    ("runtime", re.compile(r"(?:MACA|HPCC) Version: *([^\s|]+)")),
    ("bios", re.compile(r"BIOS Version: *([^\s|]+)")),
)


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """All of it."""

    # Text by heading in lower case, by the vendor's index.
    gpus: dict[int, Fields]
    # Of `driver`, `runtime` and `bios`, those that are printed.
    versions: dict[str, str]
    # None where the part of the processes is not there, or cannot be read.
    jobs: tuple[processes.Job, ...] | None


def parse_table(output: bytes) -> Table:
    """The table; without GPUs for what is none."""
    text = output.decode("utf-8", "replace")
    lines = [line.strip() for line in text.splitlines()]
    end = processes.title_at(lines)
    gpus: dict[int, Fields] = {}
    for fields in _rows(lines[:end]):
        number = fields.get("gpu", "")
        if number.isascii() and number.isdecimal() and len(number) < 5 and len(gpus) < MAX_GPUS:
            gpus.setdefault(int(number), fields)
    matches = ((name, pattern.search(text)) for name, pattern in _VERSIONS)
    return Table(
        gpus=gpus,
        versions={name: match[1] for name, match in matches if match is not None},
        jobs=processes.jobs(lines),
    )


def _rows(lines: list[str]) -> Iterator[dict[str, str]]:
    """Fields of each GPU: a line with its address, and the one below it."""
    headings: list[list[list[str]]] = []
    pending: dict[str, str] | None = None
    for line in lines:
        segments = with_failed_cells(line)[1:-1].split("|") if line.startswith("|") else []
        cells = [segment.strip() for segment in segments]
        if not cells or set(line) <= set("|+-= "):
            continue
        if any(cell.lower() == "bus-id" for cell in cells):
            headings = [_headings(cells)]
        elif len(headings) == 1 and len(cells) == len(headings[0]):
            headings.append(_headings(cells))
        elif len(headings) == 2 and len(cells) == len(headings[0]):
            if any(BUS.fullmatch(cell) for cell in cells):
                if pending is not None:
                    yield pending
                pending = _fields(headings[0], cells)
            elif pending is not None:
                yield pending | _fields(headings[1], cells)
                pending = None
    if pending is not None:
        yield pending


def _headings(cells: list[str]) -> list[list[str]]:
    return [_GAP.split(cell.lower()) for cell in cells]


def _fields(headings: list[list[str]], cells: list[str]) -> dict[str, str]:
    """Text by heading; a cell of two headings has a gap between its texts, if only of a blank."""
    fields: dict[str, str] = {}
    for names, cell in zip(headings, cells, strict=True):
        if len(names) == 1:
            fields[names[0]] = cell
            continue
        values = _GAP.split(cell, maxsplit=len(names) - 1)
        if len(values) < len(names):
            values = cell.split(maxsplit=len(names) - 1)
        fields |= dict(zip(names, values, strict=False))
    return fields
