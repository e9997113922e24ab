"""Every key of the Fleet screen does what the table says, on a running dashboard."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from accelwatch.tui.fleet.model import Past
from accelwatch.tui.widgets.row_list import RowList
from dashboards import FedSource, board_of, running
from dashboards import node as machine
from fleets import FAULTS, FedFleet, FleetStage, event, fleet_view, following
from machines import NOW

Check = Callable[[FleetStage], Awaitable[None]]


def on(
    check: Check,
    *,
    size: tuple[int, int] = (140, 40),
    source: FedFleet | None = None,
    readonly: bool = False,
    **preferences: Any,
) -> FedFleet:
    """Run a check on the dashboard of a fleet with one of each fault."""
    fed = source or FedFleet(fleet_view(faults=FAULTS, events=[event(n) for n in range(5)]))

    async def go() -> None:
        board = board_of(**preferences)
        async with following(fed, size, board=board, readonly=readonly) as stage:
            await check(stage)

    asyncio.run(go())
    return fed


def names(stage: FleetStage) -> list[str]:
    """Nodes, or groups, in the order of the list."""
    assert stage.app.desk is not None
    return [row.node or f"<{row.group}>" for row in stage.app.desk.board.rows]


def test_it_begins_on_the_fleet_with_the_worst_node_first() -> None:
    async def check(stage: FleetStage) -> None:
        assert stage.screen_name == "fleet"
        assert names(stage)[:4] == ["n003", "n002", "n006", "n009"]
        assert names(stage)[-3:] == ["n001", "n008", "n011"]
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


def test_enter_opens_the_node_and_escape_lets_go_of_it() -> None:
    async def check(stage: FleetStage) -> None:
        await stage.press("down", "enter")
        assert stage.fed.opened == ["n002"]
        stage.app.take()
        await stage.pilot.pause()
        head = stage.text().splitlines()
        assert "n002" in head[0]
        assert "● node up 0.7 s" in head[0]
        assert "Esc back" in head[1]
        assert "nvidia0" in stage.text()
        await stage.press("K")
        assert "another machine's processes cannot be signalled" in stage.text()
        await stage.press("escape")
        assert stage.screen_name == "fleet"
        assert stage.fed.sources[0].ended
        assert names(stage)[1] == "n002"
        await stage.press("enter")
        assert stage.fed.opened == ["n002", "n002"]

    on(check)


def test_a_silent_node_is_opened_with_its_age_and_without_values_of_now() -> None:
    async def check(stage: FleetStage) -> None:
        await stage.press("enter")
        stage.app.take()
        await stage.pilot.pause()
        assert "✕ node down 6 min" in stage.text().splitlines()[0]
        assert "stale     for 6 min · nothing was heard of n003" in stage.line_with("nvidia0")
        assert "%" not in stage.line_with("nvidia1")

    on(check)


def test_graphs_of_an_opened_node_begin_with_what_the_hub_remembers() -> None:
    source = FedFleet(fleet_view(1), machine(1))
    assert source.view is not None
    place = source.view.places[0]
    assert place is not None
    source.past_of = Past(step_s=10, end=NOW, values={"power_watts": [None, 120.0, 130.0]})

    async def check(stage: FleetStage) -> None:
        await stage.press("enter")
        await stage.pilot.pause()
        series = stage.app.board.history.series(place.id, "power_watts", NOW)
        assert [value for value in series if value == value][-1] == 130.0
        assert next(value for value in series if value == value) == 120.0

    on(check, source=source)


def test_an_opened_device_is_the_one_under_the_cursor() -> None:
    shot = machine(1)
    device = msgspec.structs.replace(shot.devices[0].device, id="nvidia:GPU-000002")
    third = msgspec.structs.replace(shot.devices[0], device=device)
    devices = (*shot.devices, third)
    source = FedFleet(fleet_view(2), msgspec.structs.replace(shot, devices=devices))

    async def check(stage: FleetStage) -> None:
        await stage.press("m", "home", "right", "right", "3")
        assert stage.fed.opened == ["n001"]
        assert stage.app.board.selected_id == "nvidia:GPU-000002"

    on(check, source=source)


def test_moving_in_the_list() -> None:
    async def check(stage: FleetStage) -> None:
        rows = stage.app.screen.query_one("#nodes", RowList)
        await stage.press("down", "j")
        assert rows.selected_key == ("", "n006")
        await stage.press("k", "up")
        assert rows.selected_key == ("", "n003")
        await stage.press("G")
        assert rows.selected_key == ("", "n011")
        await stage.press("home", "pagedown")
        assert rows.selected_key == ("", "n011")
        await stage.press("pageup")
        assert rows.selected_key == ("", "n003")

    on(check)


def test_the_selection_stays_with_its_node_when_the_order_changes() -> None:
    async def check(stage: FleetStage) -> None:
        await stage.press("end")
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


def test_groups_tell_the_totals_of_users() -> None:
    async def check(stage: FleetStage) -> None:
        assert stage.app.desk is not None
        groups = {row.group: row for row in stage.app.desk.board.groups}
        ada = groups["ada"]
        assert (len(ada.members), ada.whole, ada.bad) == (2, 16, 2)
        assert ada.power == pytest.approx(sum(row.power or 0 for row in ada.members))
        assert "48100" in stage.line_with("▸ ada")

    on(check, fleet_group="user")


def test_any_label_can_be_grouped_by() -> None:
    async def check(stage: FleetStage) -> None:
        await stage.press("b")
        assert "pool" in stage.text()
        rows = stage.app.screen.query_one(RowList)
        await stage.press(*["down"] * (rows.rows.place("pool") or 0), "enter")
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
        assert stage.screen_name == "PromptScreen"
        assert "unknown name rak" in stage.text()
        await stage.press("escape")

    on(check)


def test_the_map_has_a_light_for_each_device() -> None:
    async def check(stage: FleetStage) -> None:
        await stage.press("m")
        line = stage.line_with("n001  ")
        assert "×××××××× " in line
        assert line.rstrip().endswith("○")
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
        assert cell.cell[1] == 14 * 8 + 2
        await stage.press("pagedown", "up", "down")
        assert cell.cell[1] % 8 == 2
        await stage.press("pageup", "g")
        assert cell.cell[1] == 0

    on(check, source=FedFleet(fleet_view(40)), fleet_form="grid")


def test_lights_show_load_memory_or_temperature() -> None:
    async def check(stage: FleetStage) -> None:
        seen = []
        for _ in range(3):
            await stage.press("M")
            seen.append((stage.app.board.preferences.fleet_shade, stage.line_with("n001  ")))
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


def test_what_is_missing_is_acknowledged_after_a_question() -> None:
    async def check(stage: FleetStage) -> None:
        await stage.press("down", "A")
        assert "n002: no device is missing" in stage.text()
        await stage.press("down", "A")
        assert stage.screen_name == "ChoiceScreen"
        assert stage.app.screen.query_one(RowList).selected_key == ""
        await stage.press("enter")
        assert stage.fed.acknowledged == []
        await stage.press("A", "down", "enter")
        await stage.pilot.pause()
        assert stage.fed.acknowledged == [("n006", None)]
        assert "n006: 1 device is not expected any more" in stage.text()

    on(check)


def test_one_missing_device_is_acknowledged_from_its_light() -> None:
    async def check(stage: FleetStage) -> None:
        await stage.press("slash", *"n006", "enter", "end", "A", "down", "enter")
        await stage.pilot.pause()
        assert stage.fed.acknowledged == [("n006", "nvidia:GPU-000047")]

    on(check, fleet_form="grid")


def test_a_refused_acknowledgement_is_told() -> None:
    async def check(stage: FleetStage) -> None:
        stage.fed.refusal = "the hub wants a password"
        await stage.press("A", "down", "enter")
        await stage.pilot.pause()
        assert "not acknowledged: the hub wants a password" in stage.text()

    on(check)


def test_readonly_acknowledges_nothing() -> None:
    async def check(stage: FleetStage) -> None:
        await stage.press("A")
        assert "nothing is acknowledged (--readonly)" in stage.text()

    on(check, readonly=True)


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
        line = next(n for n, row in enumerate(text) if row.startswith(" n001"))
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
