"""The Incidents screen: what is listed, in which order, at every size, and what is said of nothing."""

import asyncio

import msgspec
import pytest

from accelwatch.fleet.wire import MOST_OPEN
from accelwatch.tui.drawing.glyphs import UNICODE
from accelwatch.tui.fleet.board import FleetBoard
from accelwatch.tui.screens.incidents import IncidentsScreen
from accelwatch.tui.theme.palettes import PALETTES
from accelwatch.tui.theme.preferences import Preferences
from accelwatch.tui.views.fleet.incident_list import why_none
from support.dashboards.fleets import FAULTS, FedFleet, FleetStage, fleet_view, following, on
from support.dashboards.local import FedSource, board_of, running, texts
from support.dashboards.local import node as machine
from support.incidents.incident_documents import (
    everything,
    fleet_with_incidents,
    hint,
    low_power,
    over,
    storm,
)

SIZES = [(40, 12), (60, 20), (80, 24), (120, 40), (200, 60)]


def of(*incidents: object, **changes: object) -> FedFleet:
    """A fleet whose hub tells these."""
    return FedFleet(fleet_with_incidents(*incidents, **changes))  # type: ignore[arg-type]


def listed(stage: FleetStage) -> list[str]:
    """Ids of the incidents on the list, in its order."""
    board = stage.app.board.fleet
    assert board is not None
    return [row.incident.id for row in board.incidents.rows]


def selected(stage: FleetStage) -> str:
    """Id of the incident that the keys are about."""
    assert isinstance(stage.app.screen, IncidentsScreen)
    return str(stage.app.screen.incidents.selected_key)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: "x".join(map(str, size)))
def test_list_and_page_fit_every_size(size: tuple[int, int]) -> None:
    async def go() -> None:
        async with following(of(*everything()), size) as stage:
            for keys in ("5", "down space end", "enter", "end", "left"):
                await stage.press(*keys.split())
                lines = stage.text().splitlines()
                assert len(lines) == size[1]
                assert all(len(line) == size[0] for line in lines)

    asyncio.run(go())


@pytest.mark.parametrize("theme", PALETTES)
def test_severity_and_state_are_shown_in_words_in_every_theme(theme: str) -> None:
    async def go() -> None:
        async with following(of(*everything()), board=board_of(theme=theme)) as stage:
            await stage.press("5")
            text = stage.text()
            for words in ("✕ critical", "▲ warning", "· info", "muted", "over", "open x4"):
                assert words in text

    asyncio.run(go())


@pytest.mark.parametrize("keys", ["5", "5 down space", "5 enter", "5 end enter", "5 s", "5 slash"])
def test_ascii_mode_draws_nothing_else(keys: str) -> None:
    async def go() -> None:
        source = of(*everything())
        async with following(source, board=board_of(ascii_only=True)) as stage:
            await stage.press(*keys.split())
            assert stage.text().isascii()

    asyncio.run(go())


def test_the_worst_is_first_then_what_is_muted_then_what_is_over() -> None:
    async def check(stage: FleetStage) -> None:
        await stage.press("5")
        assert stage.screen_name == "incidents"
        assert listed(stage) == ["i1", "i30", "i6", "i7", "i5", "i4", "i3"]
        assert (
            "5 open  ✕ 1 critical  ▲ 3 warning  · 1 info  1 muted  1 resolved recently"
            in stage.text()
        )
        line = stage.line_with("nvidia.gpu.lost")
        for words in ("✕ critical", "6 min", "n002 nvidia5", "GPU has fallen", "48101 ada", "open"):
            assert words in line
        assert "25 h" in stage.line_with("Memory rows")

    on(check, source=of(*everything()))


def test_every_header_counts_the_open_ones_and_leads_to_them() -> None:
    async def check(stage: FleetStage) -> None:
        first = stage.text().splitlines()[0]
        assert "5 incidents ✕1 ▲3 ·1" in first
        await stage.pilot.click(offset=(first.index("▲3"), 0))
        await stage.pilot.pause()
        assert stage.screen_name == "incidents"
        await stage.press("2", "enter")
        assert "✕1 ▲3 ·1" in stage.text().splitlines()[0]
        await stage.press("5")
        assert stage.screen_name == "incidents"

    on(check, source=of(*everything()))


def test_a_group_is_one_row_until_it_is_unfolded() -> None:
    async def check(stage: FleetStage) -> None:
        await stage.press("5", "down")
        assert "▸ rack=r04" in stage.line_with("rack=r04")
        await stage.press("space")
        assert listed(stage)[1:6] == ["i30", "i25", "i26", "i27", "i28"]
        assert "├─ n026" in stage.text()
        await stage.press("down", "down", "left")
        assert listed(stage)[1:3] == ["i30", "i6"]
        assert selected(stage) == "i30"
        await stage.press("right", "right")
        assert "i28" in listed(stage)
        await stage.press("left", "left", "up", "space", "right")
        assert "i28" not in listed(stage)

    on(check, source=of(*everything()))


