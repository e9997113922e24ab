"""What `mthreads-gmi -q` prints, as text or with `--json` as JSON, taken apart. Pure."""

from collections.abc import Iterable, Mapping

import msgspec

from accelwatch.errors import ReadError
from accelwatch.smi_blocks import Fields, of_mapping, of_text, place_of, told, whole_number, word
from accelwatch.smi_processes import Job

MAX_DEVICES = 1024


class Gpu(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU as listed."""

    number: int
    """The vendor's index."""
    pci_bus_id: str | None
    fields: Fields

    def told(self, *end: str) -> object:
        """The field whose path ends so; None when there is none."""
        return told(self.fields, end)

    def text(self, *end: str) -> str | None:
        """A text of it; None when it is empty, missing or says that there is none."""
        return word(self.told(*end))

    def completed(self, other: "Gpu | None") -> "Gpu":
        """With fields of another account of it that it lacks, be it under a longer path."""
        more = {} if other is None else other.fields
        new = {path: value for path, value in more.items() if self.told(*path) is None}
        return msgspec.structs.replace(self, fields={**self.fields, **new})


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """All that was listed."""

    driver_version: str | None = None
    gpus: tuple[Gpu, ...] = ()
    jobs: tuple[Job, ...] | None = None
    """None when nothing tells which processes there are."""


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
    if not isinstance(block, Mapping):
        return None
    fields = dict(of_mapping(block))
    index = fields.get(("index",))
    number = at if index is None else whole_number(index)
    if number is None:
        return None
    # `Bus ID` of PCI in one release, `PCI/Bus ID` in another.
    places = (place_of(value) for path, value in fields.items() if path[-1].endswith("bus id"))
    return Gpu(number=number, pci_bus_id=next(filter(None, places), None), fields=fields)


def distinct(gpus: Iterable[Gpu]) -> tuple[Gpu, ...]:
    """The first of each index."""
    by_number: dict[int, Gpu] = {}
    for gpu in gpus:
        by_number.setdefault(gpu.number, gpu)
    return tuple(by_number.values())


def parse_text(output: bytes) -> Document:
    """The document of `-q`. Raises ReadError when it has no GPU."""
    head, blocks = of_text(output.decode("utf-8", "replace"))
    if not blocks:
        raise ReadError("mthreads-gmi -q printed no GPU", code="garbage")
    gpus = (
        Gpu(
            number=at if block.number is None else block.number,
            pci_bus_id=block.place,
            fields=block.fields,
        )
        for at, block in enumerate(blocks[:MAX_DEVICES])
    )
    return Document(driver_version=word(told(head, ("driver version",))), gpus=distinct(gpus))
