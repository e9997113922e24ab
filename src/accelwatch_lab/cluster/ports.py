"""Ports of the loopback that nothing is listening on."""

import contextlib
import errno
import random
import socket
from pathlib import Path

# From its first port on, the kernel gives them to connections by itself; ip(7).
_KERNEL_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
# Below are those of well-known servers.
_LOWEST = 15_000
# With fewer to choose from, two processes would choose the same.
_FEWEST = 5_000
# Of its own: whoever seeds the common one shall not have two processes choose alike.
_random = random.SystemRandom()


def free_ports(count: int) -> list[int]:
    """Different free ports; another process may bind one before it is used.

    None that the kernel assigns by itself: until a server listens there, the next connection of any
    process could get it.
    """
    with contextlib.ExitStack() as stack:
        ports: list[int] = []
        while len(ports) < count:
            listener = stack.enter_context(socket.socket())
            try:
                listener.bind(("127.0.0.1", _candidate()))
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
            else:
                ports.append(int(listener.getsockname()[1]))
        return ports


def _candidate() -> int:
    """A port to try; 0, for which the kernel chooses, where its range leaves too few."""
    try:
        first = int(_KERNEL_RANGE.read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return 0
    return _random.randrange(_LOWEST, first) if first - _LOWEST >= _FEWEST else 0
