"""Keys of the Fleet screen: screens, moving, sorting, copying, the mouse, settings."""

import asyncio
from pathlib import Path

import pytest

from accelwatch.tui.widgets.row_list import RowList
from support.dashboards.fleets import FedFleet, FleetStage, fleet_view, following, names, on
from support.dashboards.local import FedSource, running
from support.dashboards.local import node as machine


def test_it_starts_on_the_fleet_with_the_worst_node_first() -> None:
    async def check(stage: FleetStage) -> None:
        assert stage.screen_name == "fleet"
        assert names(stage)[:4] == ["n003", "n002", "n006", "n009"]
        assert names(stage)[-3:] == ["n008", "n011", "n012"]
        assert "✕ down   n003" in stage.text()
        assert "✕ 2 lost" in stage.line_with("n002")

    assert on(check).ended


@pytest.mark.parametrize(
    ("keys", "name"),
    [
        (["2"], "fleet"),
        (["1"], "local"),
        (["3"], "device"),
        (["4"], "processes"),
        (["6"], "doctor"),
        (["tab"], "device"),
        (["shift+tab"], "local"),
        (["enter"], "local"),
        (["enter", "escape"], "fleet"),
        (["enter", "2"], "fleet"),
        (["enter", "4"], "processes"),
        (["question_mark", "escape"], "fleet"),
        (["f2", "escape"], "fleet"),
        (["escape"], "fleet"),
    ],
)
def test_keys_lead_to_screens(keys: list[str], name: str) -> None:
    async def check(stage: FleetStage) -> None:
        await stage.press(*keys)
        assert stage.screen_name == name

    on(check)


def test_one_machine_has_no_fleet_and_key_2_says_how_to_get_one() -> None:
    async def go() -> None:
        async with running(FedSource(machine())) as stage:
            assert "2 fleet" not in stage.text()
            await stage.press("2")
            assert stage.screen_name == "local"
            assert "accelwatch fleet --targets" in stage.text()
            await stage.press("question_mark")
            assert "acknowledge" not in stage.text()

    asyncio.run(go())


def test_moving_in_the_list() -> None:
    async def check(stage: FleetStage) -> None:
        rows = stage.app.screen.query_one("#nodes", RowList)
        await stage.press("down", "j")
        assert rows.selected_key == ("", "n006")
        await stage.press("k", "up")
        assert rows.selected_key == ("", "n003")
        await stage.press("G")
        assert rows.selected_key == ("", "n012")
        await stage.press("home", "pagedown")
        assert rows.selected_key == ("", "n012")
        await stage.press("pageup")
        assert rows.selected_key == ("", "n003")

    on(check)


def test_the_selection_stays_with_its_node_when_the_order_changes() -> None:
    async def check(stage: FleetStage) -> None:
        await stage.press("end", "up")
        await stage.tick(fleet_view(faults={"n011": "down"}))
        rows = stage.app.screen.query_one("#nodes", RowList)
        assert rows.selected_key == ("", "n011")
        assert rows.cursor == 0

    on(check)


def test_sorting_by_picker_keys_reverse_and_heading() -> None:
    async def check(stage: FleetStage) -> None:
        preferences = stage.app.board.preferences
        await stage.press("greater_than_sign")
        assert (preferences.fleet_sort, preferences.fleet_descending) == ("node", False)
        assert names(stage)[:3] == ["n001", "n002", "n003"]
        await stage.press("r")
        assert names(stage)[0] == "n012"
        await stage.press("less_than_sign", "s")
        assert stage.screen_name == "ChoiceScreen"
        await stage.press("end", *["down"] * 6, "enter")
        assert preferences.fleet_sort == "power"
        assert names(stage)[0] == "n007"
        assert set(names(stage)[-3:]) == {"n003", "n005", "n012"}
        await stage.press("f6", "escape")
        heading = stage.line_with("LOAD")
        line = next(n for n, row in enumerate(stage.text().splitlines()) if "LOAD" in row)
        await stage.pilot.click(offset=(heading.index("LOAD"), line))
        await stage.pilot.pause()
        assert preferences.fleet_sort == "load"
        assert "LOAD▾" in stage.text()

    on(check)


def test_pause_holds_the_picture_of_the_fleet() -> None:
    async def check(stage: FleetStage) -> None:
        await stage.press("p")
        assert "paused" in stage.text()
        await stage.tick(fleet_view(3))
        assert len(names(stage)) == 12
        await stage.press("p")
        assert len(names(stage)) == 3

    on(check)


def test_faster_and_slower_set_the_interval_of_the_picture() -> None:
    async def check(stage: FleetStage) -> None:
        assert stage.fed.interval_s == 1.0
        await stage.press("minus")
        assert stage.fed.interval_s == 2.0
        await stage.press("plus", "equals_sign")
        assert stage.fed.interval_s == 0.5

    on(check)


def test_the_mouse_selects_opens_and_scrolls() -> None:
    async def check(stage: FleetStage) -> None:
        line = next(n for n, row in enumerate(stage.text().splitlines()) if "n006" in row)
        await stage.pilot.click(offset=(20, line))
        assert stage.app.screen.query_one("#nodes", RowList).selected_key == ("", "n006")
        await stage.pilot.click(offset=(20, line))
        await stage.pilot.pause()
        assert stage.fed.opened == ["n006"]
        await stage.press("escape", "m")
        text = stage.text().splitlines()
        line = next(n for n, row in enumerate(text) if row.startswith(" n002"))
        await stage.pilot.click(offset=(text[line].index("✕"), line))
        await stage.pilot.pause()
        assert "nvidia3  ✕ lost" in stage.text()
        await stage.pilot.click(offset=(text[line].index("✕"), line))
        await stage.pilot.pause()
        assert stage.fed.opened[-1] == "n002"

    on(check)


def test_settings_of_the_fleet_are_kept_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "dashboard.yaml"

    async def go() -> None:
        async with following(FedFleet(fleet_view()), path=path) as stage:
            await stage.press("t", "m", "M", "E", "f2", "end", "enter")
            assert "written to" in stage.text()

    asyncio.run(go())
    text = path.read_text()
    for line in ("fleet_group: rack", "fleet_form: grid", "fleet_shade: memory"):
        assert line in text
    assert "fleet_events: true" in text
