"""Where a server is reached over HTTP, from its URL."""

from urllib.parse import urlsplit

import msgspec

_PORTS = {"http": 80, "https": 443}


class Server(msgspec.Struct, frozen=True, kw_only=True):
    """One server; reached over TLS if it is `secure`."""

    host: str
    port: int
    # As the header `Host` has it.
    authority: str
    secure: bool = False
    # Instead of host and port.
    unix_socket: str | None = None


def server_of(url: str, unix_socket: str | None = None) -> Server:
    """The server of an `http` or `https` URL. Raises ValueError."""
    components = urlsplit(url)
    host = components.hostname or ""
    if ":" in host and not host.endswith("%25"):  # which is the zone 25
        host = host.replace("%25", "%", 1)  # a zone as URLs write it (RFC 6874)
    authority = components.netloc
    if not authority.isascii():
        authority = authority.encode("idna").decode()
    return Server(
        host=host,
        port=components.port or _PORTS[components.scheme],
        authority=authority,
        secure=components.scheme == "https",
        unix_socket=unix_socket,
    )
