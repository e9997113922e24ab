"""Where a hub is and how one gets in, from a URL and credentials."""

from pathlib import Path as FilePath
from urllib.parse import urlsplit

import msgspec

from accelwatch.base.default_addresses import HUB_PORT
from accelwatch.base.errors import ConfigError, UsageError
from accelwatch.config.reader import Reader, build
from accelwatch.fleet.follow.access import check_access
from accelwatch.fleet.follow.http.server import server_of
from accelwatch.fleet.scrape_settings import (
    REFUSED,
    Authorization,
    BasicAuth,
    Scrape,
    TlsConfig,
)
from accelwatch.system.located_yaml.complaint import refuse

_REFUSED = {key.removeprefix("scrape."): why for key, why in REFUSED.items()}


# A dashboard keeps what its hub has; a number beyond all fleets.
MOST_DEVICES = 1 << 20


class HubAccess(msgspec.Struct, frozen=True, kw_only=True):
    """The file of `--hub.config.file`: credentials as in Prometheus' HTTP client configuration."""

    basic_auth: BasicAuth = BasicAuth()
    authorization: Authorization = Authorization()
    tls_config: TlsConfig = TlsConfig()


class HubEndpoint(msgspec.Struct, frozen=True, kw_only=True):
    """A hub as a client finds it."""

    # For people.
    name: str
    # Scheme, authority and what stands before `/v1`; no slash at the end.
    base: str
    unix_socket: str | None = None
    # Only its credentials and certificates are used.
    access: Scrape = Scrape()
    # Devices, and nodes, that are kept of it; how many more it has is shown.
    device_limit: int = MOST_DEVICES

    @property
    def url(self) -> str:
        """As it is written on a command line."""
        return self.base if self.unix_socket is None else f"unix:{self.unix_socket}"


def socket_endpoint(path: FilePath, name: str) -> HubEndpoint:
    """The hub on a Unix socket, whose mode says who gets in."""
    return HubEndpoint(name=name, base="http://hub", unix_socket=str(path))


def hub_endpoint(
    url: str,
    config_file: FilePath | None = None,
    *,
    flag: str = "--hub",
    port: int = HUB_PORT,
) -> HubEndpoint:
    """A hub by URL: `https://hub.example:9878/base`, `hub.example` or `unix:/run/hub.sock`.

    Without a scheme it is http, with certificates in the file https. An agent is found likewise, by
    another `flag` and `port`. Raises UsageError, ConfigError.
    """
    access = HubAccess() if config_file is None else load_access(config_file)
    return endpoint_with(url, access, flag=flag, port=port)


def endpoint_with(
    url: str,
    access: HubAccess,
    *,
    flag: str,
    port: int = HUB_PORT,
    credentials: str = "--hub.config.file",
) -> HubEndpoint:
    """The same with credentials that have been read.

    `flag` and `credentials` are where the URL and the credentials are given. Raises UsageError.
    """
    if url.startswith("unix:"):
        path = url.removeprefix("unix:").removeprefix("//")
        if not path.startswith("/"):
            raise UsageError(f"{flag} {url}: a socket has an absolute path, unix:/run/hub.sock")
        return socket_endpoint(FilePath(path), url)
    secure = access.tls_config != TlsConfig()
    full_url = url if "://" in url else f"{'https' if secure else 'http'}://{url}"
    base = _base(full_url, flag, port, credentials)
    if secure and not base.startswith("https:"):
        raise UsageError(f"{flag}: {credentials} has a tls_config; write https://")
    return HubEndpoint(name=base.partition("://")[2], base=base, access=scrape_of(access))


def scrape_of(access: HubAccess) -> Scrape:
    """The credentials in the form that requests use."""
    return Scrape(
        basic_auth=access.basic_auth,
        authorization=access.authorization,
        tls_config=access.tls_config,
    )


def _base(url: str, flag: str, default_port: int, credentials: str) -> str:
    shown = repr(url.rpartition("@")[2][:100])
    try:
        components = urlsplit(url)
        host, port = components.hostname, components.port
    except ValueError as error:
        raise UsageError(f"{flag} {shown}: {error}") from error
    if components.scheme not in ("http", "https"):
        raise UsageError(f"{flag} {shown}: the scheme is http or https")
    if components.username or components.password:
        raise UsageError(f"{flag} {shown}: no credentials in a URL; use {credentials}")
    if not host or components.query or components.fragment:
        raise UsageError(f"{flag} {shown}: write http://host:{default_port}")
    shown_host = f"[{host}]" if ":" in host else host
    base = f"{components.scheme}://{shown_host}:{port or default_port}{components.path.rstrip('/')}"
    try:
        server_of(base)
    except ValueError as error:
        raise UsageError(f"{flag} {shown}: the host is not a valid name") from error
    return base


def load_access(path: FilePath) -> HubAccess:
    """The credentials of a file. Raises ConfigError with every mistake and its line."""
    values, complaints = Reader(HubAccess, _REFUSED).read(path)
    refuse(complaints)
    access: HubAccess = build(HubAccess, values)
    try:
        check_access(scrape_of(access))
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error
    return access
