"""Keys of the Fleet screen: groups, filters, lights, events."""

import json

import msgspec
import pytest

from accelwatch.tui.screens.fleet import FleetScreen
from accelwatch.tui.widgets.row_list import RowList
from support.dashboards.fleets import FedFleet, FleetStage, fleet_view, names, on


def test_grouping_goes_round_and_groups_are_folded() -> None:
    async def check(stage: FleetStage) -> None:
        preferences = stage.app.board.preferences
        await stage.press("t")
        assert preferences.fleet_group == "rack"
        assert names(stage) == ["<r01>", "<r02>"]
        assert "▸ r01 8n" in stage.text()
        await stage.press("enter")
        assert names(stage)[:3] == ["<r01>", "n003", "n002"]
        assert "▾ r01 8n" in stage.text()
        await stage.press("space", "right")
        assert len(names(stage)) == 10
        await stage.press("left")
        assert names(stage) == ["<r01>", "<r02>"]
        await stage.press("t", "t")
        assert preferences.fleet_group == "job"
        assert "<48101>" in names(stage)
        assert "no job" in stage.text()
        await stage.press("t")
        assert set(names(stage)) == {"<>", "<ada>", "<barbara>", "<grace>", "<linus>"}
        await stage.press("t")
        assert preferences.fleet_group == "none"

    on(check)


def test_groups_show_the_totals_of_users() -> None:
    async def check(stage: FleetStage) -> None:
        assert stage.app.fleet_controller is not None
        groups = {row.group: row for row in stage.app.fleet_controller.board.groups}
        ada = groups["ada"]
        assert (len(ada.members), ada.total, ada.bad) == (2, 16, 2)
        assert ada.power == pytest.approx(sum(row.power or 0 for row in ada.members))
        assert "48100" in stage.line_with("▸ ada")

    on(check, fleet_group="user")


def test_any_label_can_be_grouped_by() -> None:
    async def check(stage: FleetStage) -> None:
        await stage.press("b")
        assert "pool" in stage.text()
        rows = stage.app.screen.query_one(RowList)
        await stage.press(*["down"] * (rows.rows.position_of("pool") or 0), "enter")
        assert stage.app.board.preferences.fleet_group == "pool"
        assert set(names(stage)) == {"<train>", "<serve>"}
        await stage.press("b", "escape")
        assert stage.app.board.preferences.fleet_group == "pool"

    on(check)


def test_plain_text_is_looked_for_here() -> None:
    async def check(stage: FleetStage) -> None:
        await stage.press("slash", *"grace", "enter")
        assert set(names(stage)) == {"n003", "n004", "n011"}
        assert "filter grace (3 nodes)" in stage.text()
        await stage.press("escape")
        assert len(names(stage)) == 12
        await stage.press("slash", *"lost", "enter")
        assert names(stage) == ["n002"]
        assert "0/2" in stage.line_with("n002")

    assert on(check).filters == []


def test_a_condition_is_the_hubs_to_look_for() -> None:
    async def check(stage: FleetStage) -> None:
        await stage.press("slash", *'rack=="r01"and power_watts>300', "enter")
        assert stage.fed.filters == ['rack=="r01"and power_watts>300']
        assert "(asking the hub)" in stage.text()
        await stage.press("escape")
        assert stage.fed.filters[-1] == ""
        await stage.press("slash", *'rak=="r01"', "enter")
        assert stage.screen_name == "FilterScreen"
        assert "unknown name rak" in stage.text()
        await stage.press("escape")

    on(check)


def test_the_map_has_a_light_for_each_device() -> None:
    async def check(stage: FleetStage) -> None:
        await stage.press("m")
        assert stage.line_with(" n003 ").count("? unreachable") == 8
        assert stage.line_with(" n012 ").rstrip().endswith("○ never")
        assert "n003" in stage.text().splitlines()[-4]
        await stage.press("home", *["right"] * 8)
        assert "n002  ● up" in stage.text()
        await stage.press("right", "right", "right")
        assert "nvidia3  ✕ lost" in stage.text()
        await stage.press("end")
        assert "no device is known" in stage.text()
        await stage.press("left")
        assert "n011" in stage.text().splitlines()[-4]
        await stage.press("m")
        assert "STATE▾" in stage.text()
        assert stage.app.screen.query_one("#nodes", RowList).selected_key == ("", "n011")

    on(check)


