"""Keys and mouse on the Incidents screen and on the page of one: filter, sort, look, go to the node."""

import asyncio

import pytest

from accelwatch.alerting.rules.verdict import Evidence
from accelwatch.tui.screens.incidents import IncidentsScreen
from support.dashboards.fleets import FedFleet, FleetStage, fleet_view, following, on
from support.dashboards.local import board_of
from support.incidents.incident_documents import (
    everything,
    explanation,
    fleet_with_incidents,
    graphs,
    hint,
    incident_now,
    low_power,
    muted,
    over,
    past,
    rules_now,
)
from support.incidents.incident_samples import incident
from tui.test_incident_screen import listed, of


def test_a_filter_leaves_what_it_keeps_and_esc_clears_it() -> None:
    async def check(stage: FleetStage) -> None:
        await stage.press("5", "slash", *"48101", "enter")
        assert listed(stage) == ["i1", "i7"]
        assert "filter 48101 (2 incidents)" in stage.text()
        await stage.press("escape")
        assert stage.screen_name == "incidents"
        assert len(listed(stage)) == 7
        await stage.press("escape")
        assert stage.screen_name == "fleet"

    on(check, source=of(*everything()))


def test_a_filter_that_nothing_matches_says_so() -> None:
    async def check(stage: FleetStage) -> None:
        await stage.press("5", "slash", *"zebra", "enter")
        assert "no incident matches zebra" in stage.text()

    on(check, source=of(low_power()))


def test_a_condition_with_a_mistake_is_shown_while_it_is_typed() -> None:
    async def check(stage: FleetStage) -> None:
        await stage.press("5", "slash", *"severty==1")
        assert "severity" in stage.text().splitlines()[-1]
        await stage.press("escape")
        assert len(listed(stage)) == 1

    on(check, source=of(low_power()))


def test_sorting_by_keys_picker_and_heading() -> None:
    async def check(stage: FleetStage) -> None:
        await stage.press("5", "r")
        assert listed(stage)[0] == "i3"
        await stage.press("greater_than_sign")
        assert listed(stage)[:2] == ["i30", "i6"]
        await stage.press("less_than_sign", "less_than_sign")
        assert listed(stage)[:3] == ["i1", "i7", "i6"]
        assert listed(stage)[-1] == "i4"
        await stage.press("s", "home", "down", "down", "enter")
        assert stage.screen_name == "incidents"
        row = next(n for n, line in enumerate(stage.text().splitlines()) if "WHERE" in line)
        heading = stage.line_with("WHERE")
        await stage.pilot.click(offset=(heading.index("RULE"), row))
        await stage.pilot.pause()
        assert "RULE▴" in stage.text()
        assert listed(stage)[:2] == ["i6", "i7"]
        await stage.pilot.click(offset=(heading.index("WHERE"), row))
        await stage.pilot.pause()
        assert "WHERE▴" in stage.text()

    on(check, source=of(*everything()))


def test_those_that_are_over_can_be_left_out() -> None:
    async def check(stage: FleetStage) -> None:
        await stage.press("5", "o")
        assert "i3" not in listed(stage)
        assert "open ones only" in stage.text()
        await stage.tick(fleet_with_incidents(over()))
        assert "no incident is open; 1 incident resolved recently" in stage.text()
        await stage.press("o")
        assert listed(stage) == ["i3"]

    on(check, source=of(*everything()))


def test_what_a_rule_has_met_is_not_shown_as_what_is_expected() -> None:
    async def check(stage: FleetStage) -> None:
        await stage.press("5", "enter")
        await stage.until("state is lost")
        assert "value lost" in stage.text()
        assert "expected" not in stage.text()

    state = Evidence(signal="state", text="state is lost", value="lost", expected="lost")
    on(check, source=of(incident_now(incident(1, evidence=(state,)))))


