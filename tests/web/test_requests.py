"""What is taken as a request, what it says to a page, and what is refused, by raw bytes."""

import asyncio
import gc
import logging
import socket
import struct

import pytest

from web.echo_site import LAST, EchoSite, codes, document_of, received, request_of

LIMIT = 8190


def line_of(size: int, version: str = " HTTP/1.1") -> str:
    """A request line of this many bytes."""
    return "GET /echo/".ljust(size - len(version), "a") + version


def field_of(size: int) -> str:
    return "X-Seen: ".ljust(size, "a")


@pytest.mark.parametrize(
    ("target", "path", "query"),
    [
        ("/echo/a", "/echo/a", {}),
        ("/echo/a?", "/echo/a", {}),
        ("/echo/%41%2F%C3%A9+%2B", "/echo/A/é++", {}),
        ("/echo/%FF%41%zz%", "/echo/%FFA%zz%", {}),
        ("/echo/../b//c", "/echo/../b//c", {}),
        ("/echo/a?x=%41+b&x=2&y=", "/echo/a", {"x": ["A b", "2"], "y": [""]}),
        ("/echo/a?x=?&y=/", "/echo/a", {"x": ["?"], "y": ["/"]}),
        ("/echo/a#b?x=1", "/echo/a#b", {"x": ["1"]}),
        ("http://elsewhere:80/echo/a%20b?x=1", "/echo/a b", {"x": ["1"]}),
    ],
)
def test_a_target_is_a_path_and_a_query(
    site: EchoSite, target: str, path: str, query: dict[str, list[str]]
) -> None:
    document = document_of(site.exchange(request_of(f"GET {target} HTTP/1.1", "Connection: close")))
    assert (document["path"], document["query"]) == (path, query)


@pytest.mark.parametrize("line", ["OPTIONS *", "CONNECT localhost:80", "GET http://localhost"])
def test_other_targets_are_no_page_of_ours(site: EchoSite, line: str) -> None:
    assert codes(site.exchange(request_of(f"{line} HTTP/1.1", "Connection: close"))) == [404]


@pytest.mark.parametrize(
    ("fields", "seen"),
    [
        (["X-Seen: a b"], "a b"),
        (["x-seEN:  a\t"], "a"),
        (["X-Seen: a", "X-Seen: b"], "a"),
        (["X-Seen:"], ""),
        (["X-Seen: a", "Other: x"], "a"),
        ([], None),
    ],
)
def test_a_header_is_found_in_any_case(site: EchoSite, fields: list[str], seen: str | None) -> None:
    answer = site.exchange(request_of("GET /echo/a HTTP/1.1", *fields, "Connection: close"))
    assert document_of(answer)["seen"] == seen


def test_bytes_of_no_text_reach_a_page(site: EchoSite) -> None:
    words = request_of("GET /echo/a HTTP/1.1", "Connection: close", "X-Seen: _").replace(
        b"_", b"a\xff"
    )
    assert document_of(site.exchange(words))["seen"] == "a\udcff"


