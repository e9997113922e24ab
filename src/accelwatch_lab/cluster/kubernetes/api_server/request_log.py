"""What is logged of a request that the server was sent, and of its answer."""

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

    @property
    def is_write(self) -> bool:
        """Whether it requests a change."""
        return self.method not in ("GET", "HEAD")
