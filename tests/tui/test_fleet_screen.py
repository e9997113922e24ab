"""What the Fleet screen shows at every size and in every theme, and when the hub is silent."""

import asyncio
from typing import Any

import msgspec
import pytest

from accelwatch.fleet.picture.model import FleetView, Problem
from accelwatch.schema.status.verdict import CHECK_COLLECTION, REMEDIES
from accelwatch.tui.app import Dashboard
from accelwatch.tui.theme.palettes import PALETTES
from accelwatch.tui.widgets.row_list import RowList
from support.dashboards.fleets import FAULTS, FedFleet, FleetStage, event, fleet_view, following, on
from support.dashboards.local import board_of, empty_node
from support.incidents.incident_documents import fleet_with_incidents, incident_now
from support.incidents.incident_samples import incident
from support.machines.composed import NOW

SIZES = [(40, 12), (40, 24), (60, 20), (80, 24), (120, 40), (200, 60)]
FORMS = ("", "m", "t", "E", "t m E")


@pytest.mark.parametrize("size", SIZES, ids=lambda size: "x".join(map(str, size)))
@pytest.mark.parametrize("keys", FORMS)
def test_every_form_fits_every_size(size: tuple[int, int], keys: str) -> None:
    async def go() -> None:
        view = fleet_view(40, faults=FAULTS, events=[event(n) for n in range(9)])
        async with following(FedFleet(view), size) as stage:
            await stage.press(*keys.split(), "down", "end")
            lines = stage.text().splitlines()
            assert len(lines) == size[1]
            assert all(len(line) == size[0] for line in lines)
            assert "40 nodes" in stage.text()

    asyncio.run(go())


@pytest.mark.parametrize("theme", PALETTES)
def test_every_theme_shows_states_in_words_and_signs(theme: str) -> None:
    async def go() -> None:
        source = FedFleet(fleet_view(12, faults=FAULTS))
        async with following(source, board=board_of(theme=theme)) as stage:
            text = stage.text()
            for word in ("✕ down", "◔ stale", "○ never", "◐ slow", "● up", "✕ 2 lost"):
                assert word in text
            for word in ("□ nvidia7 missing", "▼ nvidia2 failed", "▲ nvidia1 degraded"):
                assert word in text
            await stage.press("m", "t", "E")

    asyncio.run(go())


@pytest.mark.parametrize("keys", ["", "m", "t enter", "E", "A", "b", "s", "slash", "question_mark"])
def test_ascii_mode_draws_nothing_else(keys: str) -> None:
    async def go() -> None:
        view = fleet_view(12, faults=FAULTS, events=[event()])
        async with following(FedFleet(view), board=board_of(ascii_only=True)) as stage:
            await stage.press(*keys.split())
            assert stage.text().isascii()

    asyncio.run(go())


def test_on_forty_columns_the_worst_comes_first_with_what_is_wrong() -> None:
    async def go() -> None:
        async with following(FedFleet(fleet_view(12, faults=FAULTS)), (40, 14)) as stage:
            rows = stage.rows()
            assert "n003" in rows[0]
            assert "✕" in rows[0]
            assert "6/8" in rows[1]
            assert "✕ 2 lost" in rows[1]

    asyncio.run(go())


def test_before_the_first_tick_the_screen_waits() -> None:
    async def go() -> None:
        async with following(FedFleet(None)) as stage:
            assert "waiting for the hub" in stage.text()
            assert "no picture of the fleet yet" in stage.text()
            await stage.press("down", "enter", "m", "t", "E", "A", "y", "3")
            assert stage.screen_name == "fleet"
            assert "choose a node first" in stage.text()
            await stage.tick(fleet_view(3))
            assert "n001" in stage.text()

    asyncio.run(go())


def test_a_hub_that_never_answered_is_shown_with_its_reason() -> None:
    async def go() -> None:
        source = FedFleet(None)
        source.trouble = Problem(text="hub:9878 refuses the connection", since=NOW - 30)
        async with following(source) as stage:
            assert "✕ for 30 s: hub:9878 refuses the connection" in stage.text()

    asyncio.run(go())


