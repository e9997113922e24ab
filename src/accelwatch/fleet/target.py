"""One target: where it is reached, and the name under which its node is known."""

import re
from collections.abc import Iterable, Mapping
from ipaddress import IPv6Address
from typing import Any
from urllib.parse import urlsplit

import msgspec

from accelwatch.base.default_addresses import AGENT_PORT
from accelwatch.base.errors import UsageError
from accelwatch.base.names.host_ranges import expand
from accelwatch.fleet.scrape_settings import Credentials
from accelwatch.web.sockets.listeners import is_loopback

NO_CREDENTIALS = Credentials()
# A label of a target that names its node.
NODE_LABEL = "node"
# Scheme of a target that is not polled itself: its data come from a store.
STORED = "prometheus"
# Scheme of a target that ssh reaches; its address is what ssh gets: `user@host:port`.
SSH = "ssh"
SCHEME_LABEL = "__scheme__"
_PATH_LABEL = "__metrics_path__"
_LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_HOST = re.compile(r"[A-Za-z0-9._\-%:]+")
_MAX_LABELS = 64
_MAX_VALUE = 1024
_METRICS = "/metrics"


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """Where one exporter of a node is reached."""

    # The label `node`, else the host as written; with its port on loopback, where hosts are alike.
    node: str
    scheme: str
    # Host and port, an IPv6 address in brackets.
    address: str
    # What stands before `/v1/stream` and `/metrics` in the path; no slash at the end.
    base: str = ""
    metrics_path: str = _METRICS
    # As discovery gave them (rack, pool, partition), without those that begin with `__`.
    labels: dict[str, str] = {}
    # What it is shown; nothing unless the section that named it says so.
    credentials: Credentials = NO_CREDENTIALS
    # The scrape job of a target that a store scrapes.
    job: str = ""
    # Its label `instance` in that store.
    instance: str = ""

    @property
    def host(self) -> str:
        """What names the node where no label does; not on loopback."""
        if self.scheme == SSH:
            return self.address
        return self.address.rpartition(":")[0].strip("[]") + self.base

    @property
    def shown(self) -> str:
        """Its name for people."""
        return f"{SSH}://{self.address}" if self.scheme == SSH else self.address + self.base

    @property
    def is_stored(self) -> bool:
        """Whether its data come from a store."""
        return self.scheme == STORED

    @property
    def key(self) -> str:
        """Identifies the target."""
        return f"{self.scheme}://{self.address}{self.base}{self.metrics_path}"

    def url(self, path: str) -> str:
        """The URL of a page of our agent."""
        return f"{self.scheme}://{self.address}{self.base}{path}"

    @property
    def metrics_url(self) -> str:
        """The URL of the exposition."""
        return self.url(self.metrics_path)


def targets_of(
    texts: Iterable[str],
    labels: Mapping[str, str] | None = None,
    scheme: str = "http",
    credentials: Credentials = NO_CREDENTIALS,
) -> list[Target]:
    """The targets that texts with host ranges stand for. Raises UsageError.

    A text is `host`, `host:port` or a URL (`https://host:port/base`). `scheme` is what is configured; a
    target may be https where http is configured, never the other way round.
    """
    checked = checked_labels(labels or {})
    return [
        _target(host, checked, scheme, credentials)
        for text in texts
        for host in expand(_bare(text))
    ]


def _bare(text: str) -> str:
    """A text without a user; what stands before the last `@` may be a password and is not repeated."""
    _, password, address = text.strip().rpartition("@")
    if password:
        complaint = (
            f"target {address[:100]!r}: a target has no user or password; use scrape.basic_auth"
        )
        raise UsageError(complaint)
    return address


def checked_labels(labels: Mapping[Any, object]) -> dict[str, str]:
    """Labels that Prometheus accepts. Raises UsageError."""
    if len(labels) > _MAX_LABELS:
        raise UsageError(f"a target has at most {_MAX_LABELS} labels")
    for name, value in labels.items():
        if not isinstance(name, str) or not _LABEL.fullmatch(name):
            raise UsageError(f"{str(name)[:60]!r} is not a valid label name")
        if not isinstance(value, str) or len(value) > _MAX_VALUE or not _is_unicode(value):
            raise UsageError(f"the value of label {name} is not a short text")
    return {name: str(value) for name, value in labels.items()}


def _is_unicode(text: str) -> bool:
    """Whether it can be written as UTF-8; YAML's escapes can say halves of characters."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _target(
    text: str, labels: Mapping[str, str], configured: str, credentials: Credentials
) -> Target:
    scheme = labels.get(SCHEME_LABEL, configured)
    base = ""
    address = text
    if "://" in text:
        try:
            url = urlsplit(text)
        except ValueError as error:
            raise UsageError(f"target {text[:100]!r}: no URL: {error}") from error
        if url.query or url.fragment:
            raise UsageError(f"target {text[:100]!r}: a URL has no query or fragment here")
        scheme, address, base = url.scheme, url.netloc, url.path.rstrip("/")
    if scheme not in ("http", "https"):
        raise UsageError(f"target {text[:100]!r}: the scheme is http or https")
    if configured == "https" and scheme == "http":
        raise UsageError(f"target {text[:100]!r}: https is configured and http would downgrade it")
    host, port = _split(address, text)
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    return Target(
        node=labels.get(NODE_LABEL) or _node(host, address, base),
        scheme=scheme,
        address=address,
        base=base,
        credentials=credentials,
        metrics_path=_path(labels.get(_PATH_LABEL, _METRICS), text),
        labels={
            name: value
            for name, value in labels.items()
            if not name.startswith("__") and name != NODE_LABEL
        },
    )


def _split(address: str, text: str) -> tuple[str, int]:
    host, colon, port = address.rpartition(":")
    if address.endswith("]") or not colon:
        host, port = address, str(AGENT_PORT)
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise UsageError(f"target {text[:100]!r}: an IPv6 address stands in brackets")
    if ":" in host and not _is_ipv6(host):
        raise UsageError(f"target {text[:100]!r}: {host[:60]!r} is not a valid IPv6 address")
    if not _HOST.fullmatch(host):
        raise UsageError(f"target {text[:100]!r}: {_no_host(host)}")
    if not (port.isascii() and port.isdecimal()) or not 1 <= int(port[:9]) <= 65535:
        raise UsageError(
            f"target {text[:100]!r}: {port[:20]!r} is not a port from 1 to 65535; write host:port"
        )
    return host, int(port)


def _is_ipv6(host: str) -> bool:
    try:
        IPv6Address(host)
    except ValueError:
        return False
    return True


def _no_host(host: str) -> str:
    """What is wrong with what stands where a host should, and the mend."""
    if not host:
        return "it has no host; write host:port"
    if "[" in host or "]" in host:
        return "a range is written n[001-063]:9877"
    return f"{host[:60]!r} is not a valid host; write host:port"


def _node(host: str, address: str, base: str) -> str:
    return f"{address}{base}" if is_loopback(address) else f"{host}{base}"


def _path(path: str, text: str) -> str:
    if not path.startswith("/") or any(character in path for character in " \t\r\n#"):
        raise UsageError(f"target {text[:100]!r}: the metrics path begins with a slash")
    return path
