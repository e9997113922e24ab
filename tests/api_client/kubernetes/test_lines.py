"""Events of an API server, a line each, in whatever pieces they come."""

from collections.abc import Sequence

import pytest

from accelwatch.api_client.kubernetes import lines as lines_module
from accelwatch.api_client.kubernetes.errors import ApiUnavailableError
from accelwatch.api_client.kubernetes.lines import Lines


@pytest.mark.parametrize("size", [1, 2, 5, 64])
def test_lines_are_the_same_in_whatever_pieces_they_come(size: int) -> None:
    handled: list[bytes] = []
    lines = Lines(handled.extend)
    body = b"first\nsecond\n\nthird and more\nrest"
    for start in range(0, len(body), size):
        lines.feed(body[start : start + size])
    assert handled == [b"first", b"second", b"", b"third and more"]
    lines.feed(b" of it\n")
    assert handled[-1] == b"rest of it"


def test_lines_of_one_piece_are_handled_at_once() -> None:
    batches: list[Sequence[bytes]] = []
    lines = Lines(batches.append)
    lines.feed(b"a\nb\nc")
    lines.feed(b"d")
    assert batches == [[b"a", b"b"]]


def test_a_line_without_an_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines_module, "_MAX_LINE_BYTES", 8)
    lines = Lines(lambda _lines: None)
    lines.feed(b"12345678")
    with pytest.raises(ApiUnavailableError, match="an event without an end"):
        lines.feed(b"9")
