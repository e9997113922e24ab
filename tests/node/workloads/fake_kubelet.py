"""A kubelet that answers as it is told, on a Unix socket of its own."""

import socket
import threading
from collections.abc import Callable
from pathlib import Path

from support.processes.waiting import GUARD_S

# What the kubelet does with one connection, once the request has come.
Script = Callable[[socket.socket], None]

# The DATA frame of an empty message, which ends the stream.
REQUEST_END = bytes.fromhex("000005000100000001") + bytes(5)


class FakeKubelet:
    """Serves one connection after the other with the current script."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.script: Script = lambda connection: None
        self.requests: list[bytes] = []
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(path))
        self._socket.listen()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def answers(self, *frames: bytes) -> None:
        """Each connection gets these octets."""
        self.script = lambda connection: connection.sendall(b"".join(frames))

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(GUARD_S)
                try:
                    self._one(connection)
                except OSError:
                    continue

    def _one(self, connection: socket.socket) -> None:
        request = b""
        while not request.endswith(REQUEST_END):
            chunk = connection.recv(65_536)
            if not chunk:
                return
            request += chunk
        self.requests.append(request)
        self.script(connection)

    def close(self) -> None:
        """Stop listening."""
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(GUARD_S)
        self.path.unlink()