@pytest.mark.parametrize(
    "words",
    [
        request_of("GET /echo/a HTTP/1.1", host=False),
        request_of("GET /echo/a HTTP/1.1", "Host: other"),
        request_of("GET echo HTTP/1.1"),
        request_of("GET /echo/\xe9 HTTP/1.1"),
        request_of("GET /echo/a HTTP/1.2"),
        request_of("GET /echo/a HTTP/9.9"),
        request_of("GET /echo/a http/1.1"),
        request_of("GET /echo/a"),
        request_of("G(T /echo/a HTTP/1.1"),
        request_of("PRI * HTTP/2.0"),
        request_of("GET /echo/a HTTP/1.1", "X-Seen : a"),
        request_of("GET /echo/a HTTP/1.1", ": a"),
        request_of("GET /echo/a HTTP/1.1", "no colon"),
        request_of("GET /echo/a HTTP/1.1", "X-Seen: a", " b"),
        request_of("GET /echo/a HTTP/1.1", "X-Seen: a", "\tb"),
        request_of("GET /echo/a HTTP/1.1", "X-Seen: a\x00b"),
        request_of("GET /echo/a HTTP/1.1", "X-Seen: a\x01b"),
        request_of("GET /echo/a HTTP/1.1", "X-Seen: a\x7fb"),
        request_of("GET /echo/a HTTP/1.1", "X-Seen: a\rb"),
        request_of("GET /echo/a HTTP/1.1", "X-Seen: a\nX: b"),
        request_of("GET /echo/a HTTP/1.1").replace(b"\r\n", b"\n"),
        request_of("GET /echo/a HTTP/1.1", *["X: a"] * 64),
        request_of(line_of(LIMIT + 100)),
        request_of("GET /echo/a HTTP/1.1", field_of(LIMIT + 100)),
        line_of(LIMIT + 100).encode(),
        b"GET /echo/a HTTP/1.1\r\nX-Seen: " + b"a" * (LIMIT + 100),
        b"\x16\x03\x01" * 9,
        b"\x80",
    ],
)
def test_what_is_no_request_is_refused_and_the_connection_closed(
    site: EchoSite, caplog: pytest.LogCaptureFixture, words: bytes
) -> None:
    with caplog.at_level(logging.DEBUG, "accelwatch"):
        answer = site.exchange(words + (LAST if words.endswith(b"\r\n\r\n") else b""))
    assert codes(answer) == [400]
    assert answer.endswith(b"\r\n\r\nbad request\n")
    assert b"X-Content-Type-Options: nosniff" in answer
    assert site.answered == []
    assert all("echo" not in record.getMessage() for record in caplog.records)


@pytest.mark.parametrize(
    "fields",
    [
        ["Content-Length: 3", "Transfer-Encoding: chunked"],
        ["Transfer-Encoding: chunked", "Content-Length: 3"],
        ["Content-Length: 3", "Content-Length: 4"],
        ["Content-Length: 3", "Content-Length: 3"],
        ["Content-Length: 3, 3"],
        ["Content-Length: -3"],
        ["Content-Length: +3"],
        ["Content-Length: 0x3"],
        ["Content-Length:"],
        ["Content-Length: 99999999999999999999999999"],
    ],
)
def test_a_length_that_can_be_read_in_two_ways_is_refused(
    site: EchoSite, fields: list[str]
) -> None:
    words = request_of("POST /echo/a HTTP/1.1", *fields, body=b"abc")
    assert codes(site.exchange(words + LAST)) == [400]
    assert site.answered == []


@pytest.mark.parametrize("coding", ["gzip, chunked", "chunked, chunked", "identity", "xchunked"])
def test_no_other_coding_is_taken(site: EchoSite, coding: str) -> None:
    words = request_of("POST /echo/a HTTP/1.1", f"Transfer-Encoding: {coding}", body=b"0\r\n\r\n")
    (code,) = codes(site.exchange(words + LAST))
    assert code >= 400


def test_requests_up_to_the_limits_are_taken(site: EchoSite) -> None:
    for words in (
        request_of(line_of(LIMIT), "Connection: close"),
        request_of("GET /echo/a HTTP/1.1", field_of(LIMIT), "Connection: close"),
        request_of("GET /echo/a HTTP/1.1", *["X: a"] * 62, "Connection: close"),
        b"\r\n\r\n" + LAST,
    ):
        assert codes(site.exchange(words)) == [200]


def test_a_request_may_come_byte_by_byte(site: EchoSite) -> None:
    words = b"\r\n" + request_of("POST /echo/a HTTP/1.1", "Content-Length: 3", body=b"abc") + LAST
    with site.connect() as client:
        for number in range(len(words)):
            client.sendall(words[number : number + 1])
        answer = received(client)
    assert codes(answer) == [200, 200]
    assert document_of(answer)["body"] == "abc"


