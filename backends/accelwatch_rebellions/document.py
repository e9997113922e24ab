"""What `rbln-smi -j` prints, parsed. Pure; a field of another type than expected is not there.

Keys as the vendor's documentation and the tools that read it have them; `npu` is text before driver
2.0 and a number since, a process is `process` or `cmd`, its memory `memalloc` or `memory`. Where NPUs
are grouped, `npu` counts within the group: several have one number, and names of devices are their own.
"""

import re
from collections.abc import Iterable, Mapping
from itertools import count
from typing import Any

import msgspec

from accelwatch.base.errors import ReadError
from accelwatch.schema.device import normal_pci_bus_id
from accelwatch.system.processes.printed import json_documents

Fields = Mapping[str, Any]
_COMMAND = ("process", "cmd")
_MEMORY = ("memalloc", "memory")
_MAX_DEVICES = 1024
_NODE = re.compile(r"rbln(\d{1,6})")


class Npu(msgspec.Struct, frozen=True, kw_only=True):
    """One NPU as listed."""

    # Of its device node, `rbln5`; without that name, what `npu` says.
    number: int
    # What `npu` says, by which contexts name it.
    in_group: int
    pci_bus_id: str | None
    fields: Fields
    pci: Fields

    def text(self, key: str) -> str | None:
        """A text of it; None when it is empty, missing or says that there is none."""
        return text_of(self.fields, key)


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One context of a process on an NPU."""

    # What `npu` says of the NPU.
    in_group: int
    pid: int
    command: str | None
    # As printed, in bytes.
    memory: object


class ToolOutput(msgspec.Struct, frozen=True, kw_only=True):
    """All that was listed."""

    driver_version: str | None
    npus: tuple[Npu, ...]
    # None where they were not printed.
    contexts: tuple[Entry, ...] | None


def text_of(fields: Fields, key: str) -> str | None:
    """A text, or None."""
    value = fields.get(key)
    if not isinstance(value, str) or value.strip().lower() in ("", "n/a", "none", "unknown"):
        return None
    return value.strip()


def number_of(value: object) -> int | None:
    """A whole number that is not negative, written as one or as text."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value if 0 <= value < 1 << 31 else None
    if isinstance(value, str) and value.strip().isdecimal() and len(value.strip()) < 10:
        return int(value)
    return None


def parse(output: bytes) -> ToolOutput:
    """The document. Raises ReadError when it is none of rbln-smi."""
    documents = (document for document in json_documents(output) if isinstance(document, dict))
    document = next(
        (document for document in documents if isinstance(document.get("devices"), list)), None
    )
    if document is None:
        raise ReadError("rbln-smi -j printed no JSON with a list of devices", code="garbage")
    npus = [npu for npu in map(npu_of, document["devices"][:_MAX_DEVICES]) if npu is not None]
    listed = document.get("contexts")
    # `null` is an empty list of the program; one that cannot be read may be on any NPU.
    is_list = isinstance(listed, list) or ("contexts" in document and listed is None)
    entries = [entry_of(entry) for entry in listed or ()] if is_list else [None]
    return ToolOutput(
        driver_version=text_of(document, "KMD_version"),
        npus=distinct(npus),
        contexts=None if None in entries else tuple(filter(None, entries)),
    )


def npu_of(fields: object) -> Npu | None:
    """An NPU from its fields; None for what has no number."""
    if not isinstance(fields, dict) or (in_group := number_of(fields.get("npu"))) is None:
        return None
    pci = fields.get("pci")
    pci = pci if isinstance(pci, dict) else {}
    bus = text_of(pci, "bus_id")
    node = _NODE.fullmatch(text_of(fields, "device") or "")
    return Npu(
        number=in_group if node is None else int(node[1]),
        in_group=in_group,
        pci_bus_id=bus and normal_pci_bus_id(bus),
        fields=fields,
        pci=pci,
    )


def distinct(npus: Iterable[Npu]) -> tuple[Npu, ...]:
    """Each once, in the order printed, and with a number of its own."""
    listed = list({(npu.number, npu.pci_bus_id): npu for npu in npus}.values())
    used: set[int] = set()
    numbered: list[Npu] = []
    for npu in listed:
        number = npu.number
        if number in used:
            others = used | {other.number for other in listed}
            number = next(free for free in count() if free not in others)
        used.add(number)
        numbered.append(msgspec.structs.replace(npu, number=number))
    return tuple(numbered)


def entry_of(fields: object) -> Entry | None:
    """A context from its fields; None for what has no process."""
    if not isinstance(fields, dict):
        return None
    in_group, pid = number_of(fields.get("npu")), number_of(fields.get("pid"))
    if in_group is None or not pid:
        return None
    return Entry(
        in_group=in_group,
        pid=pid,
        command=next((name for key in _COMMAND if (name := text_of(fields, key))), None),
        memory=next((fields[key] for key in _MEMORY if key in fields), None),
    )
