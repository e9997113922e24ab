"""Rows of nodes and devices, and since when they are others."""

import math

import numpy as np
import pytest

from accelwatch.fleet.detection.identities import DeviceRows, NodeRows
from accelwatch.fleet.rules.columns.columns import Texts, factored

NAN = math.nan


def test_a_node_keeps_its_row_and_a_free_row_is_given_again() -> None:
    rows = NodeRows()
    assert rows.assign(["a", "b", "c"]).tolist() == [True, True, True]
    assert rows.assign(["c", "a"]).tolist() == [False, False, False]
    assert rows.names == ["a", "", "c"]
    assert (rows.row("b"), rows.row("c")) == (-1, 2)

    assert rows.assign(["a", "c", "e", "d"]).tolist() == [False, True, False, True]
    assert rows.names == ["a", "e", "c", "d"]
    assert rows.generation.tolist() == [1, 2, 1, 1]


@pytest.mark.parametrize(
    ("uptime", "booted"),
    [
        (1060.0, False),
        # A sample that is late, or one that was kept.
        (1000.0, False),
        (900.0, False),
        (NAN, False),
        (30.0, True),
    ],
)
def test_a_boot_is_a_boot_time_that_has_moved(uptime: float, booted: bool) -> None:
    rows = NodeRows()
    rows.assign(["a"])
    assert not rows.boot(5000.0, np.array([1000.0])).any()

    assert rows.boot(5060.0, np.array([uptime])).tolist() == [booted]
    assert rows.generation.tolist() == [2 if booted else 1]
    assert not rows.boot(5090.0, np.array([uptime + 30.0])).any()


def test_a_boot_behind_a_silence_is_seen() -> None:
    rows = NodeRows()
    rows.assign(["a"])
    rows.boot(5000.0, np.array([1000.0]))
    rows.boot(5600.0, np.array([NAN]))

    assert rows.boot(6000.0, np.array([60.0])).tolist() == [True]


def test_another_node_in_a_row_has_not_booted() -> None:
    rows = NodeRows()
    rows.assign(["a"])
    rows.boot(5000.0, np.array([1000.0]))
    rows.assign(["b"])

    assert not rows.boot(5030.0, np.array([10.0])).any()


def texts(*words: str | None) -> Texts:
    return factored(list(words))


@pytest.mark.parametrize(("serial", "changed"), [("s1", False), ("s2", True), (None, False)])
def test_another_serial_number_is_another_device(serial: str | None, changed: bool) -> None:
    rows = DeviceRows()
    rows.update([texts("a"), texts("s1")], 1)

    assert rows.update([texts("a"), texts(serial)], 1).tolist() == [changed]
    # It comes back, and what it did not say meanwhile made it no other.
    back = rows.update([texts("a"), texts(serial or "s1")], 1)
    assert not back.any()
    assert rows.generation.tolist() == [int(changed)]


def test_what_was_not_known_before_makes_no_other() -> None:
    rows = DeviceRows()
    rows.update([texts(None)], 1)
    assert not rows.update([texts("a")], 1).any()


def test_rows_become_more() -> None:
    rows = DeviceRows()
    same = texts("a", "b", "c")
    rows.update([same], 2)
    assert rows.update([same], 3).tolist() == [False] * 3
    rows.add(np.array([False, True, False]))
    assert rows.generation.tolist() == [0, 1, 0]
