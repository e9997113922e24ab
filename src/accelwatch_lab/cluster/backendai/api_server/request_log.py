"""Every request that the server was sent, and what it answered: what tests read."""

from pathlib import Path
from typing import Any

import msgspec

_READS = ("/search",)


class LoggedRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One request."""

    # Unix seconds of the server's clock.
    at: float
    method: str
    # Without the query.
    path: str
    query: dict[str, str]
    # E-mail of whom the key is; empty where nobody is known by it.
    user: str
    # Decoded where it is JSON.
    body: Any
    # 0: the connection was dropped, or nothing was answered.
    status: int

    @property
    def is_write(self) -> bool:
        """Whether it is to change anything."""
        if self.path == "/admin/gql":
            return isinstance(self.body, dict) and "mutation" in str(self.body.get("query"))
        return self.method not in ("GET", "HEAD") and not self.path.endswith(_READS)


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

    def writes(self) -> list[LoggedRequest]:
        """Requests that are no reads."""
        return [entry for entry in self.entries if entry.is_write]

    def clear(self) -> None:
        """Forget all; the file stays."""
        self.entries.clear()
