"""The table of `npu-smi info`: two lines a chip, then the processes by NPU. Pure.

Columns are found by their headings, since each generation has others: 310 and 310P a logic id and no
HBM, 910 and 910B neither, A3 the number of the node, 950 the NPU in a column of its own.
"""

import re
from collections.abc import Iterator, Mapping

from accelwatch.backend.kit.text.failed_cells import with_failed_cells
from accelwatch.base.errors import ReadError
from accelwatch.base.failure_line import failure_line
from accelwatch.schema.device import normal_pci_bus_id
from accelwatch.system.processes.complete_output import closed
from accelwatch_ascend.document import MAX_CHIPS, Chip, Job, ToolOutput, meaningful_text, number_of

_VERSION = re.compile(r"\|\s*npu-smi\b.*?\bVersion\s*:\s*([^\s|]+)")
_BUS = re.compile(r"[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]")
# For an address, as of virtual NPUs and of chips that did not start.
_NO_ADDRESS = frozenset({"NA", "N/A", "-", "--", ""})
_HEADING = re.compile(r"[^\s()]+(?: [^\s()]+)*\([^)\s]*\)|[^\s()]+(?: [^\s()]+)*")
# A column has one value, or used and total with a slash between.
_VALUE = re.compile(r"[^\s/]+\s*/\s*[^\s/]+|[^\s/]+")
_FRAME = ("|", "+")
_NOBODY = re.compile(r"No running processes found in NPU\s+(\d{1,9})\s*")

_UNREADABLE = "unreadable"
# Codes of DCMI when it does not begin at all, and what can be done.
_REFUSALS = (
    ("-8020", "; another container or process has the devices: end it, or give them to one only"),
    ("-8005", "; in a container, another one may have the devices"),
    ("-8013", "; ask on the host, the driver does not answer this in a container"),
)

Row = Mapping[str, str]


def parse_table(output: bytes) -> ToolOutput:
    """Chips, numbered as they stand, and processes. Raises ReadError when there is no table."""
    lines = output.decode("utf-8", "replace").splitlines()
    # A warning may stand between the lines of a chip.
    rows = [_cells(line) for line in lines if line.strip()[:1] in _FRAME]
    jobs_at = next((at for at, cells in enumerate(rows) if _heads_jobs(cells)), len(rows))
    headed = any(_heads_chips(cells) for cells in rows[:jobs_at])
    if not headed:
        failure = failure_line("\n".join(lines)) or "nothing"
        text = f"npu-smi info printed no table of NPUs: {failure}"
        raise ReadError(with_advice(text), code="garbage")
    version = next((match[1] for line in lines if (match := _VERSION.match(line.strip()))), None)
    jobs: tuple[Job, ...] = ()
    npus_reporting_jobs: frozenset[int] | None = None
    if jobs_at < len(rows):
        below = rows[jobs_at + 1 :]
        listed = list(_jobs(rows[jobs_at], below))
        jobs = tuple(job for job in listed if isinstance(job, Job))
        npus_reporting_jobs = frozenset(job.key[0] for job in jobs) | frozenset(_nobody(below))
        npus_reporting_jobs -= frozenset(npu for npu in listed if isinstance(npu, int))
    return ToolOutput(
        driver_version=meaningful_text(version),
        chips=_distinct(_chips(rows[:jobs_at])),
        jobs=jobs,
        npus_reporting_jobs=npus_reporting_jobs,
    )


def with_advice(text: str) -> str:
    """A complaint of the command, and what to do where its code says it."""
    return text + next((advice for code, advice in _REFUSALS if code in text), "")


IS_COMPLETE = closed(parse_table, lambda document: document.chips)


def _cells(line: str) -> list[str]:
    """What stands between the rules of a whole line of the frame; nothing for other lines."""
    framed = line.strip()
    if len(framed) < 2 or not (framed.startswith("|") and framed.endswith("|")):
        return []
    return [cell.strip() for cell in framed[1:-1].split("|")]


def _heads_chips(cells: list[str]) -> bool:
    return "Health" in cells and cells[0].startswith("NPU")


def _heads_jobs(cells: list[str]) -> bool:
    return "Process id" in cells


