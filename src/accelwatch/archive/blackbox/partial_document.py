"""A document of a recording, decoded only as far as a moment is drawn from it."""

from typing import Any

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.schema.device import DeviceState


class Item(msgspec.Struct):
    """A device of a document, with only the fields that are read."""

    id: str
    name: str
    state: str
    index: int = 0
    state_since: Any = None
    health_reasons: list[str] = []
    utilization_ratio: Any = None
    power_watts: Any = None
    temperature_celsius: Any = None
    memory_used_bytes: Any = None
    memory_size_bytes: Any = None
    absent: dict[str, str] = {}

    @property
    def is_awaited(self) -> bool:
        """As `schema.snapshot.is_awaited`: nothing is known of its state yet."""
        why = self.absent.get("*")
        return why == Absence.NOT_COLLECTED.value and self.state == DeviceState.UNRESPONSIVE


class PartialDocument(msgspec.Struct):
    """A document, with only the fields that are read."""

    host: str | None = None
    devices: list[Item] = []
    processes: list[dict[str, Any]] = []
    events: list[dict[str, Any]] = []


_decoder = msgspec.json.Decoder(PartialDocument)


def decode_partially(line: bytes) -> PartialDocument:
    """A document of a recording. Raises msgspec.DecodeError and RecursionError for damage."""
    return _decoder.decode(line)
