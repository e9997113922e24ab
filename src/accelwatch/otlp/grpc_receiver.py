"""A receiver of OTLP over gRPC: each request is a unary call on a connection of its own.

Protocol: grpc/grpc doc/PROTOCOL-HTTP2.md over h2. The specification of OTLP/gRPC says which statuses may
be others later.
"""

import asyncio
import os
import ssl
from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

from accelwatch.alerting.delivery.transport.post import tls_context
from accelwatch.alerting.delivery.transport.push_queue import NotAccepted, Request
from accelwatch.backend.kit.grpc.call import framed, status_name
from accelwatch.backend.kit.grpc.failure import SourceError
from accelwatch.base.untrusted_text import escaped
from accelwatch.base.version import __version__
from accelwatch.config.otlp import Otlp
from accelwatch.otlp.grpc_call import GrpcResponse, post
from accelwatch.otlp.receiver import Credentials, PartialSuccess, certificate_of

METHOD = "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"
_PREFIX_BYTES = 5
# CANCELLED, DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, ABORTED, OUT_OF_RANGE, UNAVAILABLE, DATA_LOSS.
_PASSING = frozenset({1, 4, 8, 10, 11, 14, 15})
# Answers of a proxy on the way (grpc/grpc doc/http-grpc-status-mapping.md).
_PASSING_HTTP = frozenset({"429", "502", "503", "504"})
_HINTS = {
    7: "; check the credentials (otlp.header_files)",
    12: "; it accepts no metrics over gRPC: check otlp.endpoint",
    16: "; check the credentials (otlp.header_files)",
}
_SHOWN = 200
_HTTP_PORT, _HTTPS_PORT = 80, 443


class GrpcReceiver:
    """Sends requests one after the other."""

    def __init__(self, settings: Otlp, environ: Mapping[str, str] = os.environ) -> None:
        """Raises ConfigError where certificates or a variable cannot be used."""
        url = urlsplit(settings.endpoint or "")
        self._timeout_s = settings.timeout_s
        self._secure = url.scheme == "https"
        self._host = url.hostname or ""
        self._port = url.port or (_HTTPS_PORT if self._secure else _HTTP_PORT)
        self._authority = url.netloc.rpartition("@")[2]
        self._credentials = Credentials(settings, environ)
        self._partial = PartialSuccess()
        self._tls = _tls(settings) if self._secure else None

    async def close(self) -> None:
        """Nothing is kept open."""

    async def send(self, request: Request) -> int:
        """How many points were refused of an accepted request. Raises NotTaken."""
        headers = self._headers(await self._credentials.headers())
        message = framed(request.body, compressed=True)
        try:
            async with asyncio.timeout(self._timeout_s):
                answer = await post((self._host, self._port), self._tls, headers, message)
        except TimeoutError as error:
            text = f"no answer within {self._timeout_s:g} s"
            raise NotAccepted(text, passes=True, label="reason=no-answer") from error
        except SourceError as error:
            raise NotAccepted(str(error), passes=True, label="reason=no-answer") from error
        _check(answer)
        return self._partial.refused(answer.body[_PREFIX_BYTES:], request.samples)

    def _headers(self, extra: Mapping[str, str]) -> list[tuple[str, str]]:
        return [
            (":method", "POST"),
            (":scheme", "https" if self._secure else "http"),
            (":path", METHOD),
            (":authority", self._authority),
            ("te", "trailers"),
            ("content-type", "application/grpc"),
            ("grpc-encoding", "gzip"),
            ("grpc-timeout", f"{max(int(self._timeout_s * 1000), 1)}m"),
            ("user-agent", f"accelwatch/{__version__}"),
            *((name.lower(), text) for name, text in extra.items()),
        ]


def _tls(settings: Otlp) -> ssl.SSLContext:
    made = tls_context(settings.ca_file or "", certificate_of(settings))
    context = made if isinstance(made, ssl.SSLContext) else ssl.create_default_context()
    context.set_alpn_protocols(["h2"])
    return context


def _check(answer: GrpcResponse) -> None:
    """Raise NotTaken for any status but OK."""
    status = answer.headers.get("grpc-status")
    if status is None:
        code = answer.headers.get(":status", "")
        raise NotAccepted(
            f"answered {escaped(code[:3])} without a gRPC status; is it a receiver of OTLP over HTTP "
            "(port 4318, protocol: http/protobuf)?",
            passes=code in _PASSING_HTTP,
            label=f"code={escaped(code[:3])}",
        )
    number = int(status) if status.isascii() and status.isdigit() and len(status) < 3 else -1
    if number == 0:
        return
    message = escaped(unquote(answer.headers.get("grpc-message", ""))[:_SHOWN])
    name = escaped(status_name(status))
    raise NotAccepted(
        f"answered {name}{': ' + message if message else ''}{_HINTS.get(number, '')}",
        passes=number in _PASSING,
        label=f"code={name}",
    )
