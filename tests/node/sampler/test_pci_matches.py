"""What a collector was doing when it ended, as its owner reads it afterwards."""

import os
import struct
from collections.abc import Iterator
from threading import get_ident

import msgspec
import pytest

from accelwatch.node.sampler.protocol.call_registry import (
    CallsOut,
    Inside,
    calls_out,
    map_registry,
    threads_inside,
)
from accelwatch.node.sampler.turns.gate import Gate
from accelwatch.node.store.reports import Called, Returned

# Where the marks begin: behind the longest crash report.
BEHIND = 1 << 20
CALLS = BEHIND + 8 * 4096
CELL = 512
MOST = 256
READ = Called(call=1, backend="x", action="read", slot="x:1", thread=7)
OPEN = Called(call=2, backend="y", action="open", thread=8)
LISTEN = Called(call=0, backend="x", action="events", thread=9)


@pytest.fixture
def crash() -> Iterator[int]:
    descriptor = os.memfd_create("crash")
    yield descriptor
    os.close(descriptor)


def noted(crash: int, *reports: Called | Returned) -> CallsOut:
    calls = CallsOut(map_registry(crash))
    for report in reports:
        calls.note(report)
    return calls


def test_who_works_inside_is_noted_and_no_longer_when_done(crash: int) -> None:
    gate = Gate(inside=Inside(map_registry(crash)))
    for enter in (gate.turn, gate.beside):
        with enter():
            assert threads_inside(crash) == {get_ident()}
        assert threads_inside(crash) == frozenset()


def test_several_are_noted_side_by_side_and_a_slot_is_used_again(crash: int) -> None:
    inside, own = Inside(map_registry(crash)), struct.pack("=Q", get_ident())
    with inside.call(), inside.call():
        assert os.pread(crash, 24, BEHIND) == own + own + bytes(8)
    with inside.call():
        assert os.pread(crash, 16, BEHIND).count(own) == 1


def test_a_cell_that_was_cut_names_nobody(crash: int) -> None:
    assert threads_inside(crash) == frozenset()
    os.pwrite(crash, struct.pack("=QQ", 7, 9)[:13], BEHIND)
    assert threads_inside(crash) == {7}


def test_the_calls_that_have_not_come_back_are_out_as_they_were_made(crash: int) -> None:
    assert calls_out(crash) == ()
    calls = noted(crash, OPEN, READ)
    assert calls_out(crash) == (READ, OPEN)
    calls.note(Returned(call=OPEN.call))
    assert calls_out(crash) == (READ,)
    calls.note(Returned(call=READ.call))
    assert calls_out(crash) == ()


def test_the_end_of_a_call_whose_beginning_was_not_noted_is_nothing(crash: int) -> None:
    noted(crash, READ, Returned(call=99))
    assert calls_out(crash) == (READ,)


def test_a_wait_for_events_is_out_until_it_has_ended_beside_one_that_started_since(
    crash: int,
) -> None:
    again = msgspec.structs.replace(LISTEN, call=4, thread=10)
    calls = noted(crash, LISTEN, READ, again)
    assert calls_out(crash) == (LISTEN, READ, again)
    calls.note(Returned(call=LISTEN.call))
    assert calls_out(crash) == (READ, again)


def test_slots_are_used_again_and_what_finds_none_is_not_noted(crash: int) -> None:
    calls = noted(crash)
    numbers = range(1, 2 * MOST)
    for number in numbers:
        calls.note(msgspec.structs.replace(READ, call=number))
    assert [call.call for call in calls_out(crash)] == [*range(1, MOST + 1)]
    for number in numbers:
        calls.note(Returned(call=number))
    assert calls_out(crash) == ()
    for number in (1000, 1001):
        calls.note(msgspec.structs.replace(READ, call=number))
    assert [call.call for call in calls_out(crash)] == [1000, 1001]


def test_a_device_whose_name_is_too_long_is_its_backend(crash: int) -> None:
    room = (
        CELL - 2 - len(msgspec.msgpack.encode(msgspec.structs.replace(READ, slot="x" * 300))) + 300
    )
    fits = msgspec.structs.replace(READ, slot="s" * room)
    longer = msgspec.structs.replace(READ, call=2, slot="s" * (room + 1))
    noted(crash, fits, longer)
    assert calls_out(crash) == (fits, msgspec.structs.replace(longer, slot=""))


def test_what_a_library_has_written_over_is_left_out(crash: int) -> None:
    noted(crash, OPEN, READ)
    os.pwrite(crash, b"\xc1", CALLS + 2)
    assert calls_out(crash) == (READ,)
    os.pwrite(crash, b"\xff\xff", CALLS + CELL)
    assert calls_out(crash) == ()


def test_a_crash_file_that_was_cut_has_what_is_left_of_it(crash: int) -> None:
    noted(crash, OPEN, READ)
    os.ftruncate(crash, CALLS + CELL + 1)
    assert calls_out(crash) == (OPEN,)


def test_room_for_marks_is_taken_before_there_are_any(crash: int) -> None:
    """Where there is none, an error says so; the first mark on a full disk would end the process."""
    map_registry(crash)
    assert os.fstat(crash).st_blocks * 512 >= MOST * CELL
