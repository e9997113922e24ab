"""Whether a request was meant for this machine: the check against DNS rebinding.

A web page of another site can have its own name answered with 127.0.0.1 and then read what listens there
as if it were its own server. What it cannot do is use an address or a name that it does not own.
"""

import socket
from collections.abc import Iterable, Sequence
from pathlib import Path

from accelwatch.web.sockets.addresses import is_address, is_loopback_address

HOSTS_FILE = Path("/etc/hosts")
_MAX_HOSTS_FILE = 1 << 20


def own_names(hosts_file: Path = HOSTS_FILE) -> frozenset[str]:
    """Names of this machine that need no look-up: its host name, and what its hosts file calls it."""
    host = socket.gethostname().lower()
    names = {host, host.partition(".")[0]}
    try:
        with hosts_file.open(encoding="utf-8", errors="replace") as file:
            lines = file.read(_MAX_HOSTS_FILE).splitlines()
    except OSError:
        lines = []
    for line in lines:
        address, *listed = line.partition("#")[0].lower().split()[:64] or [""]
        if is_loopback_address(address) or host in listed:
            names.update(listed)
    return frozenset(names - {""})


def meant_for(local_address: str, hosts: Sequence[str], names: Iterable[str]) -> bool:
    """Whether a request may have been meant for the address it came to, by its Host headers.

    Only loopback is judged: what other machines may read, a page in their browsers may. A client that
    sends no Host is no browser.
    """
    if not is_loopback_address(local_address):
        return True
    return all(_is_ours(_without_port(host), names) for host in hosts if host)


def _is_ours(host: str, names: Iterable[str]) -> bool:
    return host == "localhost" or host.endswith(".localhost") or host in names or is_address(host)


def _without_port(host: str) -> str:
    """The name or address of a Host header, in lower case."""
    host = host.strip().lower()
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].removesuffix(".")
