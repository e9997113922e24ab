"""The palette: commands of the screen by name, its columns, filters, devices and nodes."""

import asyncio

import pytest
from textual.events import Key

from accelwatch.tui.drawing.lines import plain
from accelwatch.tui.screens.dialogs.palette import EntryRows, PaletteScreen
from accelwatch.tui.state.palette import Entry, matching
from support.dashboards.fleets import FleetStage
from support.dashboards.fleets import on as on_fleet
from support.dashboards.local import Stage, on

ENTRIES = [
    Entry(name="sort left", more="Sort by the column to the left.", run=int),
    Entry(name="next problem", more="The next device.", run=int),
    Entry(name="theme", more="The next theme.", run=int),
    Entry(name="nvidia3", run=int),
]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", ["sort left", "next problem", "theme", "nvidia3"]),
        ("theme", ["theme"]),
        ("next", ["next problem", "theme"]),
        ("left sort", ["sort left"]),
        ("nxpr", ["next problem"]),
        ("NV", ["nvidia3"]),
        ("device", ["next problem"]),
        ("sort zz", []),
    ],
)
def test_a_text_means_the_nearest_names(text: str, names: list[str]) -> None:
    assert [entry.name for entry in matching(ENTRIES, text)] == names


async def typed(stage: Stage, text: str) -> None:
    await stage.press("colon", *(" " if letter == " " else letter for letter in text))


def test_commands_stand_with_their_keys_and_are_done() -> None:
    async def check(stage: Stage) -> None:
        await typed(stage, "topology")
        line = stage.line_with("links, PCIe")
        assert line.rstrip().endswith("L")
        await stage.press("enter")
        assert stage.screen_name == "topology"

    on(check)


def test_what_is_typed_in_one_go_is_not_lost() -> None:
    async def check(stage: Stage) -> None:
        stage.app.post_message(Key("colon", ":"))
        while not isinstance(stage.app.screen, PaletteScreen):
            await asyncio.sleep(0)
        for letter in "topology":
            stage.app.post_message(Key(letter, letter))
        stage.app.post_message(Key("enter", "\r"))
        await stage.pilot.pause()
        assert stage.screen_name == "topology"

    on(check)


def test_only_commands_of_the_screen_are_there_and_esc_does_nothing() -> None:
    async def check(stage: Stage) -> None:
        await typed(stage, "silence")
        assert "no such command" in stage.text()
        await stage.press("escape")
        assert stage.screen_name == "local"
        await typed(stage, "fleet")
        assert "all nodes, worst first" not in stage.text()
        await stage.press("escape")
        await typed(stage, "zzzz")
        await stage.press("enter")
        assert stage.screen_name == "local"

    on(check)


def test_the_second_entry_is_taken_with_down() -> None:
    async def check(stage: Stage) -> None:
        await typed(stage, "processes")
        await stage.press("down", "up", "enter")
        assert stage.screen_name == "processes"

    on(check)


def test_columns_sort_devices_and_processes() -> None:
    async def check(stage: Stage) -> None:
        await typed(stage, "sort by power")
        await stage.press("enter")
        assert stage.app.board.device_sort == "power"
        await typed(stage, "sort by user of processes")
        await stage.press("enter")
        assert stage.app.board.preferences.sort == "user"

    on(check)


def test_a_device_is_gone_to_by_its_name_and_a_text_filters() -> None:
    async def check(stage: Stage) -> None:
        await typed(stage, "nvidia5")
        await stage.press("enter")
        assert stage.app.board.selected_id == "nvidia:5"
        await typed(stage, "filter index<2")
        await stage.press("enter")
        assert len(stage.app.board.devices) == 2
        assert stage.app.board.typed_filters["devices"] == ["index<2"]
        await typed(stage, "index")
        assert "filter index<2" in stage.text()
        await stage.press("escape")
        await typed(stage, "filter index<<")
        assert "no such command" in stage.text()

    on(check)


def test_a_fleet_has_its_columns_and_its_nodes() -> None:
    async def check(stage: FleetStage) -> None:
        await typed(stage, "sort by power")
        await stage.press("enter")
        assert stage.app.board.preferences.fleet_sort == "power"
        await typed(stage, "n003")
        await stage.press("enter")
        assert stage.screen_name == "local"
        assert stage.app.fleet_controller is not None
        assert stage.app.fleet_controller.visited == "n003"

    on_fleet(check)


@pytest.mark.parametrize("width", [70, 80, 160])
def test_a_name_is_whole_and_parted_from_its_sentence(width: int) -> None:
    rows = EntryRows()
    name = "sort by host mem of processes"
    rows.entries = [Entry(name=name, more="Once more: the other way round.", run=int), *ENTRIES]
    assert plain(rows.line(0, width, 0)).startswith(f"  {name}  Once more: the other way")
    assert plain(rows.line(1, width, 0)).index("Sort by") == len(name) + 4
