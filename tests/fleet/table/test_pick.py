"""Values of many devices as a block: the same as those of each device, whatever it reports."""

import math
from collections.abc import Sequence

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accelwatch.fleet.follow.frames import RawDevice
from accelwatch.fleet.state.nodes.devices import StreamDevice
from accelwatch.fleet.table.columns import Columns
from accelwatch.fleet.table.pick import DOUBLE, INTEGER, LARGE, count_of, decoded
from accelwatch.schema.metrics import Series
from accelwatch.schema.stream.packed import pack, unpack
from accelwatch.schema.values.plausible import SENTINELS
from support.machines import composed as machines

SERIES: tuple[Series, ...] = (
    ("power_watts",),
    ("memory_used_bytes",),
    ("pcie_bytes_total", "receive"),
    ("utilization_ratio",),
    ("temperature_celsius", "gpu"),
    ("no_such_quantity", "x"),
)
LETTERS = "uptlzesn"
EDGES = (2**53, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, 2**64 - 1500, -1, 0, 0.0, -0.0, 2**46)
numbers = st.one_of(
    st.integers(-(2**63), 2**64 - 1),
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from(EDGES),
    st.sampled_from(sorted(SENTINELS, key=float)).filter(lambda one: -(2**63) <= one < 2**64),
    st.floats(0, 1),
    st.integers(0, 700),
)
values = st.one_of(numbers, st.sampled_from(LETTERS))
lines = st.lists(st.tuples(*[values] * len(SERIES)), min_size=1, max_size=6)
wholes = st.lists(st.tuples(*[numbers] * len(SERIES)), min_size=1, max_size=6)


def encoded(line: Sequence[float | str], packed: bool) -> msgspec.Raw:
    """A tick's values as they arrive."""
    return msgspec.Raw(msgspec.msgpack.encode(pack(line) if packed else line))


def device(columns: Columns, raw: msgspec.Raw) -> StreamDevice:
    """The same as the fleet keeps a device."""
    held = StreamDevice(machines.device(0), columns)
    held.update(RawDevice(0, "ok", 0.0, "ok", 0.0, raw))
    return held


def check(columns: Columns, ticks: Sequence[msgspec.Raw], wanted: tuple[Series, ...]) -> None:
    """The block says what each device says by itself."""
    block = columns.pick(wanted).block(ticks)
    for column, raw in enumerate(ticks):
        held = device(columns, raw)
        for row, series in enumerate(wanted):
            number, mark = held.number(series), block.tags[row, column]
            shown = float(block.values[row, column])
            if number is None:
                assert math.isnan(shown), (series, raw)
                assert mark not in (DOUBLE, INTEGER, LARGE)
            else:
                assert shown == float(number)
                assert (mark == LARGE) == (isinstance(number, int) and abs(number) > 2**53)


@settings(max_examples=60)
@given(lines, st.booleans(), st.permutations(SERIES), st.integers(0, len(SERIES)))
def test_a_block_is_what_each_device_says(
    reported: list[tuple[float | str, ...]], packed: bool, order: list[Series], count: int
) -> None:
    columns = Columns(SERIES, ())
    ticks = [encoded(line, packed) for line in reported]
    check(columns, ticks, (*order[:count], ("never_told",)))


@settings(max_examples=60)
@given(wholes, wholes, st.booleans())
def test_kinds_may_change_from_tick_to_tick(
    first: list[tuple[float, ...]], second: list[tuple[float, ...]], packed: bool
) -> None:
    columns = Columns(SERIES, ())
    for reported in (first, second, first):
        check(columns, [encoded(line, packed) for line in reported], SERIES)


@pytest.mark.parametrize("whole", [2**53 + 1, -(2**53) - 1, 2**53])
def test_the_least_integer_that_no_double_holds_is_seen_among_doubles(whole: int) -> None:
    columns = Columns(SERIES[2:3], ())
    for line in ((whole,), (2.5,), (whole,)):
        check(columns, [encoded(line, packed=False)], SERIES[2:3])


@settings(max_examples=60)
@given(lines, lines)
def test_devices_of_one_layout_may_report_in_both_forms(
    old: list[tuple[float | str, ...]], new: list[tuple[float | str, ...]]
) -> None:
    ticks = [*[encoded(line, False) for line in old], *[encoded(line, True) for line in new]]
    check(Columns(SERIES, ()), ticks, SERIES)
    check(Columns(SERIES, ()), ticks[::-1], SERIES)


@settings(max_examples=60)
@given(st.lists(values, max_size=40).map(tuple))
def test_packed_values_come_back_as_they_were(line: tuple[float | str, ...]) -> None:
    back = unpack(pack(line))
    assert [(type(one), repr(one)) for one in back] == [(type(one), repr(one)) for one in line]
    assert count_of(msgspec.Raw(msgspec.msgpack.encode(pack(line)))) == len(line)


def test_marks_say_of_what_kind_a_number_is_and_why_there_is_none() -> None:
    line = (300.5, 80, 2**60 + 1, "t", 9999, 1)
    for packed in (False, True):
        block = Columns(SERIES, ()).pick((*SERIES, ("other",))).block([encoded(line, packed)])
        assert bytes(block.tags[:, 0]) == b"dqQtenn", (
            "what has no place in the catalogue is nothing"
        )
        assert block.values[:2, 0].tolist() == [300.5, 80.0]
        assert np.isnan(block.values[3:5, 0]).all()


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\xc0",
        b"\x93\x01\x02\xa1",
        b"\x92\x01\x02",
        b"\x93\x01\x02\xc0",
        b"\xc4\x1a" + b"d" * 26,
        b"\xc4\x1b" + b"d" * 20,
        b"\xdd\xff\xff\xff\xff",
    ],
)
def test_values_that_cannot_be_read_are_errors(raw: bytes) -> None:
    assert decoded(msgspec.Raw(raw), 3) == ("e", "e", "e")


def test_what_cannot_be_read_of_one_device_costs_no_other() -> None:
    columns = Columns(SERIES[:2], ())
    good, broken = encoded((1.0, 2), False), msgspec.Raw(b"\x92\x01\xc0")
    block = columns.pick(SERIES[:2]).block([good, broken])
    assert block.values[:, 0].tolist() == [1.0, 2.0]
    assert bytes(block.tags[:, 1]) == b"ee"


def test_heads_that_only_add_up_together_are_read_one_by_one() -> None:
    """Two bins of which one is longer and one shorter are as long as two right ones."""
    columns = Columns(SERIES[:2], ())
    right = encoded((1.0, 2), True)
    long, short = msgspec.Raw(b"\xc4\x13" + b"d" * 19), msgspec.Raw(b"\xc4\x11" + b"d" * 17)
    block = columns.pick(SERIES[:2]).block([right, long, short])
    assert block.values[:, 0].tolist() == [1.0, 2.0]
    assert bytes(block.tags[:, 1]) == bytes(block.tags[:, 2]) == b"ee"
