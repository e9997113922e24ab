"""HPACK against the examples of RFC 7541, appendix C."""

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accelwatch.workloads import huffman
from accelwatch.workloads.failure import SourceError
from accelwatch.workloads.hpack import _STATIC, HeaderDecoder, encode


def test_the_static_table_is_complete() -> None:
    assert len(_STATIC) == 61
    assert _STATIC[14] == ("accept-charset", "")
    assert _STATIC[16] == ("accept-language", "")
    assert _STATIC[60] == ("www-authenticate", "")


@pytest.mark.parametrize(
    ("text", "coded"),
    [
        ("www.example.com", "f1e3c2e5f23a6ba0ab90f4ff"),
        ("no-cache", "a8eb10649cbf"),
        ("custom-key", "25a849e95ba97d7f"),
        ("custom-value", "25a849e95bb8e8b4bf"),
        ("Mon, 21 Oct 2013 20:13:21 GMT", "d07abe941054d444a8200595040b8166e082a62d1bff"),
        (
            "foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1",
            "94e7821dd7f2e6c7b335dfdfcd5b3960d5af27087f3672c1ab270fb5291f9587316065c003ed4ee5b1063d5007",
        ),
    ],
)
def test_huffman_examples(text: str, coded: str) -> None:
    assert huffman.decode(bytes.fromhex(coded)) == text.encode()


def test_the_code_is_complete() -> None:
    """Kraft's sum of a complete prefix code is exactly one."""
    codes = huffman._codes()
    assert len(codes) == 257
    assert sum(2 ** (30 - length) for length, _ in codes) == 2**30


@pytest.mark.parametrize("octets", ["ffffffff", "fffffffc", "00ff" + "ff" * 3, "1e"])
def test_eos_and_wrong_padding_are_refused(octets: str) -> None:
    with pytest.raises(SourceError):
        huffman.decode(bytes.fromhex(octets))


def test_responses_with_huffman_code_and_eviction() -> None:
    """C.6, three responses on one connection; the table of 256 octets evicts."""
    decoder = HeaderDecoder()
    first = decoder.decode(
        bytes.fromhex(
            "3fe101"
            "488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff"
            "6e919d29ad171863c78f0b97c8e9ae82ae43d3"
        )
    )
    assert first == [
        (":status", "302"),
        ("cache-control", "private"),
        ("date", "Mon, 21 Oct 2013 20:13:21 GMT"),
        ("location", "https://www.example.com"),
    ]
    second = decoder.decode(bytes.fromhex("4883640effc1c0bf"))
    assert second[0] == (":status", "307")
    assert second[1:] == first[1:]
    third = decoder.decode(
        bytes.fromhex(
            "88c16196d07abe941054d444a8200595040b8166e084a62d1bffc05a839bd9ab"
            "77ad94e7821dd7f2e6c7b335dfdfcd5b3960d5af27087f3672c1ab270fb5291f9587316065c003ed4ee5b1063d5007"
        )
    )
    assert third[0] == (":status", "200")
    assert third[1] == ("cache-control", "private")
    assert third[2] == ("date", "Mon, 21 Oct 2013 20:13:22 GMT")
    assert third[4] == ("content-encoding", "gzip")
    assert third[5][0] == "set-cookie"


def test_what_we_encode_we_decode() -> None:
    headers = [(":path", "/v1.PodResourcesLister/List"), ("x", "y" * 300), ("empty", "")]
    assert HeaderDecoder().decode(encode(headers)) == headers


@pytest.mark.parametrize(
    "block",
    ["80", "ff7f", "3fe2ff", "40", "0001", "000161", "00ff8080808080808001", "be", "0081", "00"],
)
def test_damaged_blocks_are_refused(block: str) -> None:
    with pytest.raises(SourceError):
        HeaderDecoder().decode(bytes.fromhex(block))


def test_a_header_list_has_a_limit() -> None:
    decoder = HeaderDecoder()
    decoder.decode(encode([("a", "b" * 4000)]).replace(b"\0", b"\x40", 1))
    with pytest.raises(SourceError, match="too large"):
        decoder.decode(b"\xbe" * 100)


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_any_block_is_headers_or_an_error(block: bytes) -> None:
    with suppress(SourceError):
        HeaderDecoder().decode(block)
