"""`user@n[01-63]:2222` as targets, and the arguments of ssh for one. Pure."""

import re
from collections.abc import Iterable, Mapping

import msgspec

from accelwatch.base.errors import UsageError
from accelwatch.base.names.host_ranges import expand
from accelwatch.fleet.target import NODE_LABEL, SSH, Target, checked_labels
from accelwatch.web.sockets.listeners import is_loopback_host

_USER = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_.+\\@-]{0,63}")
# Never a dash in front: it would be an option.
_HOST = re.compile(r"[A-Za-z0-9_.:][A-Za-z0-9_.:%-]{0,252}")


class Destination(msgspec.Struct, frozen=True, kw_only=True):
    """Whom ssh is to reach; what is None is left to its configuration."""

    # A name, an address, or an alias of ssh's configuration.
    host: str
    user: str | None = None
    port: int | None = None

    @property
    def arguments(self) -> tuple[str, ...]:
        """The words of the command line that name it."""
        user = () if self.user is None else ("-l", self.user)
        port = () if self.port is None else ("-p", str(self.port))
        return (*user, *port, "--", self.host)


def destination(text: str) -> Destination:
    """`[user@]host[:port]`, an IPv6 address with a port in brackets. Raises UsageError."""
    user, at, address = text.rpartition("@")
    host, port = _split(address)
    if at and not _USER.fullmatch(user):
        raise UsageError(f"ssh host {text[:100]!r}: the part before @ is not a valid user")
    if not _HOST.fullmatch(host):
        raise UsageError(f"ssh host {text[:100]!r}: write host, user@host or user@host:port")
    if port is None:
        return Destination(host=host, user=user if at else None)
    if not (port.isascii() and port.isdecimal()) or not 1 <= int(port[:9]) <= 65535:
        raise UsageError(f"ssh host {text[:100]!r}: {port[:20]!r} is not a port from 1 to 65535")
    return Destination(host=host, user=user if at else None, port=int(port))


def _split(address: str) -> tuple[str, str | None]:
    if address.startswith("["):
        host, _, after = address[1:].partition("]")
        return host, after[1:] if after.startswith(":") else (after or None)
    host, colon, port = address.rpartition(":")
    if not colon or ":" in host:  # an IPv6 address without a port
        return address, None
    return host, port


def ssh_targets(texts: Iterable[str], labels: Mapping[str, str] | None = None) -> list[Target]:
    """The targets that texts with host ranges stand for. Raises UsageError."""
    checked = checked_labels(labels or {})
    return [_target(host, checked) for text in texts for host in expand(text.strip())]


def _target(text: str, labels: Mapping[str, str]) -> Target:
    parsed = destination(text.removeprefix(f"{SSH}://"))
    return Target(
        node=labels.get(NODE_LABEL) or _node(parsed),
        scheme=SSH,
        address=text.removeprefix(f"{SSH}://"),
        metrics_path="",
        labels={
            name: value
            for name, value in labels.items()
            if not name.startswith("__") and name != NODE_LABEL
        },
    )


def _node(parsed: Destination) -> str:
    """The host; with its port on loopback, where hosts are alike."""
    if parsed.port is None or not is_loopback_host(parsed.host):
        return parsed.host
    host = f"[{parsed.host}]" if ":" in parsed.host else parsed.host
    return f"{host}:{parsed.port}"
