"""Where the manager of a Backend.AI installation is, and by which keys we are known to it."""

from typing import Annotated

import msgspec
from msgspec import Meta
from yarl import URL

from accelwatch.api_client.urls import check_url
from accelwatch.base.errors import ConfigError

_EXAMPLE = "https://api.backend.example"
# 26.1 keeps a request that it passes on to a lost agent for more than a minute.
_MOST_TIMEOUT_S = 300


class ServerOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One manager."""

    # Of the manager's API; may have a path, which a proxy in front of the manager strips.
    url: str
    access_key: str
    # File of the secret key; only its owner may read it. Read again when it changes.
    secret_key_file: str
    # File of the authorities by which the server is checked; empty for the system's.
    ca_file: str = ""
    # The Host that reaches the manager, where a proxy sends another than that of the URL.
    host: str = ""
    timeout_s: Annotated[float, Meta(ge=1, le=_MOST_TIMEOUT_S)] = 10


class Server(msgspec.Struct, frozen=True, kw_only=True):
    """A manager that requests can be sent to; `base` has no slash at its end."""

    base: str
    access_key: str
    secret_key_file: str
    # As the manager gets it: it is part of what is signed.
    host: str
    ca_file: str = ""
    timeout_s: float = 10.0

    def __repr__(self) -> str:
        """Without the access key."""
        return "Server()"


def server_of(options: ServerOptions) -> Server:
    """The manager that options mean. Raises ConfigError, which repeats neither URL nor key."""
    # The secret key itself is never sent, so that a manager without TLS may be used.
    check_url("url", options.url, example=_EXAMPLE, credentials="secret_key_file", secret="")
    if not _is_token(options.access_key) or set(options.access_key) & set(":,="):
        raise ConfigError("access_key: expected the access key of a keypair, without blanks")
    if not options.secret_key_file:
        raise ConfigError("secret_key_file: name the file that has the secret key of access_key")
    if options.host and (not _is_token(options.host) or "/" in options.host):
        raise ConfigError("host: expected a name as a Host header has it, such as api.example:8081")
    base = options.url.rstrip("/")
    return Server(
        base=base,
        access_key=options.access_key,
        secret_key_file=options.secret_key_file,
        host=options.host or URL(base).host_port_subcomponent or "",
        ca_file=options.ca_file,
        timeout_s=options.timeout_s,
    )


def _is_token(text: str) -> bool:
    return bool(text) and text.isascii() and text.isprintable() and " " not in text
