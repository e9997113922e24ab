"""The body of a request while it arrives: kept where it is short, otherwise never looked into."""

import asyncio


class Body:
    """As many bytes as the head says; who wants them waits for all."""

    def __init__(self, missing: int | None) -> None:
        """`missing` bytes are to come; None: nobody knows or cares how many."""
        self.missing = missing
        # Whether all of it is here.
        self.is_complete = False
        self._pieces: list[bytes] = []
        self._disconnected = False
        self._reader: asyncio.Future[None] | None = None

    def add(self, piece: bytes) -> None:
        """More of it."""
        self._pieces.append(piece)

    def finish(self) -> None:
        """That was all."""
        self.is_complete = True
        self._wake()

    def lose(self) -> None:
        """Nothing more will come."""
        self._disconnected = True
        self._wake()

    async def read(self) -> bytes:
        """All of it. Raises ConnectionError when the client goes before."""
        if not self.is_complete and not self._disconnected:
            self._reader = asyncio.get_running_loop().create_future()
            await self._reader
        if not self.is_complete:
            raise ConnectionResetError("the client disconnected")
        return b"".join(self._pieces)

    def _wake(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)
