"""Where a journal is kept."""

from pathlib import Path

import msgspec

from accelwatch.config.journal import PostgreSQL


class DatabaseLocation(msgspec.Struct, frozen=True, kw_only=True):
    """In a database of PostgreSQL."""

    settings: PostgreSQL
    # Where this process remembers how far it had come; None where it remembers nothing.
    folder: Path | None = None


# Or in a file of a folder; who only reads may name the file itself.
JournalLocation = Path | DatabaseLocation
