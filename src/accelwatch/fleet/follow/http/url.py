"""The URL of a server, split and checked; errors never repeat it."""

from urllib.parse import SplitResult, urlsplit

from accelwatch.base.errors import UsageError
from accelwatch.fleet.follow.http.server import server_of
from accelwatch.fleet.scrape_settings import TlsConfig


def server_url(url: str, tls: TlsConfig | None = None) -> SplitResult:
    """The parts of `http://host:port/path` or the same with https. Raises UsageError.

    Where `tls` has settings, http is refused: what is meant to be protected would go in the clear.
    """
    if "@" in url.partition("?")[0]:
        raise UsageError("no user or password belongs into a URL; use basic_auth")
    try:
        components = urlsplit(url)
        well = (
            components.scheme in ("http", "https") and components.hostname and components.port != 0
        )
    except ValueError as error:
        raise UsageError(f"no URL: {error}") from error
    if not well or " " in url:
        raise UsageError("expected a URL, http://HOST:PORT/PATH or https://HOST:PORT/PATH")
    if components.fragment:
        raise UsageError("a URL has no fragment here")
    try:
        server_of(url)
    except ValueError as error:
        raise UsageError("the host is not a valid name") from error
    if components.scheme == "http" and tls is not None and tls != TlsConfig():
        raise UsageError("there is a tls_config, and http would do without it; write https://")
    return components