def test_members_stand_by_themselves_where_their_group_is_not_reported() -> None:
    async def check(stage: FleetStage) -> None:
        await stage.press("5")
        assert listed(stage) == ["i25", "i26", "i27", "i28"]

    on(check, source=of(*storm()[:4]))


def test_without_rules_it_says_how_to_switch_them_on() -> None:
    async def check(stage: FleetStage) -> None:
        await stage.press("5")
        assert "the hub has no rules" in stage.text()
        assert "packs: [nvidia, amd, host]" in stage.text()
        assert "accelwatch fleet --config.file hub.yaml" in stage.text()

    on(check, source=of(evaluated=False, rules=0))


def test_when_all_is_well_it_says_how_many_rules_watch_how_much() -> None:
    async def check(stage: FleetStage) -> None:
        await stage.press("5", "enter", "space", "down", "right", "y")
        assert "no incident: 189 rules watch 312 devices of 40 nodes" in stage.text()
        assert "5 incidents  6 doctor" in stage.text()

    on(check, source=of())


def test_an_older_hub_is_distinguished_from_one_without_rules() -> None:
    async def check(stage: FleetStage) -> None:
        await stage.press("5")
        assert "it is older than this dashboard" in stage.text()

    on(check, source=FedFleet(fleet_view(4)))


def test_an_archive_in_which_nobody_looks_for_incidents_says_what_does() -> None:
    fleet = FleetBoard(Preferences(), lambda: 0.0, "an archive")
    for _ in fleet.count(fleet_view(2)):
        pass
    text = texts(why_none(fleet, 100, UNICODE, archive=True))
    assert "accelwatch rules backtest has found: --incidents FILE" in text
    assert "older" not in text


def test_before_the_first_tick_nothing_is_shown_of_incidents() -> None:
    async def check(stage: FleetStage) -> None:
        await stage.press("5", "enter", "o", "slash", "escape", "r")
        assert "no picture of the incidents yet" in stage.text()
        assert "no rules" not in stage.text()

    on(check, source=FedFleet(None))


def test_what_is_wrong_with_the_rules_stands_below_and_in_full_behind_a_key() -> None:
    async def check(stage: FleetStage) -> None:
        assert "rules: the journal is full" in stage.text()
        await stage.press("5")
        assert "rules: the journal is full" in stage.text()
        await stage.press("exclamation_mark")
        assert stage.screen_name == "problems"

    on(check, source=of(low_power(), problems=("the journal is full", "rule a is switched off")))


def test_more_than_are_reported_are_counted() -> None:
    async def check(stage: FleetStage) -> None:
        await stage.press("5")
        assert "3 more, not listed" in stage.text()

    on(check, source=of(low_power(), open={"warning": MOST_OPEN + 3}, omitted=3))


def test_a_cursor_on_the_worst_stays_there_and_else_with_its_incident() -> None:
    async def check(stage: FleetStage) -> None:
        await stage.press("5")
        await stage.tick(fleet_with_incidents(*everything()))
        assert selected(stage) == "i1"
        await stage.press("down", "down", "down")
        assert selected(stage) == "i7"
        await stage.tick(fleet_with_incidents(low_power(), over()))
        assert selected(stage) == "i7"

    on(check, source=of(low_power(), hint(), over()))


def test_when_the_hub_is_silent_nothing_is_shown_as_of_now() -> None:
    async def check(stage: FleetStage) -> None:
        await stage.press("5")
        await stage.wait(60.0)
        painted = stage.app.board.fleet
        assert painted is not None
        assert painted.silent
        assert "GPU has fallen" in stage.text()

    on(check, source=of(*everything()))


def test_a_recording_has_no_incidents_and_key_5_says_where_they_are() -> None:
    async def go() -> None:
        async with running(FedSource(machine())) as stage:
            assert "5 incidents" not in stage.text()
            await stage.press("5")
            assert stage.screen_name == "local"
            assert "accelwatch rules backtest --replay" in stage.text()

    asyncio.run(go())


def test_words_of_others_cannot_move_the_cursor() -> None:
    evil = "\x1b[2J\n\u202e"
    one = low_power()
    document = msgspec.structs.replace(
        one.incident,
        title=evil, node=evil, rule=evil, jobs=(evil,), what_to_do=evil, device_name=evil,
        runbook=evil, source=evil, nodes=(evil, evil), model=evil,
    )  # fmt: skip
    member = msgspec.structs.replace(one, incident=document, nodes_total=2)

    async def check(stage: FleetStage) -> None:
        for keys in ("5", "enter", "end"):
            await stage.press(keys)
            assert "\x1b" not in stage.text()
            assert "\u202e" not in stage.text()

    on(check, source=FedFleet(fleet_with_incidents(member, view=fleet_view(4, faults=FAULTS))))
