"""A way to a server that can be made to carry nothing: a database that accepts and never answers."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from pathlib import Path


class Link:
    """Forwards each connection to the Unix socket of a server."""

    def __init__(self, target: Path) -> None:
        self._target = str(target)
        self._carries = threading.Event()
        self._carries.set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._sockets: list[socket.socket] = [self._listener]
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def hang(self) -> None:
        """Carry nothing from now on, and keep everybody connected."""
        self._carries.clear()

    def go_on(self) -> None:
        """Carry what has waited, and whatever comes."""
        self._carries.set()

    def close(self) -> None:
        """Cut everybody off."""
        self._carries.set()
        for end in self._sockets:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                self._forward(self._listener.accept()[0])

    def _forward(self, client: socket.socket) -> None:
        server = socket.socket(socket.AF_UNIX)
        try:
            server.connect(self._target)
        except OSError:  # a server that is away
            for end in (client, server):
                end.close()
            return
        self._sockets += [client, server]
        for ends in ((client, server), (server, client)):
            threading.Thread(target=self._carry, args=ends, daemon=True).start()

    def _carry(self, from_: socket.socket, to: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := from_.recv(65_536):
                self._carries.wait()
                to.sendall(data)
        with contextlib.suppress(OSError):
            to.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def link_to(target: Path) -> Iterator[Link]:
    """A link to a Unix socket, cut at the end."""
    link = Link(target)
    try:
        yield link
    finally:
        link.close()
