"""A body of lines that comes in pieces: the events of a watch."""

from collections.abc import Callable, Sequence

from accelwatch.api_client.kubernetes.errors import ApiUnavailableError

_MAX_LINE_BYTES = 8 << 20


class Lines:
    """Each line is handed over once it has all come; nothing of it is kept."""

    def __init__(self, handle: Callable[[Sequence[bytes]], None]) -> None:
        self._handle = handle
        self._pending = bytearray()

    def feed(self, chunk: bytes) -> None:
        """Another piece. Raises KubernetesError for a line without an end, and what `handle` raises."""
        # Only the piece is searched: a line may come as a million of them.
        finished, newline, partial = chunk.rpartition(b"\n")
        if newline:
            lines = (bytes(self._pending) + finished).split(b"\n")
            self._pending = bytearray()
            self._handle(lines)
        self._pending += partial
        if len(self._pending) > _MAX_LINE_BYTES:
            raise ApiUnavailableError("an event without an end", sent=True)
