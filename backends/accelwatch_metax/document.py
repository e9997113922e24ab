"""All that mx-smi said in one round, as GPUs. Pure."""

import msgspec

from accelwatch.backend.kit.smi.processes import Job
from accelwatch.base.errors import ReadError
from accelwatch_metax.sections import Fields, Listed, bus_of
from accelwatch_metax.table import Table


class Gpu(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU."""

    # The vendor's index.
    number: int
    pci_bus_id: str | None
    # Of the table.
    row: Fields
    sections: Fields
    listed: Listed | None = None

    @property
    def state(self) -> str | None:
        """The word of `-L`, else of the table."""
        text = (self.listed.state if self.listed else None) or self.row.get("gpu-state")
        return text or None


class ToolOutput(msgspec.Struct, frozen=True, kw_only=True):
    """All that was printed."""

    gpus: tuple[Gpu, ...]
    versions: dict[str, str] = {}
    # None where processes were not to be had.
    jobs: tuple[Job, ...] | None = None


def document_of(
    table: Table, listed: dict[int, Listed], sections: dict[int, dict[str, str]]
) -> ToolOutput:
    """GPUs by index, from both sources.

    Raises ReadError when neither was recognised; a table that has no GPU is one.
    """
    numbers = sorted(table.gpus.keys() | listed.keys())
    if not numbers and not table.versions:
        raise ReadError("mx-smi printed neither its table nor a list of GPUs", code="garbage")
    gpus = []
    for number in numbers:
        row, entry = table.gpus.get(number, {}), listed.get(number)
        bus = entry.pci_bus_id if entry else None
        gpus.append(
            Gpu(
                number=number,
                pci_bus_id=bus or bus_of(row.get("bus-id", "")),
                row=row,
                sections=sections.get(number, {}),
                listed=entry,
            )
        )
    return ToolOutput(gpus=tuple(gpus), versions=table.versions, jobs=table.jobs)
