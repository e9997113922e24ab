"""Paths as yarl reads them, which is what aiohttp's clients and our pages were written for; dates."""

import email.utils
import html

import pytest
from hypothesis import given
from hypothesis import strategies as st
from yarl import URL

from accelwatch.web.http.reply import http_date
from accelwatch.web.http.request import Headers, decoded, split_target
from accelwatch.web.http.request_head import BadHeadError, HeadReader
from accelwatch.web.pages.markup import escape

PIECES = ["%41", "%2f", "%2F", "%c3%a9", "%C3", "%a9", "%FF", "%", "%zz", "%%41", "+", "a", "/"]


@given(st.lists(st.sampled_from(PIECES)).map("".join))
def test_a_path_is_decoded_as_before(rest: str) -> None:
    path = f"/{rest}"
    assert decoded(path) == URL.build(path=path, encoded=True).path


@pytest.mark.parametrize("target", ["", "echo", "?a", "http:", "http:///a", "http://[::1/a"])
def test_what_names_nothing_is_no_target(target: str) -> None:
    with pytest.raises(BadHeadError):
        split_target("GET", target)


def test_headers_are_a_mapping() -> None:
    headers = Headers([(b"A", b"1"), (b"b", b"2"), (b"a", b"3")])
    assert dict(headers) == {"a": "1", "b": "2"}
    assert len(headers) == 2
    assert "B" in headers
    assert headers.getall("A") == ["1", "3"]
    assert headers.getall("c", ("none",)) == ("none",)
    assert headers.get("c") is None


@given(st.integers(0, 4_000_000_000))
def test_a_date_is_written_as_mail_writes_it(time_s: int) -> None:
    assert http_date(time_s).decode() == email.utils.formatdate(time_s, usegmt=True)


def test_a_head_is_cut_off_once_it_is_whole() -> None:
    arrived, heads = bytearray(b"\r\n"), HeadReader()
    assert heads.read_head(arrived) is None
    for piece in (b"\r", b"\nGET / HTTP/1.1\r", b"\nA: b\r\n", b"\r"):
        arrived += piece
        assert heads.read_head(arrived) is None
    arrived += b"\nrest"
    assert heads.read_head(arrived) == b"GET / HTTP/1.1\r\nA: b\r\n\r\n"
    assert arrived == b"rest"
    assert heads.read_head(arrived) is None


def test_a_head_has_64_kib_at_most() -> None:
    heads, line = HeadReader(), b"A: " + b"a" * 995 + b"\r\n"
    assert heads.read_head(bytearray(b"GET / HTTP/1.1\r\n" + line * 63)) is None
    with pytest.raises(BadHeadError) as caught:
        HeadReader().read_head(bytearray(b"GET / HTTP/1.1\r\n" + line * 66))
    assert caught.value.code == 431


@given(st.text() | st.text("<>&'\"a"))
def test_text_is_escaped_as_the_standard_library_does(text: str) -> None:
    assert escape(text) == html.escape(text)
