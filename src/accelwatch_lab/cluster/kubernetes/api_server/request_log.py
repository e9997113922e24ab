"""Every request that the server was sent, and what it answered: what tests read."""

from pathlib import Path
from typing import Any

import msgspec


class LoggedRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One request; a watch is logged when it begins."""

    # Unix seconds of the server's clock.
    at: float
    method: str
    path: str
    query: dict[str, str]
    user: str
    # Decoded where it is JSON.
    body: Any
    content_type: str
    # 0: the connection was dropped, or nothing was answered.
    status: int


class RequestLog:
    """In memory, and in a file where there is one: a line of JSON a request."""

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self.entries: list[LoggedRequest] = []

    def add(self, entry: LoggedRequest) -> None:
        """Raises OSError."""
        self.entries.append(entry)
        if self._file is not None:
            with self._file.open("ab") as out:
                out.write(msgspec.json.encode(entry) + b"\n")

    def writes(self, path: str = "") -> list[LoggedRequest]:
        """Requests that are no reads, of paths that hold a text."""
        return [
            entry
            for entry in self.entries
            if entry.method not in ("GET", "HEAD") and path in entry.path
        ]

    def clear(self) -> None:
        """Forget all; the file stays."""
        self.entries.clear()
