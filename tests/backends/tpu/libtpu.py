"""A libtpu of a workload: answers on a port of loopback, one connection after the other."""

import socket
import struct
import threading
from collections.abc import Mapping

from node.workloads import kubelet_wire as wire
from support.processes.waiting import GUARD_S

_UNKNOWN = wire.HEAD + wire.frame(
    wire.HEADERS,
    wire.literal("grpc-status", "12") + wire.literal("grpc-message", "unknown metric"),
    wire.END_HEADERS | wire.END_STREAM,
    1,
)


def point(device: int, value: float | int) -> bytes:
    """A Metric of a TPUMetric: attribute `device-id` and a gauge."""
    attribute = wire.field(1, "device-id") + wire.field(2, wire.number(3 * 8) + wire.number(device))
    if isinstance(value, float):
        gauge = wire.number(1 * 8 + 1) + struct.pack("<d", value)
    else:
        gauge = wire.field(2, value)
    return wire.field(3, wire.field(1, attribute) + wire.field(3, gauge))


def response(name: str, *points: bytes) -> bytes:
    """A MetricResponse."""
    return wire.field(1, wire.field(1, name) + b"".join(points))


class Libtpu:
    """Tells these metrics, each a MetricResponse; of others it knows nothing."""

    def __init__(self, metrics: Mapping[str, bytes]) -> None:
        self.metrics = dict(metrics)
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

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
        while b"tpu.runtime." not in request:  # the headers are compressed: it is the message
            chunk = connection.recv(65_536)
            if not chunk:
                return
            request += chunk
        name = request[request.rindex(b"tpu.runtime") :].decode()
        known = self.metrics.get(name)
        connection.sendall(_UNKNOWN if known is None else wire.reply(known))

    def close(self) -> None:
        """Stop listening."""
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(GUARD_S)
