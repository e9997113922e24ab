"""Ports that are reserved for servers of a test."""

import socket
import subprocess
import sys

import pytest

from support.servers.ports import free_port

_SERVER = """
import socket, sys
with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as server:
    print("listens", flush=True)
    server.accept()[0].close()
"""


def test_nobody_answers_at_a_reserved_port_until_a_server_has_it() -> None:
    address = "127.0.0.1", free_port()
    for _ in range(2):
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(address)
        words = [sys.executable, "-c", _SERVER, str(address[1])]
        with subprocess.Popen(words, stdout=subprocess.PIPE) as server:
            assert server.stdout is not None
            assert server.stdout.readline() == b"listens\n"
            with socket.create_connection(address) as connection:
                assert connection.recv(1) == b""


def test_a_port_is_reserved_for_one_only() -> None:
    ports = [free_port() for _ in range(100)]
    assert len(set(ports)) == len(ports)
    with pytest.raises(OSError, match="in use"), socket.socket() as other:
        other.bind(("127.0.0.1", ports[-1]))
