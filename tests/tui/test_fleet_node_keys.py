"""Keys that open a node of the fleet, or have what has gone of it forgotten."""

import msgspec

from accelwatch.fleet.picture.model import RecentHistory
from accelwatch.tui.widgets.row_list import RowList
from support.dashboards.fleets import FedFleet, FleetStage, fleet_view, names, on
from support.dashboards.local import node as machine
from support.machines.composed import NOW


def test_enter_opens_the_node_and_escape_lets_go_of_it() -> None:
    async def check(stage: FleetStage) -> None:
        await stage.press("down", "enter")
        assert stage.fed.opened == ["n002"]
        stage.app.pull()
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
        stage.app.pull()
        await stage.pilot.pause()
        assert "✕ node down 6 min" in stage.text().splitlines()[0]
        assert "stale     6 min  no data from n003" in stage.line_with("nvidia0")
        assert "%" not in stage.line_with("nvidia1")

    on(check)


def test_graphs_of_an_opened_node_start_with_what_the_hub_remembers() -> None:
    source = FedFleet(fleet_view(1), machine(1))
    assert source.view is not None
    slot = source.view.slots[0]
    assert slot is not None
    source.device_history_answer = RecentHistory(
        step_s=10, end=NOW, values={"power_watts": [None, 120.0, 130.0]}
    )

    async def check(stage: FleetStage) -> None:
        await stage.press("enter")
        await stage.pilot.pause()
        series = stage.app.board.history.series(slot.id, "power_watts", NOW)
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


def test_a_refused_acknowledgement_is_shown() -> None:
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
