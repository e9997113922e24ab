"""How targets are reached, in the words of Prometheus' scrape configuration."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, field

from accelwatch.config.field_types import Long, Path, Short

Bytes = Annotated[int, Meta(ge=1024, le=1 << 30)]


class BasicAuth(msgspec.Struct, frozen=True, kw_only=True):
    """User and password; the password is in a file."""

    username: str = ""
    password_file: Path | None = None


class Authorization(msgspec.Struct, frozen=True, kw_only=True):
    """A token in a file, sent as `Authorization: <type> <token>`."""

    type: str = "Bearer"
    credentials_file: Path | None = None


class Credentials(msgspec.Struct, frozen=True, kw_only=True):
    """What the targets of one section are shown, and no others."""

    basic_auth: BasicAuth = BasicAuth()
    authorization: Authorization = Authorization()
    # Whether a target that is read over http may see them; one on loopback always may.
    credentials_over_http: bool = False

    def __bool__(self) -> bool:
        return bool(self.basic_auth.password_file or self.authorization.credentials_file)


class TlsConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Whom a TLS target must be signed by, and the certificate shown to it."""

    ca_file: Path | None = None
    cert_file: Path | None = None
    key_file: Path | None = None
    server_name: str | None = None
    insecure_skip_verify: bool = False
    min_version: Literal["TLS12", "TLS13"] = "TLS12"


class Scrape(msgspec.Struct, frozen=True, kw_only=True):
    """How targets are read; times in seconds."""

    # `auto` streams from our agents and polls what does not stream.
    mode: Literal["auto", "stream", "poll"] = "auto"
    scheme: Literal["http", "https"] = "http"
    # How often a target is polled.
    interval_s: Long = field(default=5.0, name="scrape_interval")
    # The limit for connecting and answering, and for a stream's silence.
    timeout_s: Short = field(default=5.0, name="scrape_timeout")
    max_backoff_s: Long = field(default=30.0, name="max_backoff")
    body_size_limit_bytes: Bytes = field(default=10 << 20, name="body_size_limit")
    basic_auth: BasicAuth = BasicAuth()
    authorization: Authorization = Authorization()
    credentials_over_http: bool = False
    tls_config: TlsConfig = TlsConfig()

    @property
    def credentials(self) -> Credentials:
        """What targets that are written out, and those of files, are shown."""
        return Credentials(
            basic_auth=self.basic_auth,
            authorization=self.authorization,
            credentials_over_http=self.credentials_over_http,
        )


# Keys that Prometheus knows, and why they are refused.
REFUSED = {
    "scrape.basic_auth.password": "no secret belongs here; use password_file",
    "scrape.authorization.credentials": "no secret belongs here; use credentials_file",
    "scrape.tls_config.ca": "inline certificates are not taken; use ca_file",
    "scrape.tls_config.cert": "inline certificates are not taken; use cert_file",
    "scrape.tls_config.key": "inline keys are not taken; use key_file",
    "scrape.follow_redirects": "is not supported; redirects are never followed",
    "scrape.proxy_url": "is not supported",
}
