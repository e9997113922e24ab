"""Blocks of keys as nvidia-smi's relatives print them for `-q`, as text, JSON or XML. Pure.

A field goes by its path, in lower case without spaces at the ends (one tool's JSON has `Power Draw `).
Who reads names the end of a path only: releases nest a block deeper, and text that was logged without
its indentation has one heading above a key.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple
from xml.etree.ElementTree import Element  # only the type; parsing is in smi_xml

from accelwatch.schema.device import normal_pci_bus_id
from accelwatch.system.processes.printed import complete_lines

Path = tuple[str, ...]
Fields = Mapping[Path, object]
_MAX_DEPTH = 8
_NO_VALUE = frozenset({"", "n/a", "none", "unknown", "not supported", "[not supported]", "[n/a]"})
_PCI_ADDRESS = r"(?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]"
_BUS = re.compile(_PCI_ADDRESS)
# The line with which a GPU begins: `GPU0 00000000:01:00.0`, `PPU 00000000:0C:00.0`.
_HEAD = re.compile(rf"[GP]PU\s*(\d{{1,4}})?\s*:?\s+({_PCI_ADDRESS})")


class Block(NamedTuple):
    """One GPU of a text."""

    # As its heading has it.
    number: int | None
    # PCI id.
    pci_bus_id: str
    fields: Fields


def find_field(fields: Fields, end: Path) -> object:
    """The field whose path ends so; None when there is none."""
    return next((value for path, value in fields.items() if path[-len(end) :] == end), None)


def first_value(fields: Fields, suffixes: Sequence[Path]) -> object:
    """The first of these that says something; else the first that is there, such as N/A."""
    there = [value for end in suffixes if (value := find_field(fields, end)) is not None]
    meaningful = (
        value for value in there if not isinstance(value, str) or meaningful_text(value) is not None
    )
    return next(meaningful, there[0] if there else None)


def meaningful_text(value: object) -> str | None:
    """A text that says something."""
    plain = value.strip() if isinstance(value, str) else ""
    return None if plain.lower() in _NO_VALUE else plain


def parse_integer(value: object) -> int | None:
    """A whole number that is not negative, written as one or as text."""
    if isinstance(value, str):
        return int(value) if value.strip().isdecimal() and len(value.strip()) < 10 else None
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value < 1 << 31 else None


def pci_bus_id_of(value: object) -> str | None:
    """A PCI id as everywhere here; None for what is none."""
    text = meaningful_text(value)
    return normal_pci_bus_id(text) if text and _BUS.fullmatch(text) else None


def plain(text: str) -> str:
    """A key or heading for comparison: `Power Draw ` is `power draw`."""
    return " ".join(text.lower().split())


def of_mapping(block: Mapping[str, object], above: Path = ()) -> Iterator[tuple[Path, object]]:
    """Fields of a block of JSON."""
    for key, value in block.items():
        path = (*above, plain(str(key)))
        if not isinstance(value, dict):
            yield path, value
        elif len(path) < _MAX_DEPTH:
            yield from of_mapping(value, path)


def of_element(element: Element, above: Path = ()) -> Iterator[tuple[Path, object]]:
    """Fields of an element of XML: texts of the elements in it that have none themselves."""
    for child in element:
        path = (*above, plain(child.tag))
        if len(child) == 0:
            yield path, (child.text or "").strip()
        elif len(path) < _MAX_DEPTH:
            yield from of_element(child, path)


def of_text(output: bytes) -> tuple[Fields, list[Block]]:
    """What stands above the first GPU, and the GPUs."""
    fields: dict[Path, object] = {}
    head: Fields = fields
    blocks: list[Block] = []
    headings: list[tuple[int, str]] = []
    for line in complete_lines(output):
        if match := _HEAD.fullmatch(line.strip()):
            fields, headings = {}, []
            number = int(match[1]) if match[1] else None
            blocks.append(Block(number, normal_pci_bus_id(match[2]), fields))
            continue
        indent = len(line) - len(line.lstrip())
        key, _, value = (segment.strip() for segment in line.partition(":"))
        if value:
            above = (name for at, name in headings if at <= indent)
            fields.setdefault((*above, plain(key)), value)
        elif key:
            headings = [row for row in headings if row[0] < indent] + [(indent, plain(key))]
    return head, blocks