def _chips(rows: list[list[str]]) -> Iterator[Chip]:
    """Chips from pairs of lines; half a pair is none."""
    above: list[list[str]] = []
    first: list[str] = []
    for cells in rows:
        if _heads_chips(cells):
            above = [cells]
        elif len(above) == 1 and len(cells) == len(above[0]):
            above.append(cells)
        elif len(above) == 2 and len(cells) == len(above[0]):
            if not first:
                first = cells
                continue
            fields = {**_named(above[0], first), **_named(above[1], cells)}
            chip = _chip(fields) if _is_second(above[1], cells) else None
            # A line too many would pair each with that of its neighbour.
            first = cells if chip is None and _chip_address(cells) is None else []
            if chip is not None:
                yield chip
        else:
            first = []


def _chip_address(cells: list[str]) -> str | None:
    return next((cell for cell in cells if _BUS.fullmatch(cell)), None)


def _is_second(headings: list[str], cells: list[str]) -> bool:
    """Whether this is the second line of a chip: it has an address, or numbers under Chip.

    Without an address the first line of the next chip looks alike, with its health for the address.
    """
    numbers = [number_of(cell) for cell in cells[0].split()]
    counted = None not in numbers and len(numbers) == len(headings[0].split())
    return _chip_address(cells) is not None or counted


def _named(headings: list[str], cells: list[str]) -> dict[str, str]:
    """Values by heading; nobody knows whose they are where a cell has more or fewer than headings."""
    fields: dict[str, str] = {}
    for heading, cell in zip(headings, cells, strict=True):
        names = [name.lower() for name in _HEADING.findall(heading)]
        values = _VALUE.findall(with_failed_cells(cell).replace("N/A", "NA"))
        if names and not any("(" in name for name in names):
            values = [*cell.split(None, len(names) - 1), *("" for _ in names)][: len(names)]
        if len(names) != len(values):
            values = [_UNREADABLE] * len(names)
        fields.update(zip(names, values, strict=True))
    return fields


def _chip(row: Row) -> Chip | None:
    """A chip; None when it has no number or its second line is none."""
    npu = number_of(row.get("npu", row.get("npu id")))
    chip = number_of(row.get("chip", "0"))
    address = row.get("bus-id", _UNREADABLE)
    if npu is None or chip is None or not (_BUS.fullmatch(address) or address in _NO_ADDRESS):
        return None
    bus = normal_pci_bus_id(address) if _BUS.fullmatch(address) else None
    return Chip(npu=npu, chip=chip, number=0, pci_bus_id=bus, name=row.get("name", ""), fields=row)


def _distinct(chips: Iterator[Chip]) -> tuple[Chip, ...]:
    """Each chip once, and each PCI function with the first of its chips."""
    by_key: dict[tuple[int, int], Chip] = {}
    used_buses: set[str | None] = set()
    for chip in chips:
        if chip.key in by_key or len(by_key) == MAX_CHIPS:
            continue
        bus = None if chip.pci_bus_id in used_buses else chip.pci_bus_id
        used_buses.add(bus)
        by_key[chip.key] = Chip(
            npu=chip.npu,
            chip=chip.chip,
            number=len(by_key),
            pci_bus_id=bus,
            behind=chip.pci_bus_id if bus is None else None,
            name=chip.name,
            fields=chip.fields,
        )
    return tuple(by_key.values())


def _jobs(headings: list[str], rows: list[list[str]]) -> Iterator[Job | int]:
    """The processes; of a row that cannot be read its NPU, of which it is not known who uses it."""
    names = [heading.lower() for heading in headings]
    memory = next((name for name in names if name.startswith("process memory")), "")
    unit = memory.partition("(")[2].rstrip(")")
    for cells in rows:
        npu, _, chip = (cells or [""])[0].partition(" ")
        npu_number, on = number_of(npu), number_of(chip or "0")
        if npu_number is None:
            continue
        row = dict(zip(names, cells, strict=False))
        pid = number_of(row.get("process id"))
        if on is None or not pid or len(cells) != len(names):
            yield npu_number
            continue
        amount = row.get(memory, "")
        yield Job(
            key=(npu_number, on),
            pid=pid,
            command=meaningful_text(row.get("process name")),
            memory=amount + unit if number_of(amount) is not None else amount,
        )


def _nobody(rows: list[list[str]]) -> Iterator[int]:
    """NPUs that run nothing."""
    for cells in rows:
        match = _NOBODY.fullmatch(cells[0]) if cells else None
        if match is not None:
            yield int(match[1])
