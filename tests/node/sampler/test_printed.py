"""What vendor libraries print is told in whole messages, each once."""

import os
from collections.abc import Iterator

import pytest

from accelwatch.node.sampler.protocol.printed import PRINTED_BYTES, Printed, bounded_file


@pytest.fixture
def file() -> Iterator[int]:
    descriptor = bounded_file()
    yield descriptor
    os.close(descriptor)


def test_a_message_that_is_still_coming_is_reported_once_and_whole(file: int) -> None:
    printed = Printed(file)
    os.write(file, b"one half\n")
    assert printed.new_output() == ""
    os.write(file, b"and the other\n")
    assert printed.new_output() == ""
    assert printed.new_output() == "one half and the other"
    assert printed.new_output() == ""


def test_a_later_message_is_reported_by_itself(file: int) -> None:
    printed = Printed(file)
    for message in ("first", "second"):
        os.write(file, message.encode() + b"\n")
        assert [printed.new_output(), printed.new_output()] == ["", message]


def test_a_library_that_goes_on_printing_is_reported_meanwhile(file: int) -> None:
    printed = Printed(file)
    messages = []
    for number in range(8):
        os.write(file, b"%d\n" % number)
        messages.append(printed.new_output())
    assert messages == ["", "", "", "0 1 2 3", "", "", "", "4 5 6 7"]


def test_what_fills_the_file_is_reported_at_once(file: int) -> None:
    printed = Printed(file)
    os.write(file, b"x" * PRINTED_BYTES)
    assert not printed.full
    assert set(printed.new_output()) == {"x"}
    assert printed.full
    assert printed.new_output() == ""


def test_the_last_words_are_the_end_of_all_on_one_line(file: int) -> None:
    printed = Printed(file)
    assert printed.last_output() == ""
    os.write(file, b"first\n  then\t\xff\x1b[31m" + b"x" * 199 + b"end\n")
    words = printed.last_output()
    assert (len(words), words[-4:], words[0]) == (200, "xend", "x")
    printed.new_output()
    assert printed.last_output() == words


def test_bytes_of_any_kind_are_reported_in_one_line_of_a_thousand_characters(file: int) -> None:
    printed = Printed(file)
    os.write(file, b"a\xff\r\n b " + b"y" * 2000)
    assert printed.new_output() == ""
    assert printed.new_output() == "a\N{REPLACEMENT CHARACTER} b " + "y" * 995
    assert printed.last_output() == "y" * 200


def test_writes_beyond_the_bound_fail_and_nothing_is_lost_before(file: int) -> None:
    os.lseek(file, PRINTED_BYTES - 4, os.SEEK_SET)
    assert os.write(file, b"abcdef") == 4
    with pytest.raises(PermissionError):
        os.write(file, b"g")
    with pytest.raises(PermissionError):
        os.ftruncate(file, 0)
    assert not os.get_inheritable(file)


def test_where_there_are_no_sealed_files_nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "memfd_create")
    descriptor = bounded_file()
    os.write(descriptor, b"gone")
    printed = Printed(descriptor)
    assert [printed.new_output(), printed.last_output(), printed.full] == ["", "", False]
    printed.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)


def test_what_was_reported_is_not_reported_again_when_more_comes(file: int) -> None:
    printed = Printed(file)
    os.write(file, b"one\n")
    assert [printed.new_output(), printed.new_output()] == ["", "one"]
    for part in (b"two", b" three", b" four"):
        os.write(file, part)
        assert printed.new_output() == ""
    os.write(file, b" five")
    assert printed.new_output() == "two three four five"
    os.write(file, b" six")
    assert [printed.new_output(), printed.new_output()] == ["", "six"]