def test_a_page_shows_all_of_an_incident() -> None:
    source = of(*everything())
    source.device_history_answer, source.explanation = past(), explanation()

    async def check(stage: FleetStage) -> None:
        await stage.press("5", "down", "down", "down", "enter")
        await stage.until("firing")
        assert stage.screen_name == "incident"
        for words in (
            "Draws far less power than its job's other GPUs  i7",
            "n002 nvidia3, rack r01, NVIDIA H100 80GB HBM3, serial 1650522000123",
            "07:53:00, 7 min ago; fired 07:54:00",
            "job 48101, of ada",
            "look at cooling and clocks",
            "restart, confidence low",
            "https://runbooks.example/straggler",
            "jobs.straggler, nvidia.gpu.throttled (NVIDIA's DCGM policies)",
            "is 120 W, < 0.6 * peer_median(",
            "value 120 · expected 372",
            "since 07:53:30 · from nvml",
            "07:53:00       began",
            "07:56:20       rule      Slowed down by heat",
            "fan replaced at noon (ada)",
            "jobs.straggler on n002 nvidia3: firing",
            "unknown   utilization_ratio > 0.5",
            "stale",
            "power 122 W",
            "utilization 99%",
            "▴ began 07:53:00",
            "no graph of throttle_active.thermal_hardware",
        ):
            assert words in stage.text(), words
        assert source.explained == [("jobs.straggler", "n002/nvidia3")]

    on(check, source=source, size=(140, 60))


def test_a_page_compares_a_device_with_its_peers_in_a_picture_and_in_words() -> None:
    source = of(*everything())
    source.graphs_of = graphs()

    async def check(stage: FleetStage) -> None:
        await stage.press("5", "down", "down", "down", "enter")
        await stage.until("peers 617 W")
        text = stage.text()
        for words in (
            "░ the middle half of other devices of job 48101 and model NVIDIA H100",
            "last 15 min",
            "power 122 W",
            "utilization 99%",
            "667 W",
            "▴ began 07:53:00",
            "power_watts: n002 nvidia3: 122 W; 59 other devices of job 48101",
            "617 W, half of them 557 W to 657 W",
            "no history of throttle_active.thermal_hardware is kept on this hub",
        ):
            assert words in text, words
        assert "no graph of" not in text

    on(check, source=source, size=(140, 60))


@pytest.mark.parametrize("size", [(40, 12), (40, 24), (60, 20), (80, 24), (200, 60)])
@pytest.mark.parametrize("ascii_only", [False, True])
def test_the_band_fits_every_size(size: tuple[int, int], ascii_only: bool) -> None:
    async def go() -> None:
        source = of(*everything())
        source.graphs_of = graphs()
        board = board_of(ascii_only=ascii_only)
        async with following(source, size, board=board) as stage:
            await stage.press("5", "down", "down", "down", "enter")
            await stage.pilot.pause()
            lines = stage.text().splitlines()
            assert len(lines) == size[1]
            assert all(len(line) == size[0] for line in lines)
            assert not ascii_only or stage.text().isascii()
            assert size[1] < 20 or "power 122 W" in stage.text()

    asyncio.run(go())


def test_a_page_follows_its_incident_and_stays_when_it_is_reported_no_more() -> None:
    async def check(stage: FleetStage) -> None:
        await stage.press("5", "enter")
        await stage.until("no rule is in force")
        assert "no history of this device in the last 15 min" in stage.text()
        await stage.wait(6.0)
        await stage.until("no rule is in force")
        assert len(stage.fed.explained) == 2
        await stage.tick(fleet_with_incidents())
        assert "no longer updated" in stage.text()
        assert "Draws far less power" in stage.text()

    on(check, source=of(low_power()), size=(140, 60))


def test_left_and_right_go_to_the_incidents_beside() -> None:
    async def check(stage: FleetStage) -> None:
        await stage.press("5", "enter", "left")
        assert "GPU has fallen off the bus" in stage.text()
        await stage.press("right")
        assert "4 members" in stage.text()
        assert "n026" in stage.text()
        assert "this is about a group" in stage.text()
        assert "the page of a member explains its rule" in stage.text()
        await stage.press("right")
        assert "job 48103: n005, n006" in stage.text()
        await stage.press("escape")
        assert stage.screen_name == "incidents"

    on(check, source=of(*everything()), size=(140, 60))


