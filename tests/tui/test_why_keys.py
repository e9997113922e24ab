"""`w`: why what the keys are about is as it is."""

import asyncio

import msgspec

from accelwatch.fleet.hub_client.aging import silenced
from accelwatch.schema.health import Health
from support.dashboards.fleets import FedFleet, FedRemedies, FleetStage, fleet_view, on
from support.dashboards.local import FedSource, Stage, busy_process, busy_view, lost, node, running
from support.incidents.incident_documents import low_power
from support.incidents.remedy_documents import awaiting_approval, page
from support.machines.composed import NOW
from tui.test_incident_screen import of


async def explained(stage: Stage, *keys: str) -> str:
    """What the dialog says, without its frame."""
    await stage.press(*keys, "w")
    assert stage.screen_name == "ChoiceScreen"
    await stage.until("Close")
    return " ".join(stage.text().split())


def test_a_device_of_this_machine_says_what_is_wrong_with_it() -> None:
    async def go() -> None:
        async with running(FedSource(node(8, d0=lost(0)))) as stage:
            text = await explained(stage)
            assert f"{node(1).host}/nvidia0 has been lost for" in text
            assert "what to do: drain the node and reboot it" in text
            await stage.press("enter")
            assert stage.screen_name == "local"
            assert "nothing is wrong with" in await explained(stage, "3", "right")

    asyncio.run(go())


def test_of_a_fleet_the_node_under_the_cursor_is_shown() -> None:
    async def check(stage: FleetStage) -> None:
        assert "n003 has been down for 6 min" in await explained(stage)
        await stage.press("escape")
        assert "n002/nvidia3 is lost; 1 more thing is wrong." in await explained(stage, "down")

    on(check)


def test_of_the_map_the_device_under_the_cursor_is_shown() -> None:
    async def check(stage: FleetStage) -> None:
        await stage.press("m", "home")
        assert "nothing is wrong with n001/nvidia1: " in await explained(stage, "right")

    on(check)


def test_a_group_stands_for_the_whole_fleet() -> None:
    async def check(stage: FleetStage) -> None:
        assert "nothing is wrong with 32 devices on 4 nodes" in await explained(stage, "t")

    on(check, source=FedFleet(fleet_view(4)))


def test_a_node_that_is_visited_shows_devices_that_the_filter_has_left_out() -> None:
    view = fleet_view(4)
    source = FedFleet(view, node(8))

    async def check(stage: FleetStage) -> None:
        text = await explained(stage, "enter")
        assert "nothing is wrong with n001/nvidia0: load 0%." in text

    on(check, source=source)


def test_an_incident_and_what_the_hub_does_about_it_are_shown() -> None:
    source = of(low_power())
    source.remedies = FedRemedies(page(awaiting_approval()))

    async def check(stage: FleetStage) -> None:
        text = await explained(stage, "5")
        assert "Draws far less power than its job's other GPUs" in text
        assert "what to do: look at cooling and clocks" in text
        assert "the hub:" in text
        await stage.press("escape", "enter")
        assert "Draws far less power" in await explained(stage)

    on(check, source=source)


def test_of_a_process_the_worst_of_its_devices_is_shown() -> None:
    async def go() -> None:
        on_two = busy_process("", 7, pid=4242)
        views = {}
        for index, word in ((5, Health.OK), (6, Health.DEGRADED)):
            view = busy_view(index)
            mine = (msgspec.structs.replace(on_two, device_id=view.device.id),)
            reading = msgspec.structs.replace(view.reading, processes=mine)
            views[f"d{index}"] = msgspec.structs.replace(view, reading=reading, health=word)
        async with running(FedSource(node(8, **views))) as stage:
            await stage.press("4", "slash", *"pid==4242", "enter")
            await stage.until("4242")
            assert "/nvidia6 is degraded" in await explained(stage, "down")

    asyncio.run(go())


def test_of_a_silent_node_that_is_visited_the_reason_and_the_remedy_are_shown() -> None:
    shot = silenced(node(8), "n003", "n003 is down: refused", NOW, 9.0, remedy="see its agent")
    view = fleet_view(4, faults={"n003": "down"})

    async def check(stage: FleetStage) -> None:
        text = await explained(stage, "enter")
        assert "n003 has been down for 6 min: refused" in text
        assert "what to do: see its agent" in text

    on(check, source=FedFleet(view, shot))


def test_before_the_first_tick_nothing_is_known() -> None:
    async def check(stage: FleetStage) -> None:
        await stage.press("w")
        assert "nothing is known yet" in stage.text()

    on(check, source=FedFleet(None))
