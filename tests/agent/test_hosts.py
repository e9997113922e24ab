"""Whom a request is meant for: no web page reads a loopback server under a name of its own."""

import asyncio
import ipaddress
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from accelwatch.agent.server import ServerLimits
from accelwatch.config.model import Web
from accelwatch.web.front import server_limits
from accelwatch.web.protection.web_config import Protection
from accelwatch.web.sockets.addresses import is_address, is_loopback_address
from accelwatch.web.sockets.hosts import meant_for, own_names
from agent.credentials import TOKEN, bearer
from support.fleet.hub_peers import hub
from support.processes.waiting import GUARD_S

Serve = Callable[..., Any]
REBOUND = {"Host": "evil.example:9877"}


def code(served: Any, words: str) -> bytes:
    with served.connect() as client:
        client.sendall(words.replace("\n", "\r\n").encode() + b"\r\n\r\n")
        answer: bytes = client.recv(65536)
    return answer.split()[1]


@pytest.mark.parametrize("path", ["/metrics", "/v1/snapshot", "/v1/stream", "/", "/nothing"])
def test_a_page_whose_name_was_rebound_reads_nothing(serve: Serve, path: str) -> None:
    answer = serve().get(path, REBOUND)
    assert answer.status == 403
    assert "web.allowed_hosts" in answer.text
    assert "evil" not in answer.text


def test_probes_are_answered_under_any_name(serve: Serve) -> None:
    assert serve().get("/-/healthy", REBOUND).status == 200


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.0.0.1:9877",
        "[::1]:9877",
        "10.1.2.3:9877",
        "localhost",
        "LocalHost.:1",
        "gpu.localhost",
        socket.gethostname(),
        f"{socket.gethostname().upper()}:9877",
        "listed.example:80",
    ],
)
def test_addresses_and_own_names_are_answered(serve: Serve, host: str) -> None:
    limits = ServerLimits(allowed_hosts=frozenset({"listed.example"}))
    assert serve(limits=limits).get("/metrics", {"Host": host}).status == 200


@pytest.mark.parametrize("host", ["localhost.evil.example", "127.0.0.1.evil.example", "2130706433"])
def test_what_only_looks_like_ours_is_not(serve: Serve, host: str) -> None:
    assert serve().get("/metrics", {"Host": host}).status == 403


def test_a_second_host_header_hides_nothing(serve: Serve) -> None:
    served = serve()
    both = "GET /metrics HTTP/1.1\nHost: {}\nHost: {}"
    assert code(served, both.format("localhost", "evil.example")) in (b"400", b"403")
    assert code(served, both.format("evil.example", "localhost")) in (b"400", b"403")


def test_a_client_without_a_host_is_no_browser(serve: Serve) -> None:
    assert code(serve(), "GET /metrics HTTP/1.0") == b"200"


def test_with_credentials_the_name_does_not_matter(serve: Serve) -> None:
    """A page cannot have the credentials; a proxy that has them may use any name."""
    served = serve(Protection(tokens=(TOKEN,)))
    assert served.get("/metrics", {**REBOUND, **bearer(TOKEN)}).status == 200
    assert served.get("/metrics", REBOUND).status == 401


def test_over_the_unix_socket_the_name_does_not_matter(serve: Serve, tmp_path: Path) -> None:
    served = serve(path=tmp_path / "socket")
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(GUARD_S)
        client.connect(str(served.path))
        client.sendall(b"GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n")
        assert client.recv(100).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize(
    ("local", "host", "meant"),
    [
        ("127.0.0.1", "evil.example", False),
        ("127.9.9.9", "evil.example", False),
        ("::1", "evil.example", False),
        ("::ffff:127.0.0.1", "evil.example", False),
        ("10.1.2.3", "evil.example", True),
        ("fd00::1", "evil.example", True),
        ("127.0.0.1", "node7", True),
        ("127.0.0.1", "node7.evil.example", False),
    ],
)
def test_only_loopback_is_judged(local: str, host: str, meant: bool) -> None:
    assert meant_for(local, [host], {"node7"}) is meant


ADDRESSES = (
    *("127.0.0.1", "127.255.255.255", "128.0.0.0", "10.1.2.3", "127.1", "127.00.0.1", "256.0.0.1"),
    *("::1", "::", "1::", "::ffff:127.0.0.1", "::ffff:7f00:1", "::ffff:10.0.0.1", "::127.0.0.1"),
    *("7f00::1", "7f00::", "::1%lo", "fe80::1%eth0", "::1%", "::1%a%b", "127.0.0.1%lo", "1::2::3"),
    *("", " ::1", "[::1]", "node7", "2130706433", "::g", "127.0.0.1\0", "\uff1127.0.0.1", "\ud800"),
)


@pytest.mark.parametrize("text", ADDRESSES)
def test_addresses_are_what_ipaddress_says_they_are(text: str) -> None:
    try:
        ip = ipaddress.ip_address(text)
    except ValueError:
        assert (is_address(text), is_loopback_address(text)) == (False, False)
        return
    mapped = ip.ipv4_mapped if isinstance(ip, ipaddress.IPv6Address) else None
    assert (is_address(text), is_loopback_address(text)) == (True, (mapped or ip).is_loopback)


def test_names_of_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "Node7.Cluster")
    file = tmp_path / "hosts"
    file.write_text(
        "127.0.0.1 localhost # not.this\n::1 loop6\n10.0.0.7 node7.cluster Gpu7\n10.0.0.8 other\n"
        "nonsense\n\n"
    )
    assert own_names(file) == {"node7.cluster", "node7", "localhost", "loop6", "gpu7"}
    assert own_names(tmp_path / "absent") == {"node7.cluster", "node7"}


def test_listed_names_and_those_listened_on_count() -> None:
    web = Web(listen_address=("Gpu7:1", "127.0.0.1:1", ":1"), allowed_hosts=("A.example",))
    assert server_limits(web).allowed_hosts == {"gpu7", "127.0.0.1", "a.example"}


def test_a_hub_is_not_read_by_a_rebound_page_either() -> None:
    async def main() -> None:
        async with hub() as running:
            await running.get("/v1/fleet", 403, headers=REBOUND)
            await running.post("/v1/nodes/a/acknowledge", 403, headers=REBOUND)
            await running.get("/v1/fleet")

    asyncio.run(main())
