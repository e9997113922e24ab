"""`nvhcd.HealthCheckService` over gRPC on a Unix socket, for `ft_launcher` of nvidia-resiliency-ext.

Source: nvidia_resiliency_ext/shared_utils/proto/nvhcd.proto of 0.7.0. The arguments of a request name
parts of another health program and are not read.
"""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple

import grpc
import grpc.aio
import msgspec

from accelwatch.backend.kit.grpc.protobuf import encoded_varint
from accelwatch.base.errors import AccelwatchError
from accelwatch.web.sockets.listeners import clear_unix

_SERVICE = "nvhcd.HealthCheckService"
_METHOD = "RunHealthCheck"
_UNHEALTHY = 2
# Requests at one time; more are refused, which a launcher considers healthy.
_MAX_REQUESTS = 64
_MAX_REQUEST_BYTES = 64 << 10
_GRACE_S = 1.0
# The launcher logs the whole answer.
_MAX_SHOWN = 20
# Jobs run as other users, and what is answered is no secret.
_SOCKET_MODE = 0o666

# Fields of HealthCheckResponse with their wire types (protobuf.dev/programming-guides/encoding).
_SUCCESS, _EXIT_CODE, _OUTPUT = 1 << 3, 2 << 3, 3 << 3 | 2


class ConnectionLimits(NamedTuple):
    """How many clients may be connected, and for how long; a launcher reconnects for each check."""

    # More are closed at once, which a launcher considers healthy.
    most: int = 256
    # A client that does not begin to speak HTTP/2 within so long is closed.
    handshake_s: float = 5.0
    # So is a client without a request for so long,
    idle_s: float = 30.0
    # and every other after so long, whether it reads its answer or not.
    age_s: float = 120.0

    def options(self) -> list[tuple[str, int]]:
        """As grpc names them (grpc/impl/channel_arg_names.h)."""
        return [
            ("grpc.max_allowed_incoming_connections", self.most),
            ("grpc.server_handshake_timeout_ms", round(self.handshake_s * 1000)),
            ("grpc.max_connection_idle_ms", round(self.idle_s * 1000)),
            ("grpc.max_connection_age_ms", round(self.age_s * 1000)),
            ("grpc.max_connection_age_grace_ms", round(_GRACE_S * 1000)),
        ]


Failures = Callable[[], Awaitable[tuple[str, ...]]]
_LIMITS = ConnectionLimits()


class HealthService:
    """A server on one socket; for the event loop that starts it."""

    def __init__(self, path: Path, failures: Failures, limits: ConnectionLimits = _LIMITS) -> None:
        """`failures` returns why this node should join no job; empty when it may."""
        self._limits = limits
        self._path = path
        self._failures = failures
        self._server: grpc.aio.Server | None = None

    async def start(self) -> None:
        """Listen. Raises AccelwatchError."""
        clear_unix(self._path)
        server = grpc.aio.server(
            maximum_concurrent_rpcs=_MAX_REQUESTS,
            options=[
                ("grpc.max_receive_message_length", _MAX_REQUEST_BYTES),
                *self._limits.options(),
            ],
        )
        handler: grpc.RpcMethodHandler[bytes, bytes] = grpc.unary_unary_rpc_method_handler(
            self._run_health_check
        )
        server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler(_SERVICE, {_METHOD: handler}),)
        )
        try:
            server.add_insecure_port(f"unix:{self._path}")
            await server.start()
            self._path.chmod(_SOCKET_MODE)
        except (RuntimeError, OSError) as error:
            await server.stop(0)
            raise AccelwatchError(
                f"node_health.socket: cannot listen on {self._path}: look at its folder and its rights"
            ) from error
        self._server = server

    async def stop(self) -> None:
        """Answer open requests, and remove the socket."""
        server, self._server = self._server, None
        if server is not None:
            await server.stop(_GRACE_S)
            await asyncio.to_thread(self._path.unlink, missing_ok=True)

    async def _run_health_check(self, _request: bytes, _context: object) -> bytes:
        return response(await self._failures())


def response(failures: tuple[str, ...]) -> bytes:
    """A HealthCheckResponse: what has failed, as the launcher logs it.

    Its `output` is JSON with `fail_count` and `failed_checks`. Both that count and `success` are for
    clients of different releases.
    """
    shown = failures[:_MAX_SHOWN]
    output = msgspec.json.encode({"fail_count": len(failures), "failed_checks": shown})
    fields = bytes((_SUCCESS, not failures, _EXIT_CODE, _UNHEALTHY if failures else 0, _OUTPUT))
    return fields + encoded_varint(len(output)) + output
