"""Event counters on disk, so that they go on after a restart."""

from pathlib import Path

import msgspec

from accelwatch.node.store.persistence.state_file import StateFile
from accelwatch.schema.snapshot import EventCount
from accelwatch.system.files.kept_file import Write

# Device id (empty: the node) to code to count.
Counts = dict[str, dict[str, EventCount]]

_FILE = "event_counts.json"
_FORMAT = 1


class _CountsFile(msgspec.Struct, frozen=True):
    format: int
    counts: Counts


class CountFile:
    """Loads counters once, then writes the newest ones on a thread of its own."""

    def __init__(self, state_dir: Path, write: Write | None = None) -> None:
        self._file = StateFile(
            state_dir / _FILE, _CountsFile, _FORMAT, "event counters start at 0", write
        )

    def load(self) -> Counts:
        """The stored counters; empty when there are none. A damaged file is set aside."""
        document = self._file.load()
        return {} if document is None else document.counts

    def offer(self, counts: Counts) -> None:
        """Have these counters written soon; newer ones replace older ones that still wait."""
        self._file.offer(_CountsFile(_FORMAT, counts))

    def close(self) -> None:
        """Wait a moment for what was offered to be written."""
        self._file.close()
