"""Clients that say nothing, half of something, or read nothing: each is let go, none delays a scrape."""

import asyncio
import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import bcrypt
import pytest

from accelwatch.agent.server import ServerLimits
from accelwatch.base.errors import AccelwatchError
from accelwatch.web.protection.web_config import Protection, load_protection
from accelwatch.web.sockets.connections import Limits
from accelwatch.web.sockets.listeners import exposed, is_loopback, open_tcp, open_unix
from support.machines import composed as machines
from support.processes.waiting import GUARD_S

Serve = Callable[..., Any]
SILENT = 200


@contextlib.contextmanager
def crowd(served: Any, first_words: bytes, size: int = SILENT) -> Iterator[list[socket.socket]]:
    """Connections that send these words and then nothing."""
    clients = [served.connect() for _ in range(size)]
    try:
        for client in clients:
            client.sendall(first_words)
        yield clients
    finally:
        for client in clients:
            client.close()


NEVER_S = 1e9
# Nothing but the time for a request to arrive, ten seconds, closes a connection.
HEADERS_ONLY = ServerLimits(
    connections=Limits(request_timeout_s=NEVER_S, keepalive_timeout_s=NEVER_S)
)


def closed(client: socket.socket) -> bool:
    """Wait until the server has closed the connection."""
    try:
        while client.recv(65536):
            pass
    except ConnectionError:
        pass
    return True


def while_guarded() -> Iterator[None]:
    """Again and again, for as long as a test that will pass may take."""
    end = time.monotonic() + GUARD_S
    while time.monotonic() < end:
        yield


def closed_in_time(served: Any, client: socket.socket) -> bool:
    """Let the server's time pass, not ours, until it has closed the connection."""
    client.settimeout(0.05)
    for _ in while_guarded():
        try:
            return closed(client)
        except TimeoutError:
            served.pass_time(11.0)
    return False


