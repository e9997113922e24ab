"""An answer over HTTP/1.1 in whatever pieces it comes, and all that is none."""

import gc
import gzip
import weakref

import pytest

from accelwatch.fleet.follow.failures.faults import Reason, TargetFault
from accelwatch.fleet.follow.http.body import Body, BodyPrefix
from accelwatch.fleet.follow.http.exchange import Exchange, OpenAnswer
from accelwatch.fleet.follow.http.request import Request

LIMIT = 1000
PAGE = b"up 1\n" * 20
SIZED = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(PAGE), PAGE)
CHUNKED = (
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"a;name=value\r\n" + PAGE[:10] + b"\r\n5A \r\n" + PAGE[10:] + b"\r\n0\r\nX-Trailer: 1\r\n\r\n"
)
PACKED = b"HTTP/1.1 200 \r\nContent-Encoding: GZIP\r\nContent-Length: %d\r\n\r\n%b" % (
    len(gzip.compress(PAGE, mtime=0)),
    gzip.compress(PAGE, mtime=0),
)
BEFORE = b"HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n"
WHOLE = {
    "sized": SIZED,
    "in chunks": CHUNKED,
    "packed": PACKED,
    "after another": BEFORE + SIZED,
    "with bare line ends": SIZED.replace(b"\r\n", b"\n"),
}


REQUEST = Request("GET", "/metrics", "n1:9400", {})


def page(limit: int) -> OpenAnswer:
    """What takes a page of at most so many bytes."""
    return lambda code, headers: (
        Body(headers.get("content-encoding"), limit) if code == 200 else None
    )


def answered(data: bytes, piece: int = 1 << 20, limit: int = LIMIT) -> Exchange:
    """The answer once it is complete, or once all has come and the connection has ended."""
    answer = Exchange(REQUEST, page(limit))
    for at in range(0, len(data), piece):
        if answer.feed(data[at : at + piece]):
            assert at + piece >= len(data)
            return answer
    answer.finish()
    return answer


@pytest.mark.parametrize("piece", [1, 2, 7, 1 << 20])
@pytest.mark.parametrize("form", WHOLE)
def test_a_page_comes_in_any_form_and_in_any_pieces(form: str, piece: int) -> None:
    answer = answered(WHOLE[form], piece)
    assert (answer.status, answer.keeps, answer.body()) == (200, True, PAGE)


@pytest.mark.parametrize("piece", [4096, 64 << 10])
def test_a_page_may_come_in_a_chunk_for_each_line(piece: int) -> None:
    line = b'accel_temperature_celsius{gpu="0"} 40\n'
    data = CHUNKS + b"%x\r\n%b\r\n" % (len(line), line) * 20_000 + b"0\r\n\r\n"
    assert answered(data, piece, 1 << 20).body() == line * 20_000


@pytest.mark.parametrize("piece", [1, 1 << 20])
def test_without_a_length_the_page_ends_with_the_connection(piece: int) -> None:
    answer = answered(b"HTTP/1.1 200 OK\r\n\r\n" + PAGE, piece)
    assert (answer.keeps, answer.body()) == (False, PAGE)


