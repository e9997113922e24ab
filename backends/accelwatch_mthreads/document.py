"""What `mthreads-gmi -q` prints, as text or with `--json` as JSON, taken apart. Pure."""

from collections.abc import Mapping

from accelwatch.backend_kit.smi.blocks import (
    of_mapping,
    of_text,
    place_of,
    told,
    whole_number,
    word,
)
from accelwatch.backend_kit.smi.listing import MAX_GPUS, Gpu, Listing, distinct
from accelwatch.base.errors import ReadError
from accelwatch.processes.printed import json_documents


def parse_json(output: bytes) -> Listing:
    """The document of `-q --json`. Raises ReadError when it is none."""
    documents = (told for told in json_documents(output) if isinstance(told, dict))
    document = next((told for told in documents if isinstance(told.get("GPU"), list)), None)
    if document is None:
        raise ReadError("mthreads-gmi -q printed no JSON with a list of GPUs", code="garbage")
    listed = (_of_block(block, at) for at, block in enumerate(document["GPU"][:MAX_GPUS]))
    return Listing(
        driver_version=word(document.get("Driver Version")),
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


def parse_text(output: bytes) -> Listing:
    """The document of `-q`. Raises ReadError when it has no GPU."""
    head, blocks = of_text(output)
    if not blocks:
        raise ReadError("mthreads-gmi -q printed no GPU", code="garbage")
    gpus = (
        Gpu(
            number=at if block.number is None else block.number,
            pci_bus_id=block.place,
            fields=block.fields,
        )
        for at, block in enumerate(blocks[:MAX_GPUS])
    )
    return Listing(driver_version=word(told(head, ("driver version",))), gpus=distinct(gpus))
