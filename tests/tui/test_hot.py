"""A device near its own limit is a class of its own: counted, sorted, found, on every picture."""

import asyncio

import msgspec
import pytest

from accelwatch.fleet.picture.model import (
    TEMPERATURE,
    TEMPERATURE_HEADROOM,
    TEMPERATURE_LIMIT,
    FleetView,
)
from accelwatch.fleet.picture.tally import device_class as fleet_class
from accelwatch.schema.health import Health
from accelwatch.schema.snapshot import DeviceView
from accelwatch.tui.drawing.device_signs import device_class
from accelwatch.tui.local.devices.sorting import ordered
from support.dashboards.fleets import FedFleet, fleet_view, following, names
from support.dashboards.local import FedSource, busy_view, lost, node, running


def hot(index: int, celsius: float = 91.0) -> DeviceView:
    """A card whose limit is 89."""
    one = busy_view(index)
    values = {
        **one.reading.values,
        ("temperature_celsius", "gpu"): celsius,
        ("temperature_limit_celsius", "gpu", "slowdown"): 89,
    }
    return msgspec.structs.replace(one, reading=msgspec.structs.replace(one.reading, values=values))


def test_only_what_is_well_is_hot() -> None:
    assert device_class(hot(1)) == "hot"
    assert device_class(hot(1, 60.0)) == "ok"
    sick = msgspec.structs.replace(hot(1), health=Health.FAILED, health_reasons=("it is broken",))
    assert device_class(sick) == "failed"
    assert device_class(lost(1)) == "lost"


def test_it_stands_after_faults_and_before_what_is_well() -> None:
    shot = node(6, d2=hot(2), d4=lost(4))
    first = [one.device.name for one in ordered(shot.devices, "state", descending=True)][:2]
    assert first == ["nvidia4", "nvidia2"]


def test_it_is_counted_in_the_header_and_found_by_its_word() -> None:
    async def go() -> None:
        async with running(FedSource(node(8, d2=hot(2), d4=lost(4))), (120, 30)) as stage:
            header = stage.text().splitlines()[0]
            assert header.index("1 lost") < header.index("1 hot") < header.index("6 ok")
            assert "△ hot" in stage.line_with("nvidia2")
            await stage.press("slash", *"hot", "enter")
            assert [view.device.name for view in stage.app.board.devices] == ["nvidia2"]

    asyncio.run(go())


def fleet(readings: dict[int, float]) -> FleetView:
    """Twelve nodes, of which one device of n007 tells this and one of n004 is lost."""
    view = fleet_view(12, faults={"n004/1": "lost"})
    slots = {slot.slot: slot for slot in view.slots if slot is not None}
    devices = [
        msgspec.structs.replace(
            now, values=tuple(readings.get(at, value) for at, value in enumerate(now.values))
        )
        if (slots[now.slot].node, slots[now.slot].index) == ("n007", 3)
        else now
        for now in view.devices
    ]
    return msgspec.structs.replace(view, devices=devices)


@pytest.mark.parametrize("readings", [{TEMPERATURE: 88.0}, {TEMPERATURE_HEADROOM: 3.0}])
def test_a_fleet_counts_sorts_and_finds_it_too(readings: dict[int, float]) -> None:
    async def go() -> None:
        async with following(FedFleet(fleet(readings)), (160, 30)) as stage:
            assert "△ 1 hot" in stage.line_with("devices")
            assert "△ nvidia3 hot" in stage.line_with("n007")
            assert names(stage)[:2] == ["n004", "n007"]
            await stage.press("slash", *"hot", "enter")
            assert names(stage) == ["n007"]
            assert "△ 1 hot" not in stage.line_with("devices")
            await stage.press("escape", "m")
            assert "△ hot" in stage.line_with(" n007 ")

    asyncio.run(go())


def test_a_distance_that_is_no_small_one_is_not_hot() -> None:
    view = fleet({TEMPERATURE_HEADROOM: 20.0})
    assert {fleet_class(now) for now in view.devices} == {"ok", "lost"}
    limitless = fleet({TEMPERATURE_HEADROOM: 2.0}).devices[6 * 8 + 3]
    values = (*limitless.values[:TEMPERATURE_LIMIT], None, 2.0)
    assert fleet_class(msgspec.structs.replace(limitless, values=values)) == "hot"
