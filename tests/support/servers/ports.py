"""Ports of loopback that nobody else is given: not another test's server, and no connection.

A port that was free a moment ago, or whose server has stopped, may be that of another process by the
time it is used. So it stays bound by a socket that does not listen: connections to it are refused, and a
server that allows its address to be reused, as all do here, may still have it.
"""

import socket
from collections import deque

# A test has fewer; each is an open file.
_MOST = 128
_reserved: deque[socket.socket] = deque()


def free_port() -> int:
    """A port for a server of this process or another, reserved until the test is over."""
    reserving = socket.socket()
    reserving.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    reserving.bind(("127.0.0.1", 0))
    _reserved.append(reserving)
    if len(_reserved) > _MOST:
        _reserved.popleft().close()
    return int(reserving.getsockname()[1])
