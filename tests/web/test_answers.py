"""What an answer looks like on the wire, and what is done about clients that do not read it."""

import re
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from accelwatch.web.http.sources import ServerLimits
from accelwatch.web.protection.web_config import Protection
from web.echo_site import BIG, LAST, EchoSite, codes, document_of, received, request_of

OpenSite = Callable[..., EchoSite]


def test_an_answer_says_what_it_is_and_when(site: EchoSite) -> None:
    answer = site.exchange(LAST)
    head, _, body = answer.partition(b"\r\n\r\n")
    line, *fields = head.decode().split("\r\n")
    assert line == "HTTP/1.1 200 OK"
    headers = dict(field.split(": ", 1) for field in fields)
    date = headers.pop("Date")
    assert re.fullmatch(r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT", date)
    assert headers == {
        "Server": "accelwatch",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "Referrer-Policy": "no-referrer",
        "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'",
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
        "Connection": "close",
    }


def test_a_connection_is_kept(site: EchoSite) -> None:
    with site.connect() as client:
        client.sendall(request_of("GET /echo/a HTTP/1.1"))
        first = client.recv(1 << 16)
        assert codes(first) == [200]
        assert b"Connection:" not in first
        client.sendall(LAST)
        assert codes(received(client)) == [200]


@pytest.mark.parametrize("path", ["/echo/a", "/big", "/none"])
def test_the_head_alone_is_that_of_the_page(site: EchoSite, path: str) -> None:
    answer = site.exchange(request_of(f"HEAD {path} HTTP/1.1", "Connection: close"))
    head, _, body = site.exchange(
        request_of(f"GET {path} HTTP/1.1", "Connection: close")
    ).partition(b"\r\n\r\n")
    assert f"Content-Length: {len(body)}".encode() in answer
    assert answer.endswith(b"\r\n\r\n")
    assert answer.count(b"\r\n") == head.count(b"\r\n") + 2


@pytest.mark.parametrize("path", ["/parts", "/v1/stream"])
def test_an_answer_of_unknown_length_is_chunked(site: EchoSite, path: str) -> None:
    answer = site.exchange(request_of(f"GET {path} HTTP/1.1", "Connection: close"))
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"Transfer-Encoding: chunked" in head
    assert b"Content-Length" not in head
    assert body == b"4\r\none \r\n4\r\ntwo \r\n5\r\nthree\r\n0\r\n\r\n"


@pytest.mark.parametrize("path", ["/parts", "/v1/stream"])
def test_an_old_client_gets_it_until_the_connection_is_closed(site: EchoSite, path: str) -> None:
    answer = site.exchange(request_of(f"GET {path} HTTP/1.0", host=False))
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"Transfer-Encoding" not in head
    assert b"Content-Length" not in head
    assert body == b"one two three"


def test_of_parts_the_head_alone_can_be_had(site: EchoSite) -> None:
    answer = site.exchange(request_of("HEAD /parts HTTP/1.1") + LAST)
    assert codes(answer) == [200, 200]
    assert b"one " not in answer


def test_a_stream_is_the_last_answer(site: EchoSite) -> None:
    answer = site.exchange(request_of("GET /v1/stream HTTP/1.1") + LAST)
    assert codes(answer) == [200]
    assert b"Connection: close" in answer


def test_an_old_client_is_answered_once(site: EchoSite) -> None:
    answer = site.exchange(request_of("GET /echo/a HTTP/1.0", host=False) + LAST)
    assert codes(answer) == [200]
    assert document_of(answer)["path"] == "/echo/a"


def test_a_fault_of_ours_closes_nothing_and_says_nothing(
    site: EchoSite, caplog: pytest.LogCaptureFixture
) -> None:
    answer = site.exchange(request_of("GET /broken HTTP/1.1") + LAST)
    assert codes(answer) == [500, 200]
    assert b"secret" not in answer
    assert [record.getMessage() for record in caplog.records] == ["a page failed path=/broken"]


def test_a_fault_in_the_middle_of_an_answer_ends_it_unfinished(
    site: EchoSite, caplog: pytest.LogCaptureFixture
) -> None:
    answer = site.exchange(request_of("GET /half HTTP/1.1") + LAST)
    assert codes(answer) == [200]
    assert b"half" in answer
    assert not answer.endswith(b"0\r\n\r\n")
    assert [record.getMessage() for record in caplog.records] == ["a request failed"]


@pytest.mark.parametrize("code", [401, 413, 415])
def test_some_refusals_close_the_connection(open_site: OpenSite, code: int) -> None:
    field = {401: "X: a", 413: "Content-Length: 99999", 415: "Content-Encoding: gzip"}[code]
    protection = Protection(tokens=("t",)) if code == 401 else None
    answer = open_site(protection=protection).exchange(
        request_of("GET /echo/a HTTP/1.1", field) + LAST
    )
    assert codes(answer) == [code]
    assert b"Connection: close" in answer


def test_a_large_page_arrives_whole(site: EchoSite) -> None:
    answer = site.exchange(request_of("GET /big HTTP/1.1", "Connection: close"))
    assert len(answer.partition(b"\r\n\r\n")[2]) == BIG


def test_a_page_waits_for_a_client_that_reads_later(site: EchoSite) -> None:
    with _slow(site) as client:
        client.sendall(request_of("GET /big HTTP/1.1") + LAST)
        site.pass_time(1.0)
        assert site.answered == []
        assert codes(received(client)) == [200, 200]


def test_a_stream_that_nobody_reads_is_given_up(
    open_site: OpenSite, caplog: pytest.LogCaptureFixture
) -> None:
    site = open_site(limits=ServerLimits(stall_s=5.0))
    with caplog.at_level("INFO", "accelwatch"), _slow(site) as client:
        client.sendall(request_of("GET /v1/stream?flood HTTP/1.1"))
        while not site.answered:
            site.pass_time(2.0)
        assert site.server.streams == 0
        assert "a stream's client does not read and is let go" in caplog.messages


def test_a_stream_ends_with_its_client(site: EchoSite) -> None:
    with site.connect() as client:
        client.sendall(request_of("GET /v1/stream?flood HTTP/1.1"))
        assert client.recv(1 << 16).startswith(b"HTTP/1.1 200 OK")
    while site.server.streams:
        site.pass_time(0.01)
    assert site.answered == [("/v1/stream", 200)]


def test_a_client_on_a_unix_socket_is_known_by_its_user(
    open_site: OpenSite, tmp_path: Path
) -> None:
    path = tmp_path / "s"
    open_site(path=path)
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
        fields = ("Connection: close", "Content-Length: 2")
        client.sendall(request_of("POST /echo/a HTTP/1.1", *fields, body=b"hi"))
        document = document_of(received(client))
    assert document["address"] == ""
    assert document["user"] == path.owner()


def _slow(site: EchoSite) -> socket.socket:
    """A connection whose client takes little at a time."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.settimeout(60)
    client.connect(("127.0.0.1", site.port))
    return client
