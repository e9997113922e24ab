"""What vendor libraries print is told in whole messages, each once."""

import os
from collections.abc import Iterator

import pytest

from accelwatch.sampler.printed import PRINTED_BYTES, Printed, bounded_file


@pytest.fixture
def file() -> Iterator[int]:
    descriptor = bounded_file()
    yield descriptor
    os.close(descriptor)


def test_a_message_that_is_still_coming_is_told_once_and_whole(file: int) -> None:
    printed = Printed(file)
    os.write(file, b"one half\n")
    assert printed.news() == ""
    os.write(file, b"and the other\n")
    assert printed.news() == ""
    assert printed.news() == "one half and the other"
    assert printed.news() == ""


def test_a_later_message_is_told_by_itself(file: int) -> None:
    printed = Printed(file)
    for message in ("first", "second"):
        os.write(file, message.encode() + b"\n")
        assert [printed.news(), printed.news()] == ["", message]


def test_a_library_that_goes_on_printing_is_told_meanwhile(file: int) -> None:
    printed = Printed(file)
    told = []
    for number in range(8):
        os.write(file, b"%d\n" % number)
        told.append(printed.news())
    assert told == ["", "", "", "0 1 2 3", "", "", "", "4 5 6 7"]


def test_what_fills_the_file_is_told_at_once(file: int) -> None:
    printed = Printed(file)
    os.write(file, b"x" * PRINTED_BYTES)
    assert not printed.full
    assert set(printed.news()) == {"x"}
    assert printed.full
    assert printed.news() == ""
