"""The tables that `mthreads-gmi` prints for people: GPUs, and the processes on them. Pure.

A GPU takes as many lines as the heading has; columns are found by their headings, so that `Perf`, which
newer releases have, may be there or not.
"""

import re
from collections.abc import Iterator
from types import MappingProxyType

from accelwatch.errors import ReadError
from accelwatch.schema.device import normal_pci_bus_id
from accelwatch_mthreads.document import (
    BUS,
    MAX_DEVICES,
    Document,
    Gpu,
    Job,
    Path,
    distinct,
    number_of,
    plain,
    word,
)

_DRIVER = re.compile(r"Driver Version\s*:\s*([^\s|]+)")
_RULE = re.compile(r"[\s|]*[+=-][+=\-|\s]*")
_GAP = re.compile(r"\s{2,}")
_PAIR = re.compile(r"([^()]+)\(([^()]+)\)")
"""`2MiB(16384MiB)` is used and total, `4x(16x)` the link as it is and as it could be."""
_PATHS = MappingProxyType(
    {
        "name": ("product name",),
        "%gpu": ("utilization", "gpu"),
        "temp": ("temperature", "gpu current temp"),
        "device type": ("devicetype",),
        "perf": ("performance state",),
        "mpc capable": ("mpc capable",),
        "ecc mode": ("ecc mode", "current"),
    }
)
"""Heading to the path that `-q` has for it."""
_PAIRS: MappingProxyType[str, tuple[Path, Path]] = MappingProxyType(
    {
        "mem": (("fb memory usage", "used"), ("fb memory usage", "total")),
        "pcie lane width": (("link width", "current"), ("link width", "max")),
    }
)
_JOBS = re.compile(r"[\s|]*Processes:[\s|]*")
_NOBODY = re.compile(r"[\s|]*No running processes found\.?[\s|]*")
_JOB = re.compile(
    r"[\s|]*(\d{1,4})\s+(\d{1,10})\s+(\S.*?)\s+(\d[\d.]*\s?[KMGT]?i?B|N/A)[\s|]*", re.ASCII
)


def parse_table(output: bytes) -> Document:
    """GPUs and processes, without uuids, serials and power. Raises ReadError."""
    text = output.decode("utf-8", "replace")
    lines = text.splitlines()
    jobs_at = next((at for at, line in enumerate(lines) if _JOBS.fullmatch(line)), len(lines))
    headings, gpus = _gpus(lines[:jobs_at])
    if not headings and jobs_at == len(lines):
        raise ReadError("mthreads-gmi printed no table", code="garbage")
    driver = _DRIVER.search(text)
    return Document(
        driver_version=None if driver is None else word(driver[1]),
        gpus=gpus,
        jobs=_jobs(lines[jobs_at + 1 :]),
    )


def _gpus(lines: list[str]) -> tuple[list[list[str]], tuple[Gpu, ...]]:
    """The lines of the heading, and the GPUs below it."""
    headings: list[list[str]] = []
    blocks: list[list[list[str]]] = []
    heading = True
    for line in lines:
        cells = _cells(line)
        if not headings:
            if [cell.lower() for cell in cells[:2]] == ["id", "name"]:
                headings = [_segments(line)]
        elif _RULE.fullmatch(line):
            heading = False
        elif heading:
            headings.append(_segments(line))
        elif cells and number_of(cells[0]) is not None:
            blocks.append([_segments(line)])
        elif blocks:
            blocks[-1].append(_segments(line))
    return headings, distinct(_of_blocks(headings, blocks[:MAX_DEVICES]))


def _of_blocks(headings: list[list[str]], blocks: list[list[list[str]]]) -> Iterator[Gpu]:
    for block in blocks:
        row = dict(_named(headings, block))
        number = number_of(row.get("id"))
        if number is not None:
            place = row.get("pcie", "")
            bus = normal_pci_bus_id(place) if BUS.fullmatch(place) else None
            yield Gpu(number=number, pci_bus_id=bus, fields=dict(_fields(row)))


def _named(headings: list[list[str]], block: list[list[str]]) -> Iterator[tuple[str, str]]:
    """Cells by heading; those of a part of a line with another number of cells are nobody's."""
    for names, told in zip(headings, block, strict=False):
        if len(names) != len(told):
            continue
        for name, cell in zip(names, told, strict=True):
            keys, cells = _cells(name), _cells(cell)
            if len(keys) == len(cells):
                yield from zip(map(plain, keys), cells, strict=True)


def _fields(row: dict[str, str]) -> Iterator[tuple[Path, object]]:
    for name, told in row.items():
        if name in _PATHS:
            yield _PATHS[name], told
        elif name in _PAIRS and (pair := _PAIR.fullmatch(told)):
            yield from zip(_PAIRS[name], (pair[1].strip(), pair[2].strip()), strict=True)


def _segments(line: str) -> list[str]:
    """The parts between rules; those at the edges of a framed table are none."""
    framed = line.strip()
    if framed.startswith("|") and framed.endswith("|") and len(framed) > 1:
        framed = framed[1:-1]
    else:
        framed = line
    return framed.split("|")


def _cells(part: str) -> list[str]:
    """What two or more spaces keep apart."""
    first = part.strip(" |").split("|", 1)[0].strip()
    return _GAP.split(first) if first else []


def _jobs(lines: list[str]) -> tuple[Job, ...] | None:
    """The processes; None when the table is not there or says nothing that can be read."""
    rows = [match for match in map(_JOB.fullmatch, lines) if match is not None]
    if not rows and not any(map(_NOBODY.fullmatch, lines)):
        return None
    return tuple(
        Job(number=int(row[1]), pid=int(row[2]), command=row[3], memory=row[4])
        for row in rows
        if int(row[2])
    )