def test_a_page_may_be_empty() -> None:
    assert answered(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").body() == b""


@pytest.mark.parametrize(
    ("version", "header", "keeps"),
    [
        ("1.1", "X: 1", True),
        ("1.1", "Connection: Close", False),
        ("1.1", "Connection: a, close", False),
        ("1.0", "X: 1", False),
        ("1.0", "Connection: keep-alive", True),
    ],
)
def test_a_connection_is_kept_as_the_answer_says(version: str, header: str, keeps: bool) -> None:
    head = f"HTTP/{version} 200 OK\r\n{header}\r\nContent-Length: 4\r\n\r\nup 1"
    assert answered(head.encode()).keeps is keeps


def test_a_connection_that_sends_more_than_was_requested_is_not_kept() -> None:
    assert not answered(SIZED + b"HTTP").keeps
    assert not answered(CHUNKED + b"HTTP").keeps


def test_of_any_other_answer_only_the_head_counts() -> None:
    answer = Exchange(REQUEST, page(LIMIT))
    assert answer.feed(
        b"HTTP/1.1 503 Busy\r\nretry-after: 7\r\nRetry-After: 9\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    assert (answer.status, answer.headers["retry-after"], answer.keeps) == (503, "7", False)
    assert answer.body() == b""


@pytest.mark.parametrize(
    ("fields", "body", "keeps"),
    [
        (b"Content-Length: 4", b"none", True),
        (b"Content-Length: 0", b"", True),
        (b"Content-Length: 4\r\nConnection: close", b"none", False),
        (b"Content-Length: 4", b"non", False),
        (b"Content-Length: 4", b"nones", False),
        (b"Content-Length: 4\r\nTransfer-Encoding: chunked", b"none", False),
        (b"X: 1", b"", False),
    ],
)
def test_a_refusal_that_came_whole_leaves_its_connection(
    fields: bytes, body: bytes, keeps: bool
) -> None:
    answer = Exchange(REQUEST, page(LIMIT))
    assert answer.feed(b"HTTP/1.1 404 None\r\n" + fields + b"\r\n\r\n" + body)
    assert (answer.status, answer.keeps, answer.body()) == (404, keeps, b"")


@pytest.mark.parametrize(
    ("rest", "keeps"),
    [
        (b"Content-Length: 50000\r\n\r\n" + b"x" * 50_000, True),
        (b"Transfer-Encoding: chunked\r\n\r\n" + (b"1000\r\n%b\r\n" % (b"x" * 4096)) * 12, False),
    ],
)
@pytest.mark.parametrize("most", [0, 4096])
def test_a_refusal_keeps_its_code_however_much_comes_with_its_head(
    rest: bytes, keeps: bool, most: int
) -> None:
    answer = Exchange(REQUEST, lambda _code, _headers: BodyPrefix(most) if most else None)
    assert answer.feed(b"HTTP/1.1 404 None\r\n" + rest)
    assert (answer.status, answer.keeps, answer.body()) == (404, keeps and not most, b"x" * most)


REFUSAL = b"HTTP/1.1 404 None\r\nContent-Type: text/plain\r\n"


@pytest.mark.parametrize("piece", [1, 1 << 20])
@pytest.mark.parametrize(
    ("rest", "expected", "keeps"),
    [
        (b"Content-Length: 4\r\n\r\nnone", b"none", True),
        (b"Content-Length: 0\r\n\r\n", b"", True),
        (b"Content-Length: 12\r\n\r\nnone of them", b"none of ", False),
        (b"Transfer-Encoding: chunked\r\n\r\n4\r\nnone\r\n0\r\n\r\n", b"none", True),
        (b"\r\nnone", b"none", False),
        (b"Content-Length: 40\r\n\r\nnone", b"none", False),
    ],
)
def test_of_a_refusal_as_much_is_read_as_is_announced(
    rest: bytes, expected: bytes, keeps: bool, piece: int
) -> None:
    answer, data = Exchange(REQUEST, lambda _code, _headers: BodyPrefix(8)), REFUSAL + rest
    if not any(answer.feed(data[at : at + piece]) for at in range(0, len(data), piece)):
        answer.finish()
    assert (answer.status, answer.keeps, answer.body()) == (404, keeps, expected)


@pytest.mark.parametrize("code", [b"204", b"304"])
def test_an_answer_without_a_body_is_not_waited_for(code: bytes) -> None:
    answer = Exchange(REQUEST, lambda _code, _headers: BodyPrefix(8))
    assert answer.feed(REFUSAL.replace(b"404", code) + b"Content-Length: 4\r\n\r\n")
    assert answer.body() == b""


HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKS = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
NONE = {
    "other words": b"SSH-2.0-server\r\n",
    "another version": b"HTTP/2 200\r\n\r\n",
    "no code": b"HTTP/1.1 ok\r\n\r\n",
    "a code that is none": b"HTTP/1.1 0200 OK\r\n\r\n",
    "a header without a name": HEAD + b": a\r\n\r\n",
    "a header without a value": HEAD + b"words\r\n\r\n",
    "a header that is folded": HEAD + b"A: b\r\n c\r\n\r\n",
    "a blank before the colon": HEAD + b"Content-Length : 4\r\n\r\nup 1",
    "two lengths": HEAD + b"Content-Length: 4\r\nContent-Length: 5\r\n\r\nup 1",
    "a length and chunks": CHUNKS[:-2] + b"Content-Length: 4\r\n\r\n4\r\nup 1\r\n0\r\n\r\n",
    "another coding": HEAD + b"Transfer-Encoding: gzip, chunked\r\n\r\n",
    "two codings": CHUNKS[:-2] + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "a length below zero": HEAD + b"Content-Length: -1\r\n\r\n",
    "a length in words": HEAD + b"Content-Length: four\r\n\r\nup 1",
    "a length in other digits": HEAD + "Content-Length: ²\r\n\r\nup".encode("latin-1"),
    "a length without end": HEAD + b"Content-Length: " + b"1" * 5000 + b"\r\n\r\n",
    "a chunk's size that is none": CHUNKS + b"-1\r\n",
    "a chunk's size without end": CHUNKS + b"5;" + b"x" * 5000,
    "a chunk that is longer than it says": CHUNKS + b"1\r\nup",
    "a chunk that another one does not follow": CHUNKS + b"1\r\nu\rx\n",
    "more around chunks than in them": CHUNKS + b"1\r\nu\r\n" * 20_000,
    "trailers without end": CHUNKS + b"0\r\n" + b"A: b\r\n" * 20_000,
    "headers without end": HEAD + b"A: b\r\n" * 20_000,
    "answers before it without end": BEFORE * 20 + SIZED,
    "a coding that was not asked for": HEAD + b"Content-Encoding: br\r\n\r\n",
    "a page that is not packed": HEAD + b"Content-Encoding: gzip\r\n\r\n" + PAGE,
    "something behind what is packed": PACKED.replace(b"Length:", b"X:") + b"x",
    "a head that breaks off": HEAD,
    "a page that breaks off": SIZED[:-1],
    "a chunk that breaks off": CHUNKED[:-60],
    "chunks that break off": CHUNKED[:-7],
}


@pytest.mark.parametrize("piece", [3, 1 << 20])
@pytest.mark.parametrize("flaw", NONE)
def test_what_is_no_answer_is_garbage(flaw: str, piece: int) -> None:
    data = NONE[flaw]
    with pytest.raises(TargetFault) as caught:
        answered(data, max(piece, len(data) // 100), 100 * LIMIT).body()
    assert caught.value.reason is Reason.GARBAGE


def test_chunks_of_a_few_bytes_hold_the_loop_for_one_read_at_most() -> None:
    with pytest.raises(TargetFault) as caught:
        answered(CHUNKS + b"5\r\nup 1\n\r\n" * 20_000 + b"0\r\n\r\n", 64 << 10, 1 << 20)
    assert caught.value.reason is Reason.GARBAGE


def test_what_is_packed_and_breaks_off_is_garbage() -> None:
    short = HEAD + b"Content-Encoding: gzip\r\n\r\n" + gzip.compress(PAGE)[:-1]
    with pytest.raises(TargetFault, match="before it is complete"):
        answered(short).body()


def test_a_target_that_speaks_tls_is_reported_as_such() -> None:
    with pytest.raises(TargetFault, match="speaks TLS"):
        answered(b"\x15\x03\x01\x00\x02\x02\x46")


LARGE = {
    "with a length": HEAD + b"Content-Length: 1001\r\n\r\n" + bytes(1001),
    "until the end": HEAD + b"\r\n" + bytes(1001),
    "in chunks": CHUNKS + b"3e9\r\n" + bytes(1001),
    "packed": HEAD + b"Content-Encoding: gzip\r\n\r\n" + gzip.compress(bytes(1001)),
    "packed, of nothing": HEAD
    + b"Content-Encoding: gzip\r\n\r\n"
    + gzip.compress(b"")[:10]
    + b"\0\0\0\xff\xff" * 201,
}


@pytest.mark.parametrize("form", LARGE)
def test_a_page_above_the_limit_is_too_large(form: str) -> None:
    with pytest.raises(TargetFault) as caught:
        answered(LARGE[form]).body()
    assert caught.value.reason is Reason.TOO_LARGE


def test_a_page_may_be_as_large_as_the_limit() -> None:
    assert len(answered(HEAD + b"\r\n" + bytes(LIMIT)).body()) == LIMIT


def test_a_page_goes_with_its_answer() -> None:
    """Else every poll would leave its page to the collector, which comes by once in hundreds of them."""
    gc.disable()
    try:
        answer = weakref.ref(answered(SIZED))
        assert answer() is None
    finally:
        gc.enable()


def test_a_field_of_blanks_is_read_in_one_go() -> None:
    """Each of them was once looked at as the end of the field: 30,000 held the loop for seconds."""
    blanks = b" " * 20_000
    one = Exchange(REQUEST, page(100))
    assert one.feed(b"HTTP/1.1 200 OK\r\nX: a" + blanks + b"b \r\nContent-Length: 0\r\n\r\n")
    assert one.headers["x"] == f"a{blanks.decode()}b"


@pytest.mark.parametrize("count", [1023, 1024, 1025, 5000])
def test_a_body_in_many_pieces_is_whole_and_few_objects(count: int) -> None:
    body = Body(None, 1 << 20)
    for at in range(count):
        body.feed(b"%04d" % at)
    assert len(body._chunks) <= 1024
    assert body.read_all() == b"".join(b"%04d" % at for at in range(count))
