"""What neuron-ls lists, as JSON or a table: where each device is, its memory and its processes."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeGuard

from accelwatch.base.absence import Absence
from accelwatch.base.errors import ReadError
from accelwatch.schema.device import normal_pci_bus_id
from accelwatch.schema.reading import Process
from accelwatch.system.processes.printed import json_documents
from accelwatch.system.processes.program import program_name
from accelwatch_neuron.listing_table import rows_of
from accelwatch_neuron.load import Use

_BUS = re.compile(r"(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]")
_MOST_BYTES = 1 << 46
_MOST_INDEX = 9999
_MOST_PID = 1 << 22
# It lists itself, as it opens the devices that it lists.
_OWN = "neuron-ls"


class Entry(NamedTuple):
    """One device; None is what the command does not say or says in a way that cannot be."""

    pci_bus_id: str | None
    memory_bytes: int | None
    # (pid, program) of each.
    processes: tuple[tuple[int, str | None], ...] | None
    # Indices of the devices it has links to.
    neighbours: tuple[int, ...] | None = None
    # Numbers of its cores, counted through all devices.
    cores: tuple[int, ...] | None = None
    numa_node: int | None = None


def parse(output: bytes) -> dict[int, Entry]:
    """Entries by index, of a list, of an object that has one, or of a table. Raises ReadError."""
    rows = _rows(output)
    entries: dict[int, Entry] = {}
    for row in rows:
        index = _integer(row.get("neuron_device"), _MOST_INDEX) if isinstance(row, dict) else None
        if index is not None and index not in entries:
            entries[index] = _entry(row)
    return entries


def processes_of(
    device_id: str, entry: Entry, uses: Mapping[int, Use], cores: Sequence[int]
) -> list[Process]:
    """The processes that hold the device, with what a runtime of the same pid uses of its cores."""
    return [
        _process(device_id, pid, program, uses.get(pid), cores)
        for pid, program in entry.processes or ()
    ]


def _process(
    device_id: str, pid: int, program: str | None, use: Use | None, cores: Sequence[int]
) -> Process:
    has_usage = use is not None and bool(cores)
    memory = use.bytes_on(cores) if use is not None and has_usage else Absence.UNSUPPORTED
    share = use.share(cores) if use is not None and has_usage else Absence.UNSUPPORTED
    measured = {"gpu_memory_bytes": memory, "utilization_ratio": share}
    return Process(
        device_id=device_id,
        pid=pid,
        command=program,
        gpu_memory_bytes=None if isinstance(memory, Absence) else memory,
        utilization_ratio=None if isinstance(share, Absence) else min(share, 1.0),
        absent={key: why for key, why in measured.items() if isinstance(why, Absence)},
    )


def _rows(output: bytes) -> list[Any]:
    """Devices in the keys of the JSON. Raises ReadError."""
    for document in json_documents(output):
        values = document.values() if isinstance(document, dict) else (document,)
        listing = [] if document == [] else next(filter(_is_listing, values), None)
        if listing is not None:
            return listing
    rows = rows_of(output.decode("utf-8", "replace"))
    if rows:
        return list(rows)
    raise ReadError("neuron-ls printed no JSON and no table of devices", code="unreadable")


def _is_listing(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list) and any(
        isinstance(row, dict) and "neuron_device" in row for row in value
    )


def _entry(row: dict[str, Any]) -> Entry:
    bus, listed = row.get("bdf"), row.get("neuron_processes")
    has_address = isinstance(bus, str) and _BUS.fullmatch(bus.strip()) is not None
    return Entry(
        normal_pci_bus_id(str(bus)) if has_address else None,
        _integer(row.get("memory_size"), _MOST_BYTES) or None,
        _processes(listed),
        _neighbours(row.get("connected_to")),
        _cores(row.get("neuroncore_ids")),
        _node(row.get("numa_node")),
    )


def _node(value: Any) -> int | None:
    """A number, or its text; -1 is none."""
    digits = value.strip() if isinstance(value, str) else ""
    short = digits.isascii() and digits.isdecimal() and len(digits) < 5
    return _integer(int(digits) if short else value, _MOST_INDEX)


def _cores(listed: Any) -> tuple[int, ...] | None:
    indices = [_integer(core, _MOST_INDEX) for core in listed] if isinstance(listed, list) else []
    valid = [core for core in indices if core is not None]
    return tuple(valid) if valid and len(set(valid)) == len(indices) else None


def _neighbours(listed: Any) -> tuple[int, ...] | None:
    """None without a list, which a device without links has too."""
    if not isinstance(listed, list):
        return None
    indices = (_integer(index, _MOST_INDEX) for index in listed)
    return tuple(index for index in indices if index is not None)


def _processes(listed: Any) -> tuple[tuple[int, str | None], ...] | None:
    """None without a list, and where all that can be read of it are no processes."""
    if not isinstance(listed, list):
        return None
    by_pid: dict[int, str | None] = {}
    is_unread = False
    for row in listed:
        pid = _integer(row.get("pid"), _MOST_PID) if isinstance(row, dict) else None
        program = _program(row.get("command")) if pid else None
        is_unread = is_unread or pid is None
        if pid and program != _OWN:
            by_pid.setdefault(pid, program)
    return None if is_unread and not by_pid else tuple(by_pid.items())


def _program(command: Any) -> str | None:
    program = program_name(command) if isinstance(command, str) else None
    return None if program is None else program[:64]


def _integer(value: Any, most: int) -> int | None:
    good = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most
    return value if good else None
