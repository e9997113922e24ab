"""A receiver of OTLP over HTTP: what a request carries, and what its answer means.

The specification of OTLP/HTTP says which answers may be others later: 429, 502, 503 and 504.
"""

import asyncio
import logging
import os
from collections.abc import Mapping
from urllib.parse import unquote

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceResponse,
)

from accelwatch.alerting.delivery.transport.post import Poster, PostError
from accelwatch.alerting.delivery.transport.push_queue import NotAccepted, Request
from accelwatch.base.errors import ConfigError
from accelwatch.base.untrusted_text import escaped
from accelwatch.config.otlp import Otlp, header_from

logger = logging.getLogger(__name__)

_HEADERS = {"Content-Type": "application/x-protobuf", "Content-Encoding": "gzip"}
_PASSING = frozenset({429, 502, 503, 504})
_HINTS = {
    401: "; check the credentials (otlp.header_files)",
    403: "; check the credentials (otlp.header_files)",
    404: "; check the path of otlp.endpoint",
}
_SHOWN = 200
# Variables with headers, the second over the first, as every exporter of OpenTelemetry reads them.
VARIABLES = ("OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_METRICS_HEADERS")


class Credentials:
    """Headers of a request: of the environment and the settings, and of files, which may change."""

    def __init__(self, settings: Otlp, environ: Mapping[str, str]) -> None:
        """Raises ConfigError for a variable that cannot be used."""
        self._files = settings.header_files
        self._static = {**from_environment(environ), **settings.headers}

    async def headers(self) -> dict[str, str]:
        """Those of now. Raises NotTaken for a file that cannot be read."""
        try:
            return {**self._static, **await asyncio.to_thread(self._from_files)}
        except ConfigError as error:
            raise NotAccepted(str(error), passes=True, label="reason=credentials") from error

    def _from_files(self) -> dict[str, str]:
        return {name: header_from(path) for name, path in self._files.items()}


class PartialSuccess:
    """What a receiver refused of accepted requests; each complaint is logged once."""

    def __init__(self) -> None:
        self._logged = ""

    def refused(self, body: bytes, points: int) -> int:
        """Points that were refused of so many, as the answer says."""
        try:
            partial = ExportMetricsServiceResponse.FromString(body).partial_success
        except DecodeError:
            return 0  # it accepted them, whatever it says
        refused = min(max(int(partial.rejected_data_points), 0), points)
        text = escaped(partial.error_message[:_SHOWN])
        if (refused or text) and text != self._logged:
            self._logged = text
            logger.warning("otlp receiver reports partial success refused=%d: %s", refused, text)
        return refused


def certificate_of(settings: Otlp) -> tuple[str, str] | None:
    """Our own certificate and its key, as files."""
    if settings.cert_file and settings.key_file:
        return settings.cert_file, settings.key_file
    return None


class Receiver:
    """Sends requests; header files are read for each: they are small and may change."""

    def __init__(self, settings: Otlp, environ: Mapping[str, str] = os.environ) -> None:
        """Raises ConfigError where certificates or a variable cannot be used."""
        self._url = settings.url
        self._credentials = Credentials(settings, environ)
        self._partial = PartialSuccess()
        self._poster = Poster(
            settings.timeout_s, settings.ca_file or "", certificate=certificate_of(settings)
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._poster.close()

    async def send(self, request: Request) -> int:
        """How many points were refused of an accepted request. Raises NotTaken."""
        headers = {**await self._credentials.headers(), **_HEADERS}
        try:
            answer = await self._poster.post(self._url, request.body, headers, reads_body=True)
        except PostError as error:
            raise NotAccepted(str(error), passes=True, label="reason=no-answer") from error
        if answer.well:
            return self._partial.refused(answer.body, request.samples)
        hint = "; redirects are not followed" if 300 <= answer.code < 400 else ""
        raise NotAccepted(
            f"answered {answer.code}{_HINTS.get(answer.code, hint)}",
            passes=answer.code in _PASSING,
            label=f"code={answer.code}",
            retry_after_s=answer.retry_after_s,
        )


def from_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Headers of the variables: `name=value,name=value`, percent-encoded. Raises ConfigError."""
    headers: dict[str, str] = {}
    for variable in VARIABLES:
        for pair in filter(None, map(str.strip, environ.get(variable, "").split(","))):
            name, equals, value = pair.partition("=")
            text = unquote(value.strip())
            if not equals or not name.strip().isascii() or not text.isprintable():
                raise ConfigError(f"{variable}: expected name=value,name=value, percent-encoded")
            headers[name.strip()] = text
    return headers
