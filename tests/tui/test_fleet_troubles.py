"""The hub's own troubles stand below the totals, and an empty fleet says why it is empty."""

import asyncio

import msgspec
import pytest

from accelwatch.fleet.leader_note import LeaderNote
from accelwatch.fleet.picture.model import Problem
from accelwatch.fleet.wire import StoreState
from support.dashboards.fleets import (
    FAULTS,
    FedFleet,
    FleetStage,
    fleet_document,
    fleet_view,
    following,
    on,
    troubled,
)
from support.dashboards.local import board_of
from support.machines.composed import NOW

DNS = "dns agents.svc: no answer from 10.96.0.10 within 5 s, asked again every 30 s"
FORGETFUL = "the inventory cannot be kept: /var/lib/accelwatch: read-only file system"


def test_troubles_of_the_store_are_shown_with_its_address() -> None:
    store = StoreState(address="http://store:9090", fault="refused", warnings=("partial",))
    sums = fleet_document(problems=("dns: no answer",), store=store)
    assert sums.troubles == (
        "dns: no answer",
        "store http://store:9090: refused",
        "store http://store:9090 warns: partial",
    )
    assert fleet_document(store=StoreState(address="")).troubles == ()


@pytest.mark.parametrize("width", [40, 80, 140])
@pytest.mark.parametrize("form", ["list", "grid"])
def test_problems_stand_while_they_stand(width: int, form: str) -> None:
    async def check(stage: FleetStage) -> None:
        assert "problem" not in stage.text().replace("next problem", "")
        before = stage.text().splitlines()
        await stage.tick(troubled(fleet_view(faults=FAULTS), DNS, FORGETFUL))
        line = stage.text().splitlines()[4]
        assert line.startswith(" ▲ 2 problems: dns agen")
        assert line.endswith("  ! shows all ")
        await stage.wait(5.0)
        assert stage.text().splitlines()[4] == line
        await stage.tick(fleet_view(faults=FAULTS))
        assert stage.text().splitlines()[4] == before[4]

    on(check, size=(width, 24), fleet_form=form)


def test_where_the_header_has_one_line_silence_is_shown_below_the_totals() -> None:
    async def check(stage: FleetStage) -> None:
        stage.fed.trouble = Problem(text="connection refused", since=NOW)
        await stage.wait(60.0)
        assert "for 60 s: connection refused" in stage.text()
        stage.fed.trouble = None
        await stage.tick(fleet_view())
        assert "refused" not in stage.text()

    on(check, size=(60, 12), source=FedFleet(troubled(fleet_view(), DNS)))


def test_one_that_is_read_in_full_needs_no_key() -> None:
    async def check(stage: FleetStage) -> None:
        line = stage.text().splitlines()[4]
        assert line.rstrip() == f" ▲ 1 problem: {FORGETFUL}"

    on(check, source=FedFleet(troubled(fleet_view(), FORGETFUL)))


def test_troubles_of_the_hub_are_painted_as_plain_text() -> None:
    async def go() -> None:
        fleet = troubled(fleet_view(), "dns \x1b[2Jevil é", "two")
        async with following(FedFleet(fleet), board=board_of(ascii_only=True)) as stage:
            assert "! 2 problems: " in stage.text()
            await stage.press("exclamation_mark")
            assert stage.text().isascii()
            assert "\x1b" not in stage.text()

    asyncio.run(go())


@pytest.mark.parametrize("form", ["list", "grid"])
def test_an_empty_fleet_says_that_targets_cannot_be_found(form: str) -> None:
    async def check(stage: FleetStage) -> None:
        text = " ".join(stage.text().split())
        assert "no node is known, and the hub has problems:" in text
        assert f"▲ {DNS}" in text
        assert "nodes appear here by themselves" in text
        assert "NODE" not in stage.text()
        await stage.press("down", "end", "enter", "m", "t", "t", "t", "E", "A", "y")
        await stage.tick(fleet_view(2))
        assert "no node is known" not in stage.text()

    on(check, source=FedFleet(troubled(fleet_view(0), DNS)), size=(80, 24), fleet_form=form)


def test_an_empty_fleet_without_troubles_has_no_targets() -> None:
    async def check(stage: FleetStage) -> None:
        assert "no node is known: there are no targets yet" in stage.text()
        assert "--targets" in stage.text()
        await stage.press("slash", *"ada", "enter")
        assert "there are no targets yet" in stage.text()

    on(check, source=FedFleet(fleet_view(0)), size=(60, 20))


