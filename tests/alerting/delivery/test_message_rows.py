"""Rows of the outbox that a disk has damaged."""

import msgspec
import pytest

from accelwatch.alerting.delivery.outbox import MemoryOutbox

ROWS = {
    "empty": b"",
    "of something else": msgspec.msgpack.encode({"incident": "i1"}),
    "no UTF-8": b"\x81\xa8incident\xa1\xff",
    "deep": b"\x81\xa1x" + b"\x91" * 100_000,
}


@pytest.mark.parametrize("row", ROWS.values(), ids=list(ROWS))
def test_a_row_that_cannot_be_read_is_dropped(row: bytes) -> None:
    assert MemoryOutbox([row]).kept == {}
