"""How relatives of nvidia-smi print GPUs: `-q` as text, JSON or XML, and the table for people. Pure.

Each format is built from the name and columns of a vendor's program; its `parse` turns printed
output into a listing, and raises ReadError for anything else.
"""

import re
from collections.abc import Iterator, Mapping
from xml.etree.ElementTree import Element  # only the type; parsing is in smi.xml

import msgspec

from accelwatch.backend.kit.smi import processes as smi_processes
from accelwatch.backend.kit.smi.blocks import (
    Path,
    find_field,
    first_value,
    meaningful_text,
    of_element,
    of_mapping,
    of_text,
    parse_integer,
    pci_bus_id_of,
)
from accelwatch.backend.kit.smi.listing import MAX_GPUS, Gpu, Listing, distinct
from accelwatch.backend.kit.smi.table import Columns, rows
from accelwatch.backend.kit.smi.xml import parse_log
from accelwatch.base.errors import ReadError
from accelwatch.system.processes.printed import json_documents

_DRIVER = re.compile(r"Driver Version\s*:\s*([^\s|]+)")
_ADDRESS_PATHS: tuple[Path, ...] = (("pci_bus_id",), ("bus id",))


class Text(msgspec.Struct, frozen=True):
    """`-q` as indented text."""

    program: str
    # What the vendor calls one.
    device: str = "GPU"
    # Whether the number behind that word is the vendor's index; else it is the order.
    numbered: bool = True

    def parse(self, output: bytes) -> Listing:
        """The document. Raises ReadError when it has no GPU."""
        head, blocks = of_text(output)
        if not blocks:
            raise ReadError(f"{self.program} -q printed no {self.device}", code="garbage")
        gpus = (
            Gpu(
                number=block.number if self.numbered and block.number is not None else at,
                pci_bus_id=block.pci_bus_id,
                fields=block.fields,
            )
            for at, block in enumerate(blocks[:MAX_GPUS])
        )
        version = meaningful_text(find_field(head, ("driver version",)))
        return Listing(driver_version=version, gpus=distinct(gpus))


class Xml(msgspec.Struct, frozen=True):
    """`-q -x`, with GPUs in their order."""

    program: str
    # Tag of the document: `nvidia_smi_log` of nvidia-smi.
    root: str

    def parse(self, output: bytes) -> Listing:
        """The document. Raises ReadError when it is none, or none that ended."""
        document = parse_log(output, self.root)
        if not document.complete:
            fault = document.fault or f"no {self.root}"
            raise ReadError(f"{self.program} -q -x printed incomplete XML: {fault}", code="garbage")
        listed = (_of_element(gpu, at) for at, gpu in enumerate(document.gpus[:MAX_GPUS]))
        return Listing(driver_version=meaningful_text(document.driver_version), gpus=tuple(listed))


def _of_element(gpu: Element, at: int) -> Gpu:
    fields = dict(of_element(gpu))
    address = pci_bus_id_of(gpu.get("id")) or pci_bus_id_of(first_value(fields, _ADDRESS_PATHS))
    return Gpu(number=at, pci_bus_id=address, fields=fields)


class Json(msgspec.Struct, frozen=True):
    """`-q` as JSON: an object with a list of GPUs under `GPU`."""

    program: str

    def parse(self, output: bytes) -> Listing:
        """The document. Raises ReadError when it is none."""
        documents = (
            candidate for candidate in json_documents(output) if isinstance(candidate, dict)
        )
        document = next(
            (candidate for candidate in documents if isinstance(candidate.get("GPU"), list)), None
        )
        if document is None:
            message = f"{self.program} -q printed no JSON with a list of GPUs"
            raise ReadError(message, code="garbage")
        listed = (_of_block(block, at) for at, block in enumerate(document["GPU"][:MAX_GPUS]))
        return Listing(
            driver_version=meaningful_text(document.get("Driver Version")),
            gpus=distinct(gpu for gpu in listed if gpu is not None),
        )


def _of_block(block: object, at: int) -> Gpu | None:
    """A GPU; without an index its number is its position in the list. None if it is no block."""
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


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """The table of GPUs and that of processes, as printed without arguments."""

    program: str
    columns: Columns
    # Whether processes have columns of the MIG instances that they run in.
    instances: bool = False

    def parse(self, output: bytes) -> Listing:
        """GPUs, as a rule without uuids and serials, and processes. Raises ReadError."""
        text = output.decode("utf-8", "replace")
        lines = text.splitlines()
        below = smi_processes.title_at(lines)
        there, records = rows(lines[:below], self.columns.first, self.columns.headings)
        if not there and below == len(lines):
            raise ReadError(f"{self.program} printed no table", code="garbage")
        driver = _DRIVER.search(text)
        return Listing(
            driver_version=None if driver is None else meaningful_text(driver[1]),
            gpus=distinct(self._gpus(records)),
            jobs=smi_processes.jobs(lines, instances=self.instances),
        )

    def _gpus(self, records: list[dict[str, str]]) -> Iterator[Gpu]:
        for record in records:
            number = parse_integer(record.get(self.columns.first[0]))
            if number is not None:
                address = pci_bus_id_of(record.get(self.columns.address))
                fields = dict(self.columns.fields_of(record))
                yield Gpu(number=number, pci_bus_id=address, fields=fields)


Format = Text | Xml | Json | Table
