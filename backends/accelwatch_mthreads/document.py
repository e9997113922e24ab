"""What `mthreads-gmi -q` prints, as text or with `--json` as JSON, taken apart. Pure."""

from collections.abc import Mapping

from accelwatch.backend_kit.smi.blocks import (
    find_field,
    meaningful_text,
    of_mapping,
    of_text,
    parse_integer,
    pci_bus_id_of,
)
from accelwatch.backend_kit.smi.listing import MAX_GPUS, Gpu, Listing, distinct
from accelwatch.base.errors import ReadError
from accelwatch.processes.printed import json_documents


def parse_json(output: bytes) -> Listing:
    """The document of `-q --json`. Raises ReadError when it is none."""
    documents = (candidate for candidate in json_documents(output) if isinstance(candidate, dict))
    document = next(
        (candidate for candidate in documents if isinstance(candidate.get("GPU"), list)), None
    )
    if document is None:
        raise ReadError("mthreads-gmi -q printed no JSON with a list of GPUs", code="garbage")
    listed = (_of_block(block, at) for at, block in enumerate(document["GPU"][:MAX_GPUS]))
    return Listing(
        driver_version=meaningful_text(document.get("Driver Version")),
        gpus=distinct(gpu for gpu in listed if gpu is not None),
    )


def _of_block(block: object, at: int) -> Gpu | None:
    """A GPU; without an index it is the one of its place in the list. None for what is no block."""
    if not isinstance(block, Mapping):
        return None
    fields = dict(of_mapping(block))
    index = fields.get(("index",))
    number = at if index is None else parse_integer(index)
    if number is None:
        return None
    # `Bus ID` of PCI in one release, `PCI/Bus ID` in another.
    addresses = (
        pci_bus_id_of(value) for path, value in fields.items() if path[-1].endswith("bus id")
    )
    return Gpu(number=number, pci_bus_id=next(filter(None, addresses), None), fields=fields)


def parse_text(output: bytes) -> Listing:
    """The document of `-q`. Raises ReadError when it has no GPU."""
    head, blocks = of_text(output)
    if not blocks:
        raise ReadError("mthreads-gmi -q printed no GPU", code="garbage")
    gpus = (
        Gpu(
            number=at if block.number is None else block.number,
            pci_bus_id=block.pci_bus_id,
            fields=block.fields,
        )
        for at, block in enumerate(blocks[:MAX_GPUS])
    )
    return Listing(
        driver_version=meaningful_text(find_field(head, ("driver version",))), gpus=distinct(gpus)
    )
