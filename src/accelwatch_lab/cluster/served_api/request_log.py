"""Every request that a server was sent, and what it answered: what tests read."""

from pathlib import Path
from typing import Generic, Protocol, TypeVar

import msgspec


class Entry(Protocol):
    """A struct of one request."""

    @property
    def path(self) -> str:
        """Without the query."""
        ...

    @property
    def is_write(self) -> bool:
        """Whether it requests a change."""
        ...


EntryT = TypeVar("EntryT", bound=Entry)


class RequestLog(Generic[EntryT]):
    """In memory, and in a file where there is one: a line of JSON a request."""

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self.entries: list[EntryT] = []

    def add(self, entry: EntryT) -> None:
        """Raises OSError."""
        self.entries.append(entry)
        if self._file is not None:
            with self._file.open("ab") as out:
                out.write(msgspec.json.encode(entry) + b"\n")

    def writes(self, path: str = "") -> list[EntryT]:
        """Requests that are no reads, of paths that hold a text."""
        return [entry for entry in self.entries if entry.is_write and path in entry.path]

    def clear(self) -> None:
        """Forget all; the file stays."""
        self.entries.clear()
