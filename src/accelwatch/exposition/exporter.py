"""The contract of an exporter: a pure view of a snapshot in one format."""

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from accelwatch.schema.snapshot import Snapshot


@runtime_checkable
class Exporter(Protocol):
    """One output format, found by the entry point `accelwatch.exporters` and built without arguments.

    It may keep what makes the next rendering cheaper; one instance serves one caller.
    """

    name: str
    content_type: str
    # Names of the options that `render` accepts, each of them optional.
    #
    # A command passes those of its own that are here: `fields` (sequence of field names), `pretty`
    # (bool), `profile`, `groups`, `backends`, `inventory` and `openmetrics` (as `selection.Selection`
    # has them). The agent passes `own` and `own_histograms` too, its own series.
    options: frozenset[str]

    def render(self, snapshot: Snapshot, options: Mapping[str, object]) -> bytes:
        """The snapshot as bytes. Raises UsageError for an option or a value that does not exist."""
        ...
