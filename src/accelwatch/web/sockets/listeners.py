"""Listening sockets: TCP on several addresses, IPv6, and a Unix socket with mode 0660."""

import os
import socket
import stat
from collections.abc import Iterable
from pathlib import Path

from accelwatch.base.errors import AccelwatchError
from accelwatch.config.forms import split_address
from accelwatch.web.sockets.addresses import is_loopback_address

_BACKLOG = 256
_SOCKET_MODE = 0o660


def is_loopback(address: str) -> bool:
    """Whether only this machine can reach the listen address."""
    host, _ = split_address(address)
    return is_loopback_host(host)


def is_loopback_host(host: str) -> bool:
    """Whether a name, or an address without brackets, is that of this machine's loopback."""
    return host == "localhost" or is_loopback_address(host.partition("%")[0])


def exposed(addresses: Iterable[str]) -> list[str]:
    """The addresses that other machines may reach."""
    return [address for address in addresses if not is_loopback(address)]


def open_tcp(address: str) -> list[socket.socket]:
    """Listening sockets for an address; a name may give several. Raises AccelwatchError."""
    host, port = split_address(address)
    opened: list[socket.socket] = []
    try:
        resolved = socket.getaddrinfo(
            _encoded_host(host), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        for family, sockaddr in dict.fromkeys((entry[0], entry[4]) for entry in resolved):
            opened.append(_listen(family, sockaddr))
    except OSError as error:
        if opened and host in ("", "localhost"):
            return opened  # one of IPv4 and IPv6 is enough where a name stands for both
        for listening in opened:
            listening.close()
        raise AccelwatchError(f"cannot listen on {address}: {error.strerror or error}") from error
    return opened


def _encoded_host(host: str) -> str | bytes | None:
    """The host for getaddrinfo; as bytes no table of international names is loaded for it."""
    return (host.encode() if host.isascii() else host) or None


def _listen(family: int, sockaddr: object) -> socket.socket:
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listening.setblocking(False)
        listening.bind(sockaddr)  # type: ignore[arg-type]  # the address as getaddrinfo gave it
        listening.listen(_BACKLOG)
    except OSError:
        listening.close()
        raise
    return listening


def open_unix(path: Path) -> socket.socket:
    """A listening Unix socket; one left behind is replaced if nothing is listening on it.

    Raises AccelwatchError.
    """
    clear_unix(path)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    mask = os.umask(0o777 & ~_SOCKET_MODE)
    try:
        listening.setblocking(False)
        listening.bind(str(path))
        listening.listen(_BACKLOG)
    except OSError as error:
        listening.close()
        raise AccelwatchError(f"cannot listen on {path}: {error.strerror or error}") from error
    finally:
        os.umask(mask)
    return listening


def clear_unix(path: Path) -> None:
    """Remove a socket that was left behind. Raises AccelwatchError if it is in use, or a file."""
    try:
        mode = path.lstat().st_mode
    except OSError:
        return
    if not stat.S_ISSOCK(mode):
        raise AccelwatchError(f"cannot listen on {path}: it exists and is not a socket")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink(missing_ok=True)
            return
        except OSError as error:
            raise AccelwatchError(f"cannot listen on {path}: {error.strerror or error}") from error
    raise AccelwatchError(f"cannot listen on {path}: another process listens there")
