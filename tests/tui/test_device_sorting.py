"""A click on a heading of the devices sorts them; a third one leaves them as the machine has them."""

import asyncio

import pytest

from accelwatch.tui.drawing.glyphs import UNICODE
from accelwatch.tui.drawing.lines import plain
from accelwatch.tui.local.devices import rows as device_rows
from accelwatch.tui.local.devices.sorting import MACHINE, SORTS, following, ordered
from support.dashboards.local import JOB, FedSource, Stage, hung, lost, node, owned, running

SHOT = node(12, d3=lost(3), d5=hung(5))


def names(stage: Stage) -> list[str]:
    return [view.device.name for view in stage.app.board.devices]


async def click(stage: Stage, title: str) -> None:
    """A click on the heading of the devices."""
    heading = next(line for line in stage.text().splitlines() if "DEVICE" in line)
    await stage.pilot.click("#devices", offset=(heading.index(title) + 1, 0))
    await stage.pilot.pause()


@pytest.mark.parametrize("size", [(80, 30), (120, 40), (200, 50)])
def test_clicks_sort_turn_round_and_leave_alone(size: tuple[int, int]) -> None:
    async def go() -> None:
        async with running(FedSource(SHOT), size) as stage:
            machine = names(stage)
            await click(stage, "LOAD")
            loads = [
                view.reading.values.get(("utilization_ratio",)) for view in stage.app.board.devices
            ]
            known = [load for load in loads if load is not None]
            assert known == sorted(known, reverse=True)
            assert loads[-2:] == [None, None]
            assert "▾" in stage.line_with("DEVICE")
            await click(stage, "LOAD")
            assert "▴" in stage.line_with("DEVICE")
            await click(stage, "LOAD")
            assert names(stage) == machine
            assert "▾" not in stage.line_with("DEVICE")

    asyncio.run(go())


def test_the_worst_comes_first_by_state_and_the_selection_stays() -> None:
    async def go() -> None:
        async with running(FedSource(SHOT)) as stage:
            await stage.press("down", "down")
            chosen = stage.app.board.selected_id
            await click(stage, "STATE")
            assert names(stage)[:2] == ["nvidia3", "nvidia5"]
            assert stage.app.board.selected_id == chosen
            await stage.feed(node(12, d7=lost(7)))
            assert names(stage)[0] == "nvidia7"
            assert stage.app.board.selected_id == chosen

    asyncio.run(go())


def test_names_are_in_natural_order_either_way() -> None:
    async def go() -> None:
        async with running(FedSource(SHOT)) as stage:
            await click(stage, "DEVICE")
            assert names(stage)[-1] == "nvidia11"
            await click(stage, "DEVICE")
            assert names(stage)[:3] == ["nvidia11", "nvidia10", "nvidia9"]

    asyncio.run(go())


@pytest.mark.parametrize("sort", SORTS)
@pytest.mark.parametrize("descending", [True, False])
def test_every_column_orders_every_device(sort: str, descending: bool) -> None:
    views = owned(SHOT, JOB).devices
    found = ordered(views, sort, descending=descending)
    assert sorted(view.device.id for view in found) == sorted(view.device.id for view in views)


def test_clicks_in_turn() -> None:
    assert following(MACHINE, True, "power") == ("power", True)
    assert following("power", True, "power") == ("power", False)
    assert following("power", False, "power") == (MACHINE, True)
    assert following("power", False, "name") == ("name", False)
    assert following("name", False, "name") == ("name", True)
    assert following("name", True, "name") == (MACHINE, True)
    assert following("power", True, "") == ("power", True)


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
@pytest.mark.parametrize("with_owner", [True, False])
def test_every_heading_sorts_by_its_own_column(width: int, with_owner: bool) -> None:
    for column, _ in device_rows.layout(width - 1, owned=with_owner):
        assert column.sort in SORTS
        text = plain(device_rows.heading(width, UNICODE, owned=with_owner))
        if column.title:
            x = text.index(column.title)
            assert device_rows.sort_at(width, x, owned=with_owner) == column.sort
        shown = plain(device_rows.heading(width, UNICODE, owned=with_owner, sort=column.sort))
        assert ("▾" in shown) is bool(column.title)
    assert device_rows.sort_at(width, width + 50, owned=with_owner) == ""
