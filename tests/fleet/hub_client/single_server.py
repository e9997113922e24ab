"""A server that gives the answers that it was given, and who asks it."""

import asyncio
import contextlib
import socket
from collections.abc import Awaitable, Callable

from accelwatch.fleet.follow.access import BoundAccess
from accelwatch.fleet.follow.session import Client
from accelwatch.fleet.follow.target_client import TargetClient, target_client
from accelwatch.fleet.scrape_settings import Scrape
from accelwatch.fleet.target import targets_of

KEPT = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nup 1\n"


class Server:
    """Answers one request after the other with these; None hangs up without an answer."""

    def __init__(self, *answers: bytes | None, closing: bool = False) -> None:
        """`closing` hangs up after the last of them."""
        self.answers = list(answers)
        self.connections = 0
        self.heads: list[bytes] = []
        self.writers: list[asyncio.StreamWriter] = []
        self._closing = closing

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        self.connections += 1
        self.writers.append(writer)
        try:
            while self.answers or not self._closing:
                self.heads.append(await reader.readuntil(b"\r\n\r\n"))
                answer = self.answers.pop(0)
                if answer is None:
                    break
                writer.write(answer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def gone(self) -> None:
        """Until the first connection has ended, in whatever way."""
        with contextlib.suppress(ConnectionError):
            await self.writers[0].wait_closed()


class Silent(asyncio.Transport):
    """Takes what is sent."""

    def __init__(self) -> None:
        super().__init__()
        self.aborted = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        pass

    def abort(self) -> None:
        self.aborted = True


def served(
    server: Server, play: Callable[[TargetClient], Awaitable[None]], host: str = "127.0.0.1"
) -> None:
    """Play with who asks that server, and end it."""

    async def main() -> None:
        scrape = Scrape()
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = await asyncio.start_server(
            server.serve, "::1" if ":" in host else "127.0.0.1", 0, family=family
        )
        port = listening.sockets[0].getsockname()[1]
        client = Client(scrape, BoundAccess(scrape))
        (target,) = targets_of([f"http://{host}:{port}"])
        link = target_client(client, target)
        try:
            await play(link)
        finally:
            link.close()
            listening.close()
            await listening.wait_closed()

    asyncio.run(main())
