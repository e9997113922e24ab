"""The section `otlp` of a configuration: the receiver of OpenTelemetry metrics, of an agent or a hub."""

import pathlib
import re
from collections.abc import Iterator
from typing import Annotated, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta, field

from accelwatch.base.errors import ConfigError
from accelwatch.config.field_types import Group, Long, Path
from accelwatch.plugins.options import check_url
from accelwatch.system.located_yaml.nodes import read_file

# Where a receiver accepts metrics, unless the endpoint says another path (OTLP/HTTP, "Endpoint URL").
METRICS_PATH = "/v1/metrics"
_HEADER = re.compile(r"[A-Za-z0-9-]{1,64}")
_OURS = frozenset({"host", "content-type", "content-encoding", "content-length", "user-agent"})
_SECRET = re.compile(r"authorization|cookie|key|password|secret|token", re.IGNORECASE)


class Otlp(msgspec.Struct, frozen=True, kw_only=True):
    """Where metrics are pushed to; off without an endpoint."""

    # `http://collector:4318`; a URL with a path is used as it is. With gRPC `http://collector:4317`.
    endpoint: str | None = None
    # As the variable OTEL_EXPORTER_OTLP_PROTOCOL has it.
    protocol: Literal["http/protobuf", "grpc"] = "http/protobuf"
    interval_s: Long = field(default=60.0, name="interval")
    # For one request.
    timeout_s: Annotated[float, Meta(ge=1, le=300, extra={"form": "duration"})] = field(
        default=10.0, name="timeout"
    )
    max_backoff_s: Long = field(default=60.0, name="max_backoff")
    profile: Literal["default", "minimal"] = "default"
    groups: frozenset[Group] = frozenset()
    # Beside `host.name` and `service.*`, over which they win: `deployment.environment.name: prod`.
    resource_attributes: dict[str, str] = {}
    headers: dict[str, str] = {}
    # Headers whose value is the content of a file.
    header_files: dict[str, Path] = {}
    ca_file: Path | None = None
    cert_file: Path | None = None
    key_file: Path | None = None
    # Requests that wait, compressed; the oldest are dropped beyond it.
    queue_bytes: Annotated[int, Meta(ge=1 << 20, le=1 << 34)] = 16 << 20
    points_per_request: Annotated[int, Meta(ge=100, le=100_000)] = 5000

    @property
    def url(self) -> str:
        """The whole URL of the receiver. Only where there is an endpoint."""
        assert self.endpoint is not None
        plain = self.endpoint.rstrip("/")
        return self.endpoint if urlsplit(plain).path else plain + METRICS_PATH


def mistakes(otlp: Otlp) -> Iterator[tuple[str, str]]:
    """What does not fit together, by the key inside the section; no value is repeated."""
    if otlp.endpoint is None:
        if otlp != Otlp():
            yield "endpoint", "nothing is pushed without one, such as http://collector:4318"
        return
    yield from _of_endpoint(otlp, otlp.endpoint)
    if bool(otlp.cert_file) != bool(otlp.key_file):
        yield "cert_file", "cert_file and key_file are both needed"
    yield from _of_headers(otlp)
    for name in otlp.resource_attributes:
        if not name or not name.isprintable():
            yield "resource_attributes", f"{name[:60]!r} is not a valid attribute name"
    if not installed():
        yield "endpoint", "needs opentelemetry-proto: pip install 'accelwatch[otlp]'"


def _of_endpoint(otlp: Otlp, endpoint: str) -> Iterator[tuple[str, str]]:
    try:
        check_url(endpoint, key="endpoint")
    except ConfigError as error:
        yield "endpoint", str(error).partition(": ")[2]
        return
    if endpoint.startswith("http:") and (otlp.ca_file or otlp.cert_file):
        yield "endpoint", "there are certificates, and http would do without; write https://"
    if otlp.protocol == "grpc" and urlsplit(endpoint).path.strip("/"):
        yield "endpoint", "gRPC has no path; write http://collector:4317"


def _of_headers(otlp: Otlp) -> Iterator[tuple[str, str]]:
    for name in (*otlp.headers, *otlp.header_files):
        if not _HEADER.fullmatch(name) or name.lower() in _OURS:
            yield "headers", f"{name[:64]!r} cannot be set"
    for name, text in otlp.headers.items():
        if _SECRET.search(name):
            yield f"headers.{name[:64]}", "no secret belongs here; use header_files"
        elif not text.isprintable() or not text.isascii():
            yield f"headers.{name[:64]}", "a value is one line of ASCII"


def header_from(path: str) -> str:
    """The value of a header that is the content of a file. Raises ConfigError, which names the file."""
    text = read_file(pathlib.Path(path)).decode("utf-8", "replace").strip()
    if not text or not text.isprintable():
        raise ConfigError(f"{path}: a header's value is one line of printable characters")
    return text


def installed() -> bool:
    """Whether the extra is there; nothing of it is loaded."""
    from importlib.util import find_spec

    try:
        return find_spec("opentelemetry.proto.collector.metrics") is not None
    except ModuleNotFoundError:
        return False
