"""npu-exporter repeats the power of a 310P card on each of its chips: it is the card's, counted once."""

import asyncio

import pytest

from accelwatch.base.absence import Absence
from accelwatch.fleet.api.query.totals import counted
from accelwatch.fleet.dialects import read_devices
from accelwatch.fleet.target import targets_of
from accelwatch.schema.metrics import Series
from accelwatch.schema.snapshot import DeviceView
from support.fleet.manual_fleet import Bench

NOW = 1_700_000_000.0
CARD, OTHER = "0000:81:00.0", "0000:c1:00.0"
POWER: Series = ("power_watts",)
BOARD: Series = ("power_component_watts", "board")


def chip(index: int, address: str, watts: float, *, die: str = "") -> str:
    labels = f'id="{index}",model_name="310P3-Ascend-V1",vdie_id="{die}",pcie_bus_info="{address}"'
    return (
        f"npu_chip_info_temperature{{{labels}}} {41 + index} 1700000000123\n"
        f"npu_chip_info_power{{{labels}}} {watts} 1700000000123\n"
    )


def views(page: str) -> tuple[DeviceView, ...]:
    return read_devices(page, NOW).devices


async def _rest() -> None:
    await asyncio.sleep(0)


@pytest.mark.parametrize("dies", [("", ""), ("A-1", "A-2")], ids=["by place", "by die"])
def test_the_power_of_a_card_with_two_chips_is_counted_once(dies: tuple[str, str]) -> None:
    page = chip(0, CARD, 72.5, die=dies[0]) + chip(1, CARD, 72.9, die=dies[1])
    first, second, single = views(page + chip(2, OTHER, 40.0, die="A-3"))
    assert first.reading.values[POWER] == 72.5
    assert POWER not in second.reading.values
    assert second.reading.absent[POWER] is Absence.UNSUPPORTED
    assert [view.reading.values.get(BOARD) for view in (first, second)] == [72.5, 72.5]
    assert single.reading.values[POWER] == 40.0
    assert BOARD not in single.reading.values
    assert first.reading.notes == ("power_watts is that of the whole card: ascend0, ascend1",)
    assert second.reading.notes == (
        "power_watts is only known of the whole card, and counted on ascend0",
    )
    assert single.reading.notes == ()


def test_the_fleet_draws_what_its_cards_draw() -> None:
    bench = Bench()
    bench.fleet.set_targets(targets_of(["a:8082", "b:8082"]))
    page = chip(0, CARD, 72.5) + chip(1, CARD, 72.5) + chip(2, OTHER, 40.0)
    for target in targets_of(["a:8082", "b:8082"]):
        source = bench.fleet.source(target.key)
        assert source is not None
        source.dialect = "npu-exporter"
        bench.fleet.read(target.key, views(page), None, 5.0)
    totals = asyncio.run(counted(bench.fleet, _rest))
    assert totals.numbers()["power_watts"] == 2 * (72.5 + 40.0)
    assert totals.numbers()["devices_total"] == 6


def test_a_read_that_failed_on_the_first_chip_loses_no_power() -> None:
    first, second = views(chip(0, CARD, -1) + chip(1, CARD, 72.5))
    assert first.reading.values[POWER] == 72.5
    assert POWER not in first.reading.absent
    assert POWER not in second.reading.values


def test_a_card_whose_power_no_chip_knows_has_none() -> None:
    for view in views(chip(0, CARD, -1) + chip(1, CARD, -1)):
        assert view.reading.absent[POWER] is Absence.ERROR
        assert BOARD not in view.reading.values
        assert view.reading.notes == ()


def test_pages_that_are_alike_share_no_card() -> None:
    """The second page has another pair behind one function than the first."""
    one = chip(0, CARD, 72.5) + chip(1, CARD, 72.5) + chip(2, OTHER, 40.0)
    two = chip(0, CARD, 72.5) + chip(1, OTHER, 40.0) + chip(2, OTHER, 40.0)
    assert [view.reading.values.get(POWER) for view in views(one)] == [72.5, None, 40.0]
    assert [view.reading.values.get(POWER) for view in views(two)] == [72.5, 40.0, None]
