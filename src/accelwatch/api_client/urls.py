"""Which URLs a scheduler may have. Messages do not repeat them: people write secrets there."""

import ipaddress
from urllib.parse import urlsplit

from accelwatch.base.errors import ConfigError


def check_url(key: str, text: str, *, example: str, credentials: str, secret: str) -> None:
    """Raise ConfigError for a URL that requests cannot be sent to, or not safely.

    `key` is the option that has it, and `credentials` the one for secrets; `secret` says in words
    what would be read on the way without TLS, and is empty where nothing would.
    """
    try:
        url = urlsplit(text)
        port = url.port  # raises for one that is no number
    except ValueError:
        raise ConfigError(f"{key}: expected a URL such as {example}") from None
    if url.scheme not in ("http", "https") or not url.hostname or port == 0:
        raise ConfigError(f"{key}: expected a URL such as {example}")
    if url.username is not None or url.password is not None:
        raise ConfigError(f"{key}: no user or password in the URL; use {credentials}")
    if url.query or url.fragment:
        raise ConfigError(f"{key}: expected a URL without query and fragment")
    if secret and url.scheme == "http" and not _is_loopback(url.hostname):
        raise ConfigError(f"{key}: {secret} is sent over https only; use https")


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