@pytest.mark.parametrize("form", ["list", "grid"])
def test_a_filter_that_nothing_matches_is_shown_with_the_way_out(form: str) -> None:
    async def check(stage: FleetStage) -> None:
        await stage.press("slash", *"nobody", "enter")
        assert 'no node or device has the text "nobody"' in stage.text()
        assert "Esc shows all" in stage.text()
        await stage.press("escape", "slash", *'state=="lost"', "enter")
        bare = msgspec.structs.replace(fleet_view(), devices=[], filter='state=="lost"')
        await stage.tick(bare)
        assert 'no device matches state=="lost"' in stage.text()
        await stage.press("escape")
        assert "the hub is looking up what you asked for" in stage.text()
        stage.fed.trouble = Problem(text="the hub is busy", since=NOW)
        await stage.tick(bare)
        assert 'no device matches state=="lost"' in stage.text()
        stage.fed.trouble = None
        await stage.tick(fleet_view())
        assert "no device matches" not in stage.text()

    on(check, fleet_form=form)


@pytest.mark.parametrize(
    ("note", "text"),
    [
        (
            LeaderNote(name="hub-b", since="2027-01-15T03:12:09.5Z", is_this=False, late_s=0.4),
            "hub-b has led since 03:12; this hub follows, 0.4 s behind",
        ),
        (
            LeaderNote(name="hub-a", since="2027-01-15T03:12:09.5Z", is_this=True, late_s=0.4),
            "this hub has led since 03:12",
        ),
        (
            LeaderNote(name="", since=None, is_this=False, late_s=7.0),
            "no hub leads; this one follows the journal, 7.0 s behind",
        ),
        (
            LeaderNote(name="", since=None, is_this=False),
            "no hub leads; this one follows the journal",
        ),
    ],
)
def test_of_several_hubs_the_head_says_which_leads(note: LeaderNote, text: str) -> None:
    view = fleet_view(2)
    led = msgspec.structs.replace(view, sums=msgspec.structs.replace(view.sums, leader=note))

    async def check(stage: FleetStage) -> None:
        assert text in stage.text().splitlines()[1]

    on(check, source=FedFleet(led), size=(120, 24))


def test_a_hub_with_a_journal_of_its_own_says_nothing_of_leading() -> None:
    async def check(stage: FleetStage) -> None:
        assert "leads" not in stage.text()

    on(check, source=FedFleet(fleet_view(2)), size=(120, 24))


def test_groups_of_owners_without_a_device_are_explained() -> None:
    async def check(stage: FleetStage) -> None:
        assert "no device is known yet, so nothing can be grouped by job" in stage.text()

    bare = fleet_view(2, faults={"n001": "never", "n002": "never"})
    on(check, source=FedFleet(bare), fleet_group="job")


def test_the_last_picture_of_a_silent_hub_claims_nothing_of_now() -> None:
    async def check(stage: FleetStage) -> None:
        stage.fed.trouble = Problem(text="connection refused", since=NOW)
        await stage.wait(60.0)
        assert "there was no node in the last picture" in stage.text()
        assert "connection refused" in stage.text()

    on(check, source=FedFleet(fleet_view(0)))


def test_a_node_that_cannot_read_its_devices_says_why_and_stands_above_those_that_are_well() -> (
    None
):
    async def check(stage: FleetStage) -> None:
        lines = [line for line in stage.text().splitlines() if " up " in line and "n00" in line]
        assert "n003" in lines[0]
        assert "nvidia: mismatch" in lines[0]

    view = fleet_view(4)
    nodes = [
        msgspec.structs.replace(node, why="nvidia: mismatch") if node.node == "n003" else node
        for node in view.nodes
    ]
    kept = [now for now in view.devices if (slot := view.slots[now.slot]) and slot.node != "n003"]
    bare = msgspec.structs.replace(view, nodes=nodes, devices=kept)
    on(check, size=(140, 24), source=FedFleet(bare))


def test_a_silent_node_says_why_in_its_row() -> None:
    async def check(stage: FleetStage) -> None:
        line = next(row for row in stage.text().splitlines() if "n002" in row)
        assert "permission denied" in line
        assert "\x1b" not in stage.text()

    view = fleet_view(faults={"n002": "never"})
    why = "permission denied: it takes no key\x1b[2J of yours"
    nodes = [
        msgspec.structs.replace(node, why=why) if node.node == "n002" else node
        for node in view.nodes
    ]
    on(check, size=(140, 24), source=FedFleet(msgspec.structs.replace(view, nodes=nodes)))
