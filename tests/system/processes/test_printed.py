"""What is left of an output without what is for terminals, and which JSON is in it."""

import pytest

from accelwatch.system.processes.printed import complete_lines, json_documents, plain


@pytest.mark.parametrize(
    ("output", "left"),
    [
        (b"", b""),
        (b"| 0 | OK |\n", b"| 0 | OK |\n"),
        (b"\x1b[1;32m| 0 |\x1b[0m\n", b"| 0 |\n"),
        (b"\x1b[?25l\x1b[2J\x1b[H| 0 |", b"| 0 |"),
        (b"\x1b]0;a title\x07| 0 |", b"| 0 |"),
        (b"\x1b]8;;http://a\x1b\\| 0 |", b"| 0 |"),
        (b"\x1bM| 0 |", b"| 0 |"),
        (b"| 0 |\x1b", b"| 0 |\x1b"),
        (b"\xef\xbb\xbf| 0 |", b"| 0 |"),
        (b"| 0 |\0\0", b"| 0 |"),
        ("| 0 | °C |".encode("utf-16"), "| 0 | °C |".encode()),
    ],
)
def test_what_is_for_terminals_is_left_out(output: bytes, left: bytes) -> None:
    assert plain(output) == left


@pytest.mark.parametrize(
    ("output", "lines"),
    [
        (b"", []),
        (b"a: 1\nb: 23\n", ["a: 1", "b: 23"]),
        (b"a: 1\nb: 2", ["a: 1"]),
        (b"a: 1\r\nb: 2\r\n", ["a: 1", "b: 2"]),
        (b"a: \xff\n\n", ["a: \ufffd", ""]),
    ],
)
def test_a_line_that_was_cut_is_none(output: bytes, lines: list[str]) -> None:
    assert complete_lines(output) == lines


@pytest.mark.parametrize(
    ("output", "documents"),
    [
        (b'{"a": 1}', [{"a": 1}]),
        (b'  \n  {"a": 1}\n', [{"a": 1}]),
        (b'WARNING: old driver {1}\n{"a": 1}', [{"a": 1}]),
        (b'[2026-01-02 03:04:05] warn: a = b\n[{"a": 1}]\n', [[{"a": 1}]]),
        (b'{"a": 1}\nWARNING: infoROM\n', [{"a": 1}]),
        (b'{"level": "warn"}\n{"a": 1}\n', [{"level": "warn"}, {"a": 1}]),
        (b'\x1b[33mWARN\x1b[0m\r\n{\r\n "a": 1\r\n}\r\n', [{"a": 1}]),
        (b'\xef\xbb\xbf{"a": 1}', [{"a": 1}]),
        (b'{"cmd": "a\xff\tb"}', [{"cmd": "a\ufffd\tb"}]),
        (b'{\n  "a": [\n    {"b": 1},\n    {"b"', []),
        (b"no JSON", []),
        (b"[" * 100_000, []),
    ],
)
def test_json_among_other_lines(output: bytes, documents: list[object]) -> None:
    assert list(json_documents(output)) == documents


def test_a_page_of_brackets_is_given_up() -> None:
    assert list(json_documents(b"[x\n" * 100 + b"{}")) == []