@pytest.mark.parametrize(
    "words",
    [b"", b"GET", b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n", b"\r\n", b"\x16\x03\x01"],
)
def test_silent_clients_delay_nobody_and_are_closed(serve: Serve, words: bytes) -> None:
    served = serve(limits=HEADERS_ONLY)
    with crowd(served, words) as clients:
        assert served.get().status == 200
        assert all(closed_in_time(served, client) for client in clients)
    assert served.get().status == 200


@pytest.mark.parametrize("words", [b"", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"])
def test_silent_tls_clients_delay_nobody_and_are_closed(
    serve: Serve, authority: Any, words: bytes
) -> None:
    authority.issue("server")
    path = authority.folder / "web.yml"
    path.write_text("tls_server_config: {cert_file: server.crt, key_file: server.key}")
    served = serve(load_protection(path), limits=HEADERS_ONLY)
    with crowd(served, words) as clients:
        assert served.get(tls=authority.client()).status == 200
        assert all(closed_in_time(served, client) for client in clients)
    assert served.get(tls=authority.client()).status == 200


def test_a_tls_client_that_sends_no_request_is_closed(serve: Serve, authority: Any) -> None:
    authority.issue("server")
    path = authority.folder / "web.yml"
    path.write_text("tls_server_config: {cert_file: server.crt, key_file: server.key}")
    served = serve(load_protection(path), limits=HEADERS_ONLY)
    context: ssl.SSLContext = authority.client()
    with (
        served.connect() as raw,
        context.wrap_socket(raw, server_hostname="127.0.0.1") as client,
        contextlib.suppress(ssl.SSLError),
    ):
        assert closed_in_time(served, client)
    assert served.get(tls=authority.client()).status == 200


def test_half_a_second_request_is_timed_too(serve: Serve) -> None:
    served = serve(limits=HEADERS_ONLY)
    with served.connect() as client:
        client.sendall(b"GET /-/healthy HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b"healthy" in client.recv(65536)
        client.sendall(b"GET /-/hea")
        assert closed_in_time(served, client)


def test_an_idle_connection_is_closed_in_the_end(serve: Serve) -> None:
    served = serve(limits=ServerLimits(connections=Limits(header_timeout_s=NEVER_S)))
    with served.connect() as client:
        client.sendall(b"GET /-/healthy HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b"healthy" in client.recv(65536)
        assert closed_in_time(served, client)


def test_a_full_server_lets_the_longest_silent_go(serve: Serve) -> None:
    served = serve(limits=ServerLimits(connections=Limits(connections=4)))
    with crowd(served, b"GET", 20) as clients:
        assert served.get().status == 200
        assert all(closed(client) for client in clients[:16])


def test_a_body_that_never_comes_is_not_waited_for(serve: Serve) -> None:
    served = serve(limits=HEADERS_ONLY)
    with served.connect() as client:
        client.sendall(
            b"POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nabc"
        )
        assert b" 405 " in client.recv(65536)
        assert closed_in_time(served, client)


def test_a_client_that_does_not_read_is_closed(serve: Serve) -> None:
    limits = Limits(header_timeout_s=NEVER_S, keepalive_timeout_s=NEVER_S)
    served = serve(limits=ServerLimits(connections=limits))
    devices = (
        machines.view(0, device=machines.device(0, id=f"a:{number}")) for number in range(500)
    )
    served.feed.put(machines.snapshot(*devices))
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(("127.0.0.1", served.port))
        client.sendall(b"GET /v1/snapshot HTTP/1.1\r\nHost: localhost\r\n\r\n" * 8)
        assert served.get().status == 200
        assert _gone_in_time(served)
    assert served.get().status == 200


def test_clients_that_read_slowly_give_way(serve: Serve) -> None:
    served = serve(limits=ServerLimits(requests=2, slow_s=0.0))
    devices = (
        machines.view(0, device=machines.device(0, id=f"a:{number}")) for number in range(500)
    )
    served.feed.put(machines.snapshot(*devices))
    with contextlib.ExitStack() as stack:
        for _ in range(4):
            client = stack.enter_context(socket.socket())
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.connect(("127.0.0.1", served.port))
            client.sendall(b"GET /v1/snapshot HTTP/1.1\r\nHost: localhost\r\n\r\n" * 8)
        for _ in range(10):
            assert _answered_in_the_end(served)


def _answered_in_the_end(served: Any) -> bool:
    """Whether a request finds room: those who read slowly may hold it only for a moment (503)."""
    for _ in while_guarded():
        if served.get("/-/healthy").status == 200:
            return True
        time.sleep(0.02)
    return False


def _gone_in_time(served: Any) -> bool:
    """Let the server's time pass, not ours, until it has no connection."""
    for _ in while_guarded():
        if not served.server.connections:
            return True
        served.pass_time(11.0)
        time.sleep(0.02)
    return False


def test_stopping_ends_silent_and_streaming_clients(serve: Serve) -> None:
    served = serve()
    with served.connect() as silent, served.connect() as idle, served.connect() as streaming:
        idle.sendall(b"GET /-/healthy HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b"healthy" in idle.recv(65536)
        streaming.sendall(b"GET /v1/stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b"200 OK" in streaming.recv(65536)
        served.stop()
        assert closed(silent)
        assert closed(idle)
        assert closed(streaming)
        with pytest.raises(ConnectionRefusedError):
            served.connect()


def test_a_scrape_under_way_is_answered_while_stopping(serve: Serve) -> None:
    hashed = bcrypt.hashpw(b"x", bcrypt.gensalt(4)).decode()
    requested, go_on = threading.Event(), threading.Event()
    real = bcrypt.checkpw

    def slow(password: bytes, given: bytes) -> bool:
        requested.set()
        go_on.wait(GUARD_S)
        return real(password, given)

    async def start_stopping() -> "asyncio.Task[None]":
        stopping = asyncio.create_task(served.server.stop(GUARD_S))
        await asyncio.sleep(0)
        return stopping

    served = serve(Protection(users={"a": hashed}))
    with pytest.MonkeyPatch.context() as patch, served.connect() as client:
        patch.setattr(bcrypt, "checkpw", slow)
        client.sendall(
            b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic YTp4\r\n\r\n"
        )
        assert requested.wait(GUARD_S)
        stopping = served.run(start_stopping())
        go_on.set()
        answer = b""
        while chunk := client.recv(65536):
            answer += chunk
        served.run(asyncio.wait_for(stopping, GUARD_S))
    assert answer.startswith(b"HTTP/1.1 200 OK")
    assert b"Connection: close" in answer


def test_a_left_behind_unix_socket_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "agent.sock"
    open_unix(path).close()
    assert path.is_socket()
    with open_unix(path) as listening:
        assert path.is_socket()
        with pytest.raises(AccelwatchError, match="another process listens there"):
            open_unix(path)
        assert listening.fileno() >= 0


def test_a_file_is_not_replaced_by_a_socket(tmp_path: Path) -> None:
    path = tmp_path / "precious"
    path.write_text("data")
    with pytest.raises(AccelwatchError, match="is not a socket"):
        open_unix(path)
    assert path.read_text() == "data"


def test_an_address_in_use_is_named() -> None:
    (one,) = open_tcp("127.0.0.1:0")
    port = one.getsockname()[1]
    with one, pytest.raises(AccelwatchError, match=f"cannot listen on 127.0.0.1:{port}: Address"):
        open_tcp(f"127.0.0.1:{port}")


def test_ipv6() -> None:
    try:
        (one,) = open_tcp("[::1]:0")
    except AccelwatchError:
        pytest.skip("this machine has no IPv6")
    with one:
        assert one.family == socket.AF_INET6


def test_which_addresses_other_machines_reach() -> None:
    addresses = ["127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "localhost:1", "10.0.0.1:1", ":1"]
    assert exposed([*addresses, "[::]:1", "node7:1"]) == ["10.0.0.1:1", ":1", "[::]:1", "node7:1"]
    assert is_loopback("[::1]:1")