def test_when_the_hub_falls_silent_ages_grow_and_nothing_is_live() -> None:
    async def go() -> None:
        source = FedFleet(fleet_view(12, faults=FAULTS))
        async with following(source) as stage:
            await stage.wait(5.0)
            assert "● up" in stage.line_with("n001")
            assert "5.7 s" in stage.line_with("n001")
            source.trouble = Problem(text="connection refused", since=NOW)
            await stage.wait(60.0)
            assert "for 65 s: connection refused; showing data from 08:00:00" in stage.text()
            assert "◔ stale" in stage.line_with("n001")
            assert "66 s" in stage.line_with("n001")
            assert "✕ down" in stage.line_with("n003")
            await stage.press("enter")
            await stage.press("escape", "down", "enter")
            await stage.until("◔ node stale  66 s")
            assert "for 65 s: connection refused" in stage.text().splitlines()[1]
            source.sources[-1].shot = empty_node()
            stage.app.pull()
            await stage.until("no device known")
            await stage.press("escape")
            source.trouble = None
            now = stage.app.clock.monotonic()
            await stage.tick(msgspec.structs.replace(fleet_view(12), arrived_s=now))
            assert "● up" in stage.line_with("n001")
            assert "for " not in stage.text().splitlines()[1]

    asyncio.run(go())


def test_the_totals_are_of_the_whole_fleet_whatever_the_filter() -> None:
    async def go() -> None:
        async with following(FedFleet(fleet_view(12, faults=FAULTS)), (200, 40)) as stage:
            await stage.press("slash", *"n001", "enter")
            text = stage.text()
            assert "12 nodes" in text
            assert "✕ 1 down" in text
            assert "✕ 2 lost" in text
            assert "▼ 1 failed" in text
            assert "22.5 kW" in text

    asyncio.run(go())


def test_a_cursor_that_was_not_moved_stays_on_the_worst() -> None:
    async def go() -> None:
        async with following(FedFleet(fleet_view(40)), (80, 24)) as stage:
            rows = stage.app.screen.query_one("#nodes", RowList)
            await stage.tick(fleet_view(40, faults={"n033": "down"}))
            assert rows.selected_key == ("", "n033")
            await stage.press("down")
            assert rows.selected_key == ("", "n001")
            await stage.tick(fleet_view(40, faults={"n033": "down", "n009/1": "lost"}))
            assert rows.selected_key == ("", "n001")
            await stage.press("g")
            await stage.tick(fleet_view(40, faults={"n020": "down"}))
            assert rows.selected_key == ("", "n020")

    asyncio.run(go())


def test_nodes_without_a_matching_device_are_not_listed_under_a_condition() -> None:
    whole = fleet_view(12, faults=FAULTS)

    async def go() -> None:
        source = FedFleet(whole)
        async with following(source) as stage:
            await stage.press("slash", *'state=="lost"', "enter")
            found = tuple(now for now in whole.devices if now.state == "lost")
            await stage.tick(msgspec.structs.replace(whole, filter='state=="lost"', devices=found))
            assert len(stage.app.screen.query_one("#nodes", RowList).rows) == 1
            assert "(1 node)" in stage.text()

    asyncio.run(go())


def test_a_hundred_ticks_at_once_are_counted_once() -> None:
    async def go() -> None:
        source = FedFleet(fleet_view(200))
        async with following(source) as stage:
            assert stage.app.fleet_controller is not None
            before = stage.app.fleet_controller.board.version
            for _ in range(100):
                stage.app.schedule_fleet_pull()
            while stage.app.fleet_controller.board.version == before:
                await stage.pilot.pause(0.01)
            await stage.pilot.pause()
            assert stage.app.fleet_controller.board.version - before <= 2

    asyncio.run(go())