def test_requests_are_answered_in_turn(site: EchoSite) -> None:
    words = (
        request_of("GET /echo/1 HTTP/1.1")
        + request_of("POST /echo/2 HTTP/1.1", "Content-Length: 3", body=b"abc")
        + request_of("DELETE /echo/3 HTTP/1.1", "Content-Length: 3", body=b"abc")
        + request_of("HEAD /echo/4 HTTP/1.1")
        + request_of("GET /none HTTP/1.1", "Content-Length: 3", body=b"abc")
        + request_of("GET /echo/6 HTTP/1.1", "Upgrade: websocket", "Connection: Upgrade")
    )
    assert codes(site.exchange(words + LAST)) == [200, 200, 405, 200, 404, 200, 200]
    assert [path for path, _ in site.answered[:3]] == ["/echo/1", "/echo/2", "/echo/3"]


def test_many_requests_at_once_are_all_answered(site: EchoSite) -> None:
    one = request_of("GET /echo/a HTTP/1.1", field_of(1000))
    assert codes(site.exchange(one * 500 + LAST)) == [200] * 501


def test_nothing_is_answered_after_a_request_that_closes(site: EchoSite) -> None:
    assert codes(site.exchange(LAST + LAST)) == [200]
    assert codes(site.exchange(LAST + b"rubbish")) == [200]


def test_rubbish_behind_a_request_is_refused(site: EchoSite) -> None:
    assert codes(site.exchange(request_of("GET /echo/a HTTP/1.1") + b"rubb ish\r\n\r\n"))[-1] == 400


def test_a_body_is_read_whole(site: EchoSite) -> None:
    body = b"x" * (64 << 10)
    words = request_of("POST /echo/a HTTP/1.1", f"Content-Length: {len(body)}", body=body)
    answer = site.exchange(words + LAST)
    assert codes(answer) == [200, 200]
    assert document_of(answer)["body"] == body.decode()
    assert document_of(answer)["address"] == "127.0.0.1"


def test_a_body_that_is_too_long_is_refused_and_its_sender_reads_that(site: EchoSite) -> None:
    body = b"x" * (8 << 20)
    words = request_of("POST /echo/a HTTP/1.1", f"Content-Length: {len(body)}", body=body)
    assert codes(site.exchange(words + LAST)) == [413]
    chunk = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    words = request_of("POST /echo/a HTTP/1.1", "Transfer-Encoding: chunked", body=chunk)
    assert codes(site.exchange(words + LAST)) == [413]


def test_a_body_that_does_not_come_is_not_waited_for(site: EchoSite) -> None:
    words = request_of(
        "POST /echo/a HTTP/1.1", "Expect: 100-continue", "Content-Length: 3", body=b"a"
    )
    with site.connect() as client:
        client.sendall(words)
        while not site.answered:
            site.pass_time(5.0)
        answer = received(client)
    assert codes(answer) == [400]
    assert answer.endswith(b"the body did not arrive\n")


def test_a_client_that_goes_before_its_body_has_come_is_forgotten(site: EchoSite) -> None:
    with site.connect() as client:
        client.sendall(request_of("POST /echo/a HTTP/1.1", "Content-Length: 3", body=b"a"))
    while site.server.connections:
        site.pass_time(0.1)
    assert codes(site.exchange(LAST)) == [200]


@pytest.mark.parametrize(
    ("target", "fields"),
    [
        ("foo", ()),
        ("localhost:80", ()),
        ("/echo/a", ("Transfer-Encoding: chunked", "Content-Length: 3")),
    ],
)
@pytest.mark.parametrize("before", [b"", request_of("HEAD /echo/good HTTP/1.1")])
def test_a_refused_head_gets_an_answer(
    site: EchoSite,
    caplog: pytest.LogCaptureFixture,
    target: str,
    fields: tuple[str, ...],
    before: bytes,
) -> None:
    answer = site.exchange(before + request_of(f"HEAD {target} HTTP/1.1", *fields))
    assert codes(answer) == ([200] if before else []) + [400]
    assert answer.endswith(b"\r\n\r\n")
    assert not caplog.records


