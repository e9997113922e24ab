"""Key 5 on the dashboard of one machine: what its agent has found, or how to have one that judges."""

import asyncio
from collections.abc import Awaitable, Callable

import msgspec

from accelwatch.fleet.picture.model import Problem
from support.dashboards.fleets import FedFleet
from support.dashboards.local import FedSource, Stage, node, running
from support.incidents.incident_documents import (
    explanation,
    fleet_with_incidents,
    lost,
    low_power,
    rules_now,
)
from support.machines.composed import NOW

Check = Callable[[Stage], Awaitable[None]]


def on(check: Check, source: FedFleet | None, size: tuple[int, int] = (120, 40)) -> None:
    async def go() -> None:
        incidents = None if source is None else lambda: source
        async with running(FedSource(node(8)), size, incidents=incidents) as stage:
            await check(stage)

    asyncio.run(go())


def test_incidents_of_the_agent_are_listed_opened_and_lead_to_the_device() -> None:
    source = FedFleet(fleet_with_incidents(lost(), low_power()))
    source.explanation = explanation()

    async def check(stage: Stage) -> None:
        assert "5 incidents" in stage.text()
        await stage.press("5")
        await stage.until("GPU has fallen off the bus")
        assert "5 incidents ✕1 ▲1" in stage.text()
        source.trouble = Problem(text="no agent 127.0.0.1:9877 answers", since=NOW)
        stage.app.pull_fleet()
        await stage.until("no agent 127.0.0.1:9877 answers")
        assert "GPU has fallen off the bus" in stage.text()
        await stage.press("enter")
        await stage.until("jobs.straggler on n002 nvidia5: firing")
        assert stage.screen_name == "incident"
        await stage.press("enter")
        assert stage.screen_name == "local"
        await stage.press("5", "tab")
        assert stage.screen_name == "doctor"

    on(check, source)
    assert source.ended
    assert source.opened == []


def test_an_incident_of_this_machine_is_silenced_through_its_agent() -> None:
    source = FedFleet(fleet_with_incidents(lost()))

    async def check(stage: Stage) -> None:
        await stage.press("5")
        await stage.until("GPU has fallen off the bus")
        await stage.press("S", "down", "enter", *"fan", "enter")
        await stage.until("done: silence")
        assert source.changes is not None
        assert source.changes.done == [("silence", "id=i1", "2h", "fan")]

    on(check, source)


def test_without_an_agent_or_its_rules_the_screen_says_how_to_get_them() -> None:
    silent = FedFleet(None)
    silent.trouble = Problem(text="no agent 127.0.0.1:9877 answers", since=NOW)
    view = fleet_with_incidents()
    ruleless = FedFleet(None)
    ruleless.view = msgspec.structs.replace(view, rules=rules_now(evaluated=False, rules=0))
    for source, why in (
        (silent, "no incidents: no agent 127.0.0.1:9877 answers"),
        (ruleless, "no incidents: the agent of this machine has no rules"),
    ):

        async def check(stage: Stage, why: str = why) -> None:
            await stage.press("5")
            await stage.until(why)
            for text in ("packs: [nvidia, amd, host]", "accelwatch agent", "accelwatch check"):
                assert text in stage.text()

        on(check, source, size=(80, 24))


def test_nothing_is_queried_before_the_screen_is_opened() -> None:
    source = FedFleet(fleet_with_incidents(lost()))
    queries = []

    async def go() -> None:
        def ask() -> FedFleet:
            queries.append(1)
            return source

        async with running(FedSource(node(2)), incidents=ask) as stage:
            await stage.press("3", "1", "5", "1", "5")
        assert queries == [1]

    asyncio.run(go())
