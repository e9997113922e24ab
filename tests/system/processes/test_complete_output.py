"""Which outputs count of commands that end with a status of failure."""

import pytest

from accelwatch.base.errors import ReadError
from accelwatch.system.processes.complete_output import (
    closed,
    has_full_output,
    is_closed,
    never,
    parsed,
)


def numbers(output: bytes) -> list[int]:
    """The lines that are numbers. Raises ReadError without a line that says `cards`."""
    lines = output.decode().split()
    if "cards" not in lines:
        raise ReadError("no cards", code="garbage")
    return [int(line) for line in lines if line.isdecimal()]


@pytest.mark.parametrize(
    ("output", "whole"),
    [(b"cards 1 2", True), (b"cards", False), (b"1 2", False), (b"", False)],
)
def test_a_document_with_an_entry(output: bytes, whole: bool) -> None:
    assert parsed(numbers)(output) is whole


def test_what_an_entry_is_can_be_described() -> None:
    assert not parsed(numbers, lambda document: 3 in document)(b"cards 1 2")
    assert parsed(numbers, lambda document: 2 in document)(b"cards 1 2")


@pytest.mark.parametrize(
    ("output", "whole"),
    [
        (b"cards\n1\n+---+---+\n", True),
        (b"cards\n1\n+---+---+\n\n", True),
        (b"cards\n1\n", False),
        (b"cards\n+---+---+\n", False),
        (b"1\n+---+---+\n", False),
    ],
)
def test_a_table_to_its_end(output: bytes, whole: bool) -> None:
    assert closed(numbers)(output) is whole


@pytest.mark.parametrize(
    "last",
    ["+====+", "-----", "└──────┴───┘", "  +--+--+  ", "End of Log", "===== End of SMI Log ====="],
)
def test_the_last_line_of_a_table(last: str) -> None:
    assert is_closed(f"| 0 | 1 |\n{last}\n".encode())


@pytest.mark.parametrize("last", ["| 0 | 1 |", "+---+ killed", "", "--", "Backend of Log"])
def test_a_line_that_ends_no_table(last: str) -> None:
    assert not is_closed(f"+---+\n| 0 | 1 |\n{last}".encode())


@pytest.mark.parametrize(
    ("status", "counts"),
    [
        *((status, True) for status in (1, 125, 193, 255)),
        *((status, False) for status in (126, 139, 192, 0, -9, -11, None)),
    ],
)
def test_a_command_that_did_not_end_by_itself_reports_nothing(
    status: int | None, counts: bool
) -> None:
    assert has_full_output(status, b"cards 1", parsed(numbers)) is counts
    assert not has_full_output(status, b"cards 1", never)
    assert not has_full_output(status, b"cards", parsed(numbers))
