"""What `tpu-info` prints: tables, drawn with lines or bars, of chips, memory, duty and cores. Pure.

Columns are known by their header, as releases name and order them differently; a table that is not
known is passed over.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from accelwatch.backend.kit.text.quantity import BYTES, PERCENT, quantity
from accelwatch.base.absence import Absence
from accelwatch.base.errors import ReadError

MetricValue = float | Absence
_BARS = re.compile(r"[|│┃║]")
_VERSION = re.compile(r"(?:-\s*)?libtpu version:\s*(\S.*)", re.IGNORECASE)
_TYPE = re.compile(r"(?:-\s*)?accelerator type:\s*(\S+)", re.IGNORECASE)
_NUMBER = re.compile(r"(?:\S*/)?(\d{1,6})")
_MAX_ROWS = 4096
_UNKNOWN = frozenset({"", "n/a", "none", "-"})


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What the tables say, by the number of their row."""

    libtpu_version: str | None = None
    # `v6e`.
    accelerator_type: str | None = None
    # Device node to the processes that have opened it.
    pids: Mapping[str, Sequence[int]] = {}
    # Device nodes of the chips.
    listed: Sequence[str] = ()
    # Bytes in use and in all, by device.
    memory: Mapping[int, tuple[MetricValue, MetricValue]] = {}
    # Duty cycle by device, or by chip, as a ratio.
    duty: Mapping[int, MetricValue] = {}
    # Utilisation by TensorCore, as a ratio.
    cores: Mapping[int, MetricValue] = {}
    # Share of the memory's bandwidth by device, as a ratio.
    bandwidth: Mapping[int, MetricValue] = {}

    @property
    def is_alive(self) -> bool:
        """Whether libtpu of a workload has answered: some value is there."""
        values = (
            *(used for used, _ in self.memory.values()),
            *self.duty.values(),
            *self.cores.values(),
        )
        return any(not isinstance(value, Absence) for value in values)


def parse(output: bytes) -> Report:
    """The report. Raises ReadError for an output in which no table of chips or devices is."""
    text = output.decode("utf-8", "replace")
    lines = text.splitlines()
    pids: dict[str, Sequence[int]] = {}
    listed: list[str] = []
    memory: dict[int, tuple[MetricValue, MetricValue]] = {}
    duty: dict[int, MetricValue] = {}
    cores: dict[int, MetricValue] = {}
    is_recognised = False
    for header, row in _rows(lines):
        node = row.get("chip", "")
        if "type" in header and node.startswith("/dev/"):
            is_recognised = True
            listed.append(node)
            pids[node] = _pids(row.get("pid", ""))
            continue
        if (number := _number(row)) is None:
            continue
        for name, cell in row.items():
            if name.startswith(("hbm usage", "memory usage")):
                is_recognised = True
                memory[number] = _halves(cell)
            elif name.startswith("duty cycle"):
                is_recognised = True
                duty[number] = quantity(cell, PERCENT)
            elif name.startswith("tensorcore utilization"):
                is_recognised = True
                cores[number] = quantity(cell, PERCENT)
    if not is_recognised:
        raise ReadError("tpu-info printed no table of chips", code="command_failed")
    return Report(
        libtpu_version=_matched_text(_VERSION, lines),
        accelerator_type=_matched_text(_TYPE, lines),
        pids=pids,
        listed=tuple(listed),
        memory=memory,
        duty=duty,
        cores=cores,
    )


def _rows(lines: Sequence[str]) -> Iterator[tuple[Sequence[str], dict[str, str]]]:
    """Header and cells by column, of each row of each table. The first line with bars is the header."""
    header: list[str] = []
    for number, line in enumerate(lines):
        cells = [cell.strip() for cell in _BARS.split(line)]
        if number > _MAX_ROWS or len(cells) < 3:
            if not line.strip() or not _is_ruler(line):
                header = []
            continue
        cells = cells[1:-1]
        if not header:
            header = [cell.lower() for cell in cells]
        elif len(cells) == len(header) and not all(set(cell) <= {"-", ":"} for cell in cells):
            yield header, dict(zip(header, cells, strict=True))


def _halves(cell: str) -> tuple[MetricValue, MetricValue]:
    """`18.45 GiB / 31.25 GiB`; a word such as `N/A` counts for both."""
    used, slash, total = cell.partition("/")
    is_pair = slash and cell.lower() not in _UNKNOWN
    pair = (used, total) if is_pair else (cell, cell)
    return quantity(pair[0], BYTES), quantity(pair[1], BYTES)


def _pids(cell: str) -> Sequence[int]:
    """`41250`, or `41250, 41251` where the cores of a chip have several; none of another word."""
    tokens = [token.strip() for token in cell.split(",")]
    return [
        int(token) for token in tokens if token.isascii() and token.isdecimal() and len(token) < 10
    ]


def _is_ruler(line: str) -> bool:
    return not any(character.isalnum() for character in line)


def _number(row: Mapping[str, str]) -> int | None:
    """The number in the first column."""
    match = _NUMBER.fullmatch(next(iter(row.values()), ""))
    return int(match[1]) if match else None


def _matched_text(pattern: re.Pattern[str], lines: Sequence[str]) -> str | None:
    for line in lines:
        if match := pattern.fullmatch(line.strip()):
            text = match[1].strip()
            return None if text.lower().startswith(("n/a", "none", "unknown")) else text[:64]
    return None