def test_a_large_fleet_is_counted_between_other_work() -> None:
    async def go() -> None:
        async with following(FedFleet(fleet_view(400))) as stage:
            await counted(stage)
            await stage.tick(fleet_view(400, faults={"n377": "down"}))
            await counted(stage)
            assert "n377" in stage.rows()[0]

    asyncio.run(go())


async def counted(stage: FleetStage) -> None:
    """Wait until nothing is counted any more."""
    controller = stage.app.fleet_controller
    assert controller is not None
    for _ in range(200):
        await stage.pilot.pause()
        if not controller.counting:
            return


def test_a_source_that_fails_ends_the_program_with_its_error() -> None:
    class Broken(FedFleet):
        async def run(self, changed: Any) -> None:
            raise RuntimeError("broken source")

    async def go() -> Dashboard:
        async with following(Broken(fleet_view(1))) as stage:
            await stage.pilot.pause(0.05)
            return stage.app

    with pytest.raises(RuntimeError, match="broken source"):
        asyncio.run(go())


def test_text_of_others_cannot_move_the_cursor() -> None:
    bare = fleet_view(1)
    slot = bare.slots[0]
    assert slot is not None
    evil = msgspec.structs.replace(slot, job="\x1b[2Jx", model="\x1b]0;x\x07", user="a\nb")
    view: FleetView = msgspec.structs.replace(
        bare,
        slots=[evil, *bare.slots[1:]],
        events=(event(text="\x1b[31mred", code="\x1b[0m", name="\n"),),
        node_labels={"n001": {"rack": "\x1b[5m"}},
    )

    async def go() -> None:
        async with following(FedFleet(view), (160, 40)) as stage:
            for keys in ("E", "t", "t t enter", "m home"):
                await stage.press(*keys.split())
                assert "\x1b" not in stage.text()

    asyncio.run(go())


def test_what_a_rule_has_found_and_what_to_do_stand_beside_the_state() -> None:
    async def go() -> None:
        view = fleet_view(4, faults={"n002/3": "lost", "n003/1": "lost"})
        slot = next(
            one for one in view.slots if one is not None and one.node == "n002" and one.index == 3
        )
        found = incident_now(
            incident(1),
            node="n002",
            device=slot.id,
        )
        over = incident_now(
            incident(2, title="It was hot"),
            node="n003",
            device="other",
            closed="2027-01-15T08:00:00Z",
        )
        async with following(
            FedFleet(fleet_with_incidents(found, over, view=view)), (240, 24)
        ) as stage:
            line = stage.line_with("n002")
            assert "✕ nvidia3 lost  GPU has fallen off the bus → reboot the node" in line
            assert "✕ nvidia1 lost  → drain the node" in stage.line_with("n003")

    asyncio.run(go())


@pytest.mark.parametrize(
    ("health", "remedy"),
    [("failed", REMEDIES["unresponsive"]), ("unknown", CHECK_COLLECTION)],
)
def test_a_row_asks_to_kill_jobs_only_where_the_device_is_at_fault(
    health: str, remedy: str
) -> None:
    async def go() -> None:
        view = fleet_view(4, faults={"n001/0": "unresponsive"})
        first, *others = view.devices
        unread = msgspec.structs.replace(first, health=health)
        shown = msgspec.structs.replace(view, devices=[unread, *others])
        async with following(FedFleet(shown), (240, 24)) as stage:
            assert f"nvidia0 hung  → {remedy}" in stage.line_with("n001")

    asyncio.run(go())


@pytest.mark.parametrize("width", range(80, 201, 20))
def test_words_of_the_totals_give_way_one_at_a_time_from_the_right(width: int) -> None:
    async def check(stage: FleetStage) -> None:
        line = stage.line_with(" 88 devices")
        words = ["lost", "missing", "hung", "failed", "unreachable", "stale", "degraded", "ok"]
        shown = [f" {word}" in line for word in words]
        assert shown == sorted(shown, reverse=True)
        assert all(shown) == (width >= 180)
        assert any(shown) == (width >= 100)

    on(check, size=(width, 30))