def test_doubt_silence_and_end_are_shown_on_the_page() -> None:
    async def check(stage: FleetStage) -> None:
        await stage.press("5", *["down"] * 4, "enter")
        assert "any user of the node could have written this" in stage.text()
        assert "written by user space" in stage.text()
        await stage.press("right")
        assert "until 10:00:00 by ana (silence s4): a new board on Monday" in stage.text()
        await stage.press("right")
        assert "over 07:30:00 after 20 min" in stage.text()
        assert "cleared after 1200 s" in stage.text()

    on(check, source=of(*everything()), size=(140, 60))


def test_enter_on_a_page_opens_the_node_with_its_device() -> None:
    async def check(stage: FleetStage) -> None:
        await stage.press("5", "enter", "enter")
        assert stage.screen_name == "local"
        assert stage.fed.opened == ["n002"]
        await stage.press("escape")
        assert stage.screen_name == "fleet"

    on(check, source=of(low_power()))


def test_a_node_that_the_fleet_has_not_is_named() -> None:
    async def check(stage: FleetStage) -> None:
        await stage.press("5", "enter", "enter")
        assert "no node n009 in this fleet" in stage.text()
        assert stage.screen_name == "incident"

    on(check, source=FedFleet(fleet_with_incidents(muted(), view=fleet_view(2))))


def test_copying_gives_the_id_and_the_document() -> None:
    async def check(stage: FleetStage) -> None:
        await stage.press("5", "y")
        assert "copied i7" in stage.text()
        await stage.press("enter", "Y")
        assert "characters" in stage.text()

    on(check, source=of(low_power()))


def test_a_click_selects_and_a_second_one_opens_the_page() -> None:
    async def check(stage: FleetStage) -> None:
        await stage.press("5")
        row = next(
            n for n, line in enumerate(stage.text().splitlines()) if "i7" in line or "Draws" in line
        )
        await stage.pilot.click(offset=(30, row))
        await stage.pilot.pause()
        screen = stage.app.screen
        assert isinstance(screen, IncidentsScreen)
        assert screen.incidents.selected_key == "i7"
        await stage.pilot.click(offset=(30, row))
        await stage.pilot.pause()
        assert stage.screen_name == "incident"

    on(check, source=of(*everything()))


def test_help_and_footer_name_the_keys() -> None:
    async def check(stage: FleetStage) -> None:
        await stage.press("5")
        footer = stage.text().splitlines()[-1]
        for words in ("Enter detail", "/ filter", "s sort", "o over"):
            assert words in footer
        await stage.press("question_mark")
        assert "Incidents opened by the rules of this machine's" in stage.text()

    on(check, source=of(hint(), over()), size=(140, 70))


def test_a_click_in_the_footer_does_what_it_says() -> None:
    async def go() -> None:
        source = FedFleet(fleet_with_incidents(hint(), over()))
        async with following(source, board=board_of()) as stage:
            await stage.press("5")
            footer = stage.text().splitlines()[-1]
            await stage.pilot.click(offset=(footer.index("o over"), 39))
            await stage.pilot.pause()
            assert listed(stage) == ["i5"]

    asyncio.run(go())


def test_counts_of_how_judging_goes_leave_members_and_what_is_muted_out() -> None:
    rules = rules_now(*everything())
    assert (rules.open, rules.muted) == ({"critical": 1, "warning": 3, "info": 1}, 1)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
def test_whose_work_and_what_to_do_stand_above_the_graphs(size: tuple[int, int]) -> None:
    source = of(low_power())
    source.device_history_answer, source.explanation = past(), explanation()

    async def check(stage: FleetStage) -> None:
        await stage.press("5", "enter")
        await stage.until("last 15 min")
        lines = stage.text().splitlines()
        wanted = (" work  ", " what to do  ", "last 15 min")
        positions = [next(n for n, line in enumerate(lines) if word in line) for word in wanted]
        assert positions == sorted(positions)
        assert positions[1] <= 8

    on(check, source=source, size=size)
