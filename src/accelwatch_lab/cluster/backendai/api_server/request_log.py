"""What is logged of a request that the server was sent, and of its answer."""

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
        """Whether it requests a change."""
        if self.path == "/admin/gql":
            return isinstance(self.body, dict) and "mutation" in str(self.body.get("query"))
        return self.method not in ("GET", "HEAD") and not self.path.endswith(_READS)
