"""Request bodies: nothing of ours reads one, so none is inflated, waited for, or worth a traceback."""

import logging
import zlib
from collections.abc import Callable
from typing import Any

import pytest

from accelwatch.base.clock import ManualClock
from accelwatch.web.http.failures import FailureLog
from accelwatch.web.protection.web_config import Protection
from agent.credentials import HASH, TOKEN, bearer

Serve = Callable[..., Any]

# Eight kilobytes that become eight megabytes.
BOMB = zlib.compress(bytes(8 << 20), 9)


@pytest.fixture
def inflated(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """An entry for each time that the server would have begun to inflate something."""
    inflations: list[int] = []
    real = zlib.decompressobj

    def counting(wbits: int = zlib.MAX_WBITS) -> object:
        inflations.append(wbits)
        return real(wbits)

    monkeypatch.setattr(zlib, "decompressobj", counting)
    return inflations


def chunked(body: bytes) -> bytes:
    return b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)


def exchange(served: Any, words: bytes) -> bytes:
    """All that comes back until the server closes the connection."""
    answer = b""
    with served.connect() as client:
        try:
            client.sendall(words)
            while piece := client.recv(65536):
                answer += piece
        except ConnectionError:
            pass
    return answer


def request(method: str, path: str, *headers: str, body: bytes = b"") -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


@pytest.mark.parametrize("encoding", ["deflate", "gzip", "br", "identity, deflate", "x"])
@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("path", ["/metrics", "/-/healthy", "/nothing"])
def test_an_encoded_body_is_refused_and_never_inflated(
    serve: Serve, inflated: list[int], encoding: str, method: str, path: str
) -> None:
    served = serve()
    encoded = f"Content-Encoding: {encoding}"
    known = request(method, path, encoded, f"Content-Length: {len(BOMB)}", body=BOMB)
    unknown = request(method, path, encoded, "Transfer-Encoding: chunked", body=chunked(BOMB))
    for words in (known, unknown):
        answer = exchange(served, words)
        assert answer.startswith(b"HTTP/1.1 415 ")
        assert b"Connection: close" in answer
        assert answer.count(b"HTTP/1.1") == 1
    assert inflated == []
    assert served.get().status == 200


def test_nobody_needs_to_be_known_to_be_refused(serve: Serve, inflated: list[int]) -> None:
    served = serve(Protection(users={"a": HASH}, tokens=(TOKEN,)))
    head = ("Content-Encoding: deflate", f"Content-Length: {len(BOMB)}")
    assert exchange(served, request("POST", "/metrics", *head, body=BOMB)).startswith(
        b"HTTP/1.1 415 "
    )
    assert inflated == []
    assert served.get(headers=bearer(TOKEN)).status == 200


def test_identity_is_no_encoding(serve: Serve) -> None:
    headers = {"Content-Encoding": "identity"}
    assert serve().get(headers=headers, body=b"x").status == 200


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_large_or_endless_body_is_refused_before_credentials(
    serve: Serve, method: str, known: bool
) -> None:
    served = serve(Protection(tokens=(TOKEN,)))
    body = bytes(100_000)
    words = (
        request(method, "/metrics", f"Content-Length: {len(body)}", body=body)
        if known
        else request(method, "/metrics", "Transfer-Encoding: chunked", body=chunked(body))
    )
    assert exchange(served, words).startswith(b"HTTP/1.1 413 ")


def test_nobody_is_invited_to_send_a_body(serve: Serve) -> None:
    served = serve()
    head = ("Expect: 100-continue", "Content-Encoding: deflate", "Content-Length: 6000000")
    with served.connect() as client:
        client.sendall(request("POST", "/metrics", *head))
        assert client.recv(65536).startswith(b"HTTP/1.1 415 ")


@pytest.mark.parametrize(
    "words",
    [
        request("GET", "/metrics", "Transfer-Encoding: chunked", body=b"zzz\r\nno chunk\r\n"),
        request("GET", "/metrics", "Transfer-Encoding: chunked", body=b"5\r\nab"),
        request("GET", "/metrics", "Content-Encoding: deflate", "Content-Length: 4", body=b"abcd"),
        request("GET", "/metrics", "Content-Length: 20", body=b"short"),
        request("GET", "/metrics", "Upgrade: websocket", "Connection: Upgrade", body=bytes(999)),
        b"\x16\x03\x01" * 9,
        b"GET /metrics HTTP/9.9\r\n\r\n",
    ],
)
def test_a_bad_request_leaves_no_traceback(
    serve: Serve, caplog: pytest.LogCaptureFixture, words: bytes
) -> None:
    served = serve()
    with caplog.at_level(logging.INFO):
        for _ in range(3):
            exchange(served, words)
        assert served.get().status == 200
    assert [record for record in caplog.records if record.exc_info] == []
    assert len(caplog.records) <= 1


def test_a_fault_of_ours_is_reported_once_and_then_counted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = ManualClock()
    failures = FailureLog(logging.getLogger("test"), clock)
    for _ in range(1000):
        failures.log_failure("a page failed", ValueError("x"), "path=/metrics")
    assert [record.exc_info is not None for record in caplog.records] == [True]
    clock.advance(61)
    for _ in range(1000):
        failures.log_failure("a page failed", ValueError("x"), "path=/metrics")
    assert caplog.records[1].getMessage() == "a page failed again error=ValueError times=1000"
    assert len(caplog.records) == 2


def test_kinds_of_faults_are_bounded(caplog: pytest.LogCaptureFixture) -> None:
    failures = FailureLog(logging.getLogger("test"), ManualClock())
    for number in range(1000):
        failures.log_failure("a page failed", ValueError("x"), f"path=/{number}")
    assert len(caplog.records) == 65
