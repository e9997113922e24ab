"""The contract of an exporter: a pure view of a snapshot in one format."""

from collections.abc import Mapping
from typing import Protocol

from accelwatch.schema.snapshot import Snapshot


class Exporter(Protocol):
    """One output format, found by the entry point `accelwatch.exporters`."""

    name: str
    content_type: str

    def render(self, snapshot: Snapshot, options: Mapping[str, object]) -> bytes:
        """The snapshot as bytes. Options are the exporter's own; an unknown one raises UsageError."""
        ...
