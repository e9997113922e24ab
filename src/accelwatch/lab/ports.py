"""Ports of the loopback that nothing is listening on."""

import contextlib
import socket


def free_ports(count: int) -> list[int]:
    """So many different ones; somebody else may take one before it is used."""
    with contextlib.ExitStack() as held:
        ports: list[int] = []
        for _ in range(count):
            one = held.enter_context(socket.socket())
            one.bind(("127.0.0.1", 0))
            ports.append(int(one.getsockname()[1]))
        return ports
