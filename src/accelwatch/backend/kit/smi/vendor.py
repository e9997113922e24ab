"""A relative of nvidia-smi as a table: its command, formats, identity and quantities. Pure.

`SmiBackend` reads the devices of this machine by it, `remote` those of another.
"""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from accelwatch.backend.kit.smi.formats import Format, Table
from accelwatch.backend.kit.smi.listing import Gpu
from accelwatch.backend.kit.smi.rows import SmiQuantity, paths, record_rows
from accelwatch.backend.kit.text.quantity import BYTES, Units
from accelwatch.backend.kit.tool_backend import Command
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Collected, Reading

Notes = tuple[str, ...]


def _nothing_more(_out: Collected, _device: Device, _gpu: Gpu, /) -> Notes:
    return ()


def _unchanged(device: Device, _gpu: Gpu, /) -> Device:
    return device


def _no_node(_gpu: Gpu, /) -> str | None:
    return None


class Query(msgspec.Struct, frozen=True):
    """One way to query the command."""

    arguments: tuple[str, ...]
    format: Format


class SmiVendor(msgspec.Struct, frozen=True, kw_only=True):
    """All that differs from vendor to vendor."""

    # Of backend and vendor.
    name: str
    command: Command
    # The fullest first.
    queries: tuple[Query, ...]
    # What the command prints without arguments; it has the processes, too.
    table: Table
    # Fields of Device that are texts (`uuid`, `serial`, `model`), each with the paths that have it.
    identity: Mapping[str, Sequence[str]]
    rows: tuple[SmiQuantity, ...]
    # Of the memory that a process has.
    process_memory: Units = BYTES
    # Records what is no row, and gives notes. May raise ReadError.
    collect_more: Callable[[Collected, Device, Gpu], Notes] = _nothing_more
    # Completes an identity with what is no field.
    describe: Callable[[Device, Gpu], Device] = _unchanged
    # Name of a GPU's node below /dev.
    node: Callable[[Gpu], str | None] = _no_node

    def identified(self, device: Device, gpu: Gpu, driver_version: str | None) -> Device:
        """The device with what the document says of who it is, without its node."""
        texts = {field: gpu.text(*paths(*fields)) for field, fields in self.identity.items()}
        uuid, serial = texts.get("uuid"), texts.get("serial")
        identifier = (
            uuid or gpu.pci_bus_id or device.pci_bus_id or f"{serial or 'unknown'}-{gpu.number}"
        )
        device = msgspec.structs.replace(
            device,
            id=f"{self.name}:{identifier}",
            index=gpu.number,
            name=f"{self.command.prefix}{gpu.number}",
            kind=self.command.kind,
            driver_version=driver_version or device.driver_version,
            pci_bus_id=gpu.pci_bus_id or device.pci_bus_id,
            **texts,
        )
        return self.describe(device, gpu)

    def collect(self, device: Device, gpu: Gpu) -> tuple[Collected, Notes]:
        """Everything but processes, and notes.

        Raises DeviceLost when the command says that the GPU is lost, or cannot go on without a reset.
        """
        gpu.must_answer(device.name)
        out = Collected(device.id)
        record_rows(out, gpu, self.rows)
        return out, self.collect_more(out, device, gpu)

    def reading(self, device: Device, gpu: Gpu) -> Reading:
        """The same as a reading. Raises DeviceLost."""
        out, notes = self.collect(device, gpu)
        return out.reading(sources=self.sources, notes=notes)

    @property
    def sources(self) -> dict[str, str]:
        """Where all quantities are from."""
        return {"*": self.command.names[0]}
