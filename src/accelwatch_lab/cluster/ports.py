"""Ports of the loopback that nothing is listening on."""

import contextlib
import socket


def free_ports(count: int) -> list[int]:
    """So many different ones; somebody else may take one before it is used."""
    with contextlib.ExitStack() as stack:
        ports: list[int] = []
        for _ in range(count):
            listener = stack.enter_context(socket.socket())
            listener.bind(("127.0.0.1", 0))
            ports.append(int(listener.getsockname()[1]))
        return ports
