"""What neuron-ls lists, as JSON or a table: where each device is, its memory and its processes."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeGuard

from accelwatch.base.absence import Absence
from accelwatch.base.errors import ReadError
from accelwatch.processes.printed import json_documents
from accelwatch.processes.program import program_name
from accelwatch.schema.device import normal_pci_bus_id
from accelwatch.schema.reading import Process
from accelwatch_neuron.listing_table import rows_of
from accelwatch_neuron.load import Use

_BUS = re.compile(r"(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]")
_MOST_BYTES = 1 << 46
_MOST_INDEX = 9999
_MOST_PID = 1 << 22
_OWN = "neuron-ls"
"""It lists itself, as it opens the devices that it asks."""


class Entry(NamedTuple):
    """One device; None is what the command does not say or says in a way that cannot be."""

    pci_bus_id: str | None
    memory_bytes: int | None
    processes: tuple[tuple[int, str | None], ...] | None
    """(pid, program) of each."""
    neighbours: tuple[int, ...] | None = None
    """Indices of the devices it has links to."""
    cores: tuple[int, ...] | None = None
    """Numbers of its cores, counted through all devices."""
    numa_node: int | None = None


def parse(output: bytes) -> dict[int, Entry]:
    """Entries by index, of a list, of an object that has one, or of a table. Raises ReadError."""
    rows = _rows(output)
    entries: dict[int, Entry] = {}
    for row in rows:
        index = _whole(row.get("neuron_device"), _MOST_INDEX) if isinstance(row, dict) else None
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
    known = use is not None and bool(cores)
    memory = use.bytes_on(cores) if use is not None and known else Absence.UNSUPPORTED
    share = use.share(cores) if use is not None and known else Absence.UNSUPPORTED
    told = {"gpu_memory_bytes": memory, "utilization_ratio": share}
    return Process(
        device_id=device_id,
        pid=pid,
        command=program,
        gpu_memory_bytes=None if isinstance(memory, Absence) else memory,
        utilization_ratio=None if isinstance(share, Absence) else min(share, 1.0),
        absent={key: why for key, why in told.items() if isinstance(why, Absence)},
    )


def _rows(output: bytes) -> list[Any]:
    """Devices in the keys of the JSON. Raises ReadError."""
    for document in json_documents(output):
        parts = document.values() if isinstance(document, dict) else (document,)
        listing = [] if document == [] else next(filter(_is_listing, parts), None)
        if listing is not None:
            return listing
    told = rows_of(output.decode("utf-8", "replace"))
    if told:
        return list(told)
    raise ReadError("neuron-ls printed no JSON and no table of devices", code="unreadable")


def _is_listing(part: Any) -> TypeGuard[list[Any]]:
    return isinstance(part, list) and any(
        isinstance(row, dict) and "neuron_device" in row for row in part
    )


def _entry(row: dict[str, Any]) -> Entry:
    bus, listed = row.get("bdf"), row.get("neuron_processes")
    known = isinstance(bus, str) and _BUS.fullmatch(bus.strip()) is not None
    return Entry(
        normal_pci_bus_id(str(bus)) if known else None,
        _whole(row.get("memory_size"), _MOST_BYTES) or None,
        _processes(listed),
        _neighbours(row.get("connected_to")),
        _cores(row.get("neuroncore_ids")),
        _node(row.get("numa_node")),
    )


def _node(told: Any) -> int | None:
    """A number, or its text; -1 is none."""
    digits = told.strip() if isinstance(told, str) else ""
    short = digits.isascii() and digits.isdecimal() and len(digits) < 5
    return _whole(int(digits) if short else told, _MOST_INDEX)


def _cores(listed: Any) -> tuple[int, ...] | None:
    told = [_whole(core, _MOST_INDEX) for core in listed] if isinstance(listed, list) else []
    known = [core for core in told if core is not None]
    return tuple(known) if known and len(set(known)) == len(told) else None


def _neighbours(listed: Any) -> tuple[int, ...] | None:
    """None without a list, which a device without links has too."""
    if not isinstance(listed, list):
        return None
    told = (_whole(index, _MOST_INDEX) for index in listed)
    return tuple(index for index in told if index is not None)


def _processes(listed: Any) -> tuple[tuple[int, str | None], ...] | None:
    """None without a list, and where all that can be read of it are no processes."""
    if not isinstance(listed, list):
        return None
    told: dict[int, str | None] = {}
    is_unread = False
    for row in listed:
        pid = _whole(row.get("pid"), _MOST_PID) if isinstance(row, dict) else None
        program = _program(row.get("command")) if pid else None
        is_unread = is_unread or pid is None
        if pid and program != _OWN:
            told.setdefault(pid, program)
    return None if is_unread and not told else tuple(told.items())


def _program(command: Any) -> str | None:
    program = program_name(command) if isinstance(command, str) else None
    return None if program is None else program[:64]


def _whole(told: Any, most: int) -> int | None:
    good = isinstance(told, int) and not isinstance(told, bool) and 0 <= told <= most
    return told if good else None