def test_up_and_down_in_the_map_keep_the_column() -> None:
    async def check(stage: FleetStage) -> None:
        cell = stage.app.screen.lights  # type: ignore[attr-defined]  # a FleetScreen
        await stage.press("right", "right", "down")
        assert cell.cell[1] == cell.grid.shape.columns * 8 + 2
        await stage.press("pagedown", "up", "down")
        assert cell.cell[1] % 8 == 2
        await stage.press("pageup", "g")
        assert cell.cell[1] == 0

    on(check, source=FedFleet(fleet_view(40)), fleet_form="grid")


def test_the_lights_have_the_focus_before_the_list_is_hidden() -> None:
    async def check(stage: FleetStage) -> None:
        screen = stage.app.screen
        assert isinstance(screen, FleetScreen)
        assert screen.nodes.has_focus
        stage.app.board.preferences.fleet_form = "grid"
        screen.arranged()
        assert screen.focused is screen.lights
        await stage.press("home")
        assert screen.lights.has_focus

    on(check)


def test_lights_show_load_memory_or_temperature() -> None:
    async def check(stage: FleetStage) -> None:
        seen = []
        for _ in range(3):
            await stage.press("M")
            seen.append((stage.app.board.preferences.fleet_shade, stage.line_with("n001 ")))
        assert [name for name, _ in seen] == ["memory", "temperature", "load"]
        assert len({line for _, line in seen}) == 3

    on(check, fleet_form="grid")


def test_events_are_below_the_nodes_and_lead_to_theirs() -> None:
    async def check(stage: FleetStage) -> None:
        await stage.press("E")
        assert "5 events, newest first" in stage.text()
        assert "xid_79" in stage.text()
        await stage.press("end", "down", "down")
        assert stage.app.screen.on_events  # type: ignore[attr-defined]  # a FleetScreen
        await stage.press("up", "up")
        assert not stage.app.screen.on_events  # type: ignore[attr-defined]  # a FleetScreen
        await stage.press("down", "enter")
        assert stage.fed.opened == ["n005"]
        await stage.press("escape", "E")
        assert "newest first" not in stage.text()

    on(check)


def test_copying_a_node_a_group_and_a_light(monkeypatch: pytest.MonkeyPatch) -> None:
    async def check(stage: FleetStage) -> None:
        copied: list[str] = []
        monkeypatch.setattr(stage.app, "copy_to_clipboard", copied.append)
        await stage.press("y", "Y", "t", "y", "m", "home", "y", "Y")
        assert copied[0] == "n003"
        assert json.loads(copied[1])["state"] == "down"
        assert copied[2:4] == ["r01", "GPU-000000"]
        assert json.loads(copied[4])["node"] == "n001"

    on(check)


def test_problems_of_the_hub_are_shown_in_full() -> None:
    problems = (
        "dns agents.svc: no answer within 5 s",
        "the inventory cannot be kept: " + "x " * 90,
    )
    view = fleet_view()
    sums = msgspec.structs.replace(view.sums, problems=problems)

    async def check(stage: FleetStage) -> None:
        await stage.press("exclamation_mark")
        assert stage.screen_name == "problems"
        screen = " ".join(stage.text().split())
        assert all(text.strip() in screen for text in problems)
        await stage.tick(view)
        assert "hub OK: no problems" in stage.text()
        await stage.press("escape", "exclamation_mark")
        assert stage.screen_name == "fleet"
        assert "hub OK: no problems" in stage.text()

    source = FedFleet(msgspec.structs.replace(view, sums=sums))
    on(check, source=source, size=(80, 24))
