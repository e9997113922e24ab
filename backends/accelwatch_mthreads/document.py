"""What `mthreads-gmi -q` prints, as text or with `--json` as JSON, taken apart. Pure.

Both have the same words: blocks of keys. A field goes by its path, in lower case without spaces at the
ends (`Power Draw ` of the JSON has one). Rows name the end of a path only: releases nest a block deeper,
and what was logged without indentation has one heading above a key.
"""

import re
from collections.abc import Iterator, Mapping

import msgspec

from accelwatch.errors import ReadError
from accelwatch.schema.device import normal_pci_bus_id

Path = tuple[str, ...]
Fields = Mapping[Path, object]
MAX_DEVICES = 1024
_MAX_DEPTH = 8
_NO_WORD = frozenset({"", "n/a", "none", "unknown", "not supported", "[not supported]", "[n/a]"})
_PLACE = r"(?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]"
BUS = re.compile(_PLACE)
_HEAD = re.compile(rf"GPU\s*(\d{{1,4}})?\s*:?\s+({_PLACE})")
"""The line with which a GPU begins: `GPU0 00000000:01:00.0`."""


class Gpu(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU as listed."""

    number: int
    """The vendor's index."""
    pci_bus_id: str | None
    fields: Fields

    def told(self, *end: str) -> object:
        """The field whose path ends so; None when there is none."""
        length = len(end)
        return next((told for path, told in self.fields.items() if path[-length:] == end), None)

    def text(self, *end: str) -> str | None:
        """A text of it; None when it is empty, missing or says that there is none."""
        return word(self.told(*end))

    def completed(self, other: "Gpu | None") -> "Gpu":
        """With fields of another account of it that it lacks, be it under a longer path."""
        more = {} if other is None else other.fields
        new = {path: told for path, told in more.items() if self.told(*path) is None}
        return msgspec.structs.replace(self, fields={**self.fields, **new})


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One process on one GPU."""

    number: int
    """Of the GPU."""
    pid: int
    command: str
    memory: str
    """As told, with its unit."""


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """All that was listed."""

    driver_version: str | None = None
    gpus: tuple[Gpu, ...] = ()
    jobs: tuple[Job, ...] | None = None
    """None when nothing tells which processes there are."""


def word(told: object) -> str | None:
    """A text that says something."""
    plain = told.strip() if isinstance(told, str) else ""
    return None if plain.lower() in _NO_WORD else plain


def number_of(told: object) -> int | None:
    """A whole number that is not negative, written as one or as text."""
    if isinstance(told, str):
        return int(told) if told.strip().isdecimal() and len(told.strip()) < 10 else None
    if isinstance(told, bool) or not isinstance(told, int):
        return None
    return told if 0 <= told < 1 << 31 else None


def plain(text: str) -> str:
    """A key or heading for comparison: `Power Draw ` is `power draw`."""
    return " ".join(text.lower().split())


def parse_json(output: bytes) -> Document:
    """The document of `-q --json`. Raises ReadError when it is none."""
    try:
        told = msgspec.json.decode(output)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ReadError(f"mthreads-gmi -q printed no JSON: {error}", code="garbage") from error
    gpus = told.get("GPU") if isinstance(told, dict) else None
    if not isinstance(told, dict) or not isinstance(gpus, list):
        raise ReadError("mthreads-gmi -q printed no list of GPUs", code="garbage")
    listed = (_of_block(block, at) for at, block in enumerate(gpus[:MAX_DEVICES]))
    return Document(
        driver_version=word(told.get("Driver Version")),
        gpus=distinct(gpu for gpu in listed if gpu is not None),
    )


def _of_block(block: object, at: int) -> Gpu | None:
    """A GPU; without an index it is the one of its place in the list. None for what is no block."""
    if not isinstance(block, dict):
        return None
    fields = dict(_flat(block, ()))
    told = fields.get(("index",))
    number = at if told is None else number_of(told)
    return None if number is None else _gpu(number, None, fields)


def _flat(block: Mapping[str, object], above: Path) -> Iterator[tuple[Path, object]]:
    for key, told in block.items():
        path = (*above, plain(str(key)))
        if not isinstance(told, dict):
            yield path, told
        elif len(path) < _MAX_DEPTH:
            yield from _flat(told, path)


def _gpu(number: int, place: str | None, fields: Fields) -> Gpu:
    """The place of its heading, else of the key that ends with `bus id`."""
    if place is None:
        keys = (told for path, told in fields.items() if path[-1].endswith("bus id"))
        place = next((told for told in map(word, keys) if told and BUS.fullmatch(told)), None)
    return Gpu(number=number, pci_bus_id=place and normal_pci_bus_id(place), fields=fields)


def distinct(gpus: Iterator[Gpu]) -> tuple[Gpu, ...]:
    """The first of each index."""
    by_number: dict[int, Gpu] = {}
    for gpu in gpus:
        by_number.setdefault(gpu.number, gpu)
    return tuple(by_number.values())


def parse_text(output: bytes) -> Document:
    """The document of `-q`. Raises ReadError when it has no GPU."""
    fields: dict[Path, object] = {}
    version: dict[Path, object] = fields
    gpus: list[Gpu] = []
    headings: list[tuple[int, str]] = []
    for line in output.decode("utf-8", "replace").splitlines():
        if head := _HEAD.fullmatch(line.strip()):
            fields, headings = {}, []
            number = int(head[1]) if head[1] else len(gpus)
            gpus.append(_gpu(number, head[2], fields))
            continue
        indent = len(line) - len(line.lstrip())
        key, _, told = (part.strip() for part in line.partition(":"))
        if told:
            above = (name for at, name in headings if at <= indent)
            fields.setdefault((*above, plain(key)), told)
        elif key:
            headings = [row for row in headings if row[0] < indent] + [(indent, plain(key))]
    if not gpus:
        raise ReadError("mthreads-gmi -q printed no GPU", code="garbage")
    told_version = next((v for path, v in version.items() if path[-1] == "driver version"), None)
    return Document(driver_version=word(told_version), gpus=distinct(iter(gpus[:MAX_DEVICES])))