@pytest.mark.parametrize(
    "words",
    [
        b"BAD\r\n\r\n",
        request_of("GET /echo/a HTTP/1.0") + b"x",
        request_of("POST /echo/a HTTP/1.1", "Transfer-Encoding: chunked"),
    ],
)
def test_who_has_gone_before_the_answer_is_nobodys_fault(
    site: EchoSite, caplog: pytest.LogCaptureFixture, words: bytes
) -> None:
    gc.collect()  # tasks that other tests left say so now
    caplog.clear()
    for _ in range(20):
        with site.connect() as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.sendall(words)
    for _ in range(20):
        with site.connect() as client:
            client.sendall(words)
    assert codes(site.exchange(LAST)) == [200]
    site.run(asyncio.sleep(0))
    gc.collect()  # a task that failed unheard says so then
    assert not caplog.records


def test_who_expects_a_continue_gets_it(site: EchoSite) -> None:
    with site.connect() as client:
        fields = ("Expect: 100-continue", "Content-Length: 3", "Connection: close")
        client.sendall(request_of("POST /echo/a HTTP/1.1", *fields))
        requested = b""
        while not requested.endswith(b"\r\n\r\n"):
            requested += client.recv(1)
        assert codes(requested) == [100]
        client.sendall(b"abc")
        answer = received(client)
    assert codes(answer) == [200]
    assert document_of(answer)["body"] == "abc"


@pytest.mark.parametrize("expecting", [True, False])
def test_who_sends_the_body_at_once_gets_no_continue(site: EchoSite, expecting: bool) -> None:
    fields = ("Expect: 100-continue",) if expecting else ()
    words = request_of("POST /echo/a HTTP/1.1", *fields, "Content-Length: 3", body=b"abc")
    answer = site.exchange(words + LAST)
    assert codes(answer) == [200, 200]


def test_a_refused_client_gets_no_continue(site: EchoSite) -> None:
    fields = ("Expect: 100-continue", "Content-Length: 3", "Content-Encoding: deflate")
    answer = site.exchange(request_of("POST /echo/a HTTP/1.1", *fields, "Connection: close"))
    assert codes(answer) == [415]


@pytest.mark.parametrize("path", ["/echo/a", "/big", "/parts"])
def test_a_client_that_sends_no_more_gets_its_whole_answer(site: EchoSite, path: str) -> None:
    whole = site.exchange(request_of(f"GET {path} HTTP/1.1", "Connection: close"))
    for fields in (["Connection: close"], []):
        with site.connect() as client:
            client.sendall(request_of(f"GET {path} HTTP/1.1", *fields))
            client.shutdown(socket.SHUT_WR)
            answer = received(client)
        assert codes(answer) == [200]
        assert answer.partition(b"\r\n\r\n")[2] == whole.partition(b"\r\n\r\n")[2]


def test_requests_that_were_sent_before_the_end_are_all_answered(site: EchoSite) -> None:
    with site.connect() as client:
        client.sendall(request_of("GET /echo/a HTTP/1.1") + request_of("GET /echo/b HTTP/1.1"))
        client.shutdown(socket.SHUT_WR)
        answer = received(client)
    assert codes(answer) == [200, 200]


@pytest.mark.parametrize(
    "words",
    [b"", b"GET /echo/a HT", request_of("POST /echo/a HTTP/1.1", "Content-Length: 9", body=b"x")],
)
def test_who_ends_in_the_middle_of_a_request_is_not_waited_for(
    site: EchoSite, words: bytes
) -> None:
    with site.connect() as client:
        client.sendall(words)
        client.shutdown(socket.SHUT_WR)
        assert received(client) == b""


@pytest.mark.parametrize(("count", "expected"), [(8, [200]), (9, [400])])
def test_blank_lines_before_a_request_are_bounded(
    site: EchoSite, count: int, expected: list[int]
) -> None:
    assert codes(site.exchange(b"\r\n" * count + LAST)) == expected


def test_blank_lines_that_come_one_by_one_are_counted_too(site: EchoSite) -> None:
    with site.connect() as client:
        for _ in range(9):
            client.sendall(b"\r\n")
        assert codes(received(client)) == [400]
