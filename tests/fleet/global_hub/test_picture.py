"""A hub over two real hubs: what it shows of their nodes, on pages and in its stream."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from accelwatch.fleet.api.query.rows import cursor_of
from accelwatch.fleet.hub_client.connection.session import HubSession
from accelwatch.fleet.hub_client.once import fetch_fleet, first_view
from accelwatch.fleet.hub_client.source import HubSource
from accelwatch.fleet.picture.model import FleetView
from accelwatch.fleet.targets.hub_endpoint import MOST_DEVICES, HubEndpoint
from accelwatch.schema.event import Category, ErrorEvent
from support.fleet.global_hubs import LaterClock, endpoints_of, following_hubs, until_fleet
from support.fleet.hub_peers import Running, agent
from support.fleet.several_hubs import hub_of, other_machine
from support.processes.idle_loop import IdleClock

UPPER = "upper"


@contextlib.asynccontextmanager
async def two_hubs(
    folder: Path, clock: IdleClock | None = None
) -> AsyncIterator[tuple[Running, Running, Running]]:
    """(the hub over them, one with node n1 in rack r1, one with node n2)."""
    async with (
        agent() as one,
        agent(other_machine()) as two,
        hub_of(folder / "a", {"n1": one.address}, {"rack": "r1"}) as first,
        hub_of(folder / "b", {"n2": two.address}) as second,
        following_hubs(endpoints_of(first.base, second.base), clock=clock) as upper,
    ):
        await until_fleet(upper, lambda fleet: fleet.devices_total == 10)
        yield upper, first, second


def endpoint(upper: Running) -> HubEndpoint:
    return HubEndpoint(name=UPPER, base=upper.base)


def test_the_numbers_are_those_of_both_and_say_how_each_hub_stands(tmp_path: Path) -> None:
    async def main() -> None:
        async with two_hubs(tmp_path) as (upper, _, _):
            fleet = await upper.get("/v1/fleet")
            assert (fleet["nodes_total"], fleet["devices_total"]) == (2, 10)
            assert fleet["nodes"]["up"] == 2
            assert [(hub["name"], hub["state"], hub["devices_total"]) for hub in fleet["hubs"]] == [
                ("pod-1", "up", 8),
                ("pod-2", "up", 2),
            ]
            assert fleet["problems"] == []

    asyncio.run(main())


async def paged(upper: Running, what: str, limit: int, **query: str) -> list[tuple[str, str]]:
    """(node, id) of each row of a list, page by page."""
    found: list[tuple[str, str]] = []
    cursor: str | None = ""
    while cursor is not None:
        at = {"cursor": cursor} if cursor else {}
        page = await upper.get(f"/v1/{what}", params={**query, **at, "limit": str(limit)})
        assert len(page[what]) <= limit
        found += [(row["node"], row.get("id", "")) for row in page[what]]
        cursor = page["next"]
    return found


def test_lists_go_hub_by_hub_and_page_by_page(tmp_path: Path) -> None:
    async def main() -> None:
        async with two_hubs(tmp_path) as (upper, _, _):
            nodes = await upper.get("/v1/nodes")
            assert [(node["node"], node["labels"]) for node in nodes["nodes"]] == [
                ("n1", {"rack": "r1", "hub": "pod-1"}),
                ("n2", {"hub": "pod-2"}),
            ]
            found = await paged(upper, "devices", 3)
            assert len(found) == len(set(found)) == 10
            assert [node for node, _ in found] == ["n1"] * 8 + ["n2"] * 2

    asyncio.run(main())


def test_a_filter_is_evaluated_by_the_hubs(tmp_path: Path) -> None:
    async def main() -> None:
        async with two_hubs(tmp_path) as (upper, _, _):
            query = {"filter": 'node=="n2"', "fields": "power_watts"}
            page = await upper.get("/v1/devices", params=query)
            assert {row["node"] for row in page["devices"]} == {"n2"}
            assert set(page["devices"][0]["values"]) == {"power_watts"}
            # pod-2 has no label rack, and refuses the name.
            page = await upper.get("/v1/devices", params={"filter": 'rack=="r1"'})
            assert {row["node"] for row in page["devices"]} == {"n1"}
            (problem,) = page["problems"]
            assert problem.startswith("hub pod-2 is missing: ")
            assert "rack" in problem
            text = await upper.get("/v1/devices", code=400, params={"filter": "nonsense=="})
            assert "nonsense" in text

    asyncio.run(main())


def test_groups_of_both_are_added_up(tmp_path: Path) -> None:
    async def main() -> None:
        async with two_hubs(tmp_path) as (upper, _, _):
            page = await upper.get("/v1/groups", params={"by": "hub"})
            assert [(row["group"], row["devices_total"]) for row in page["groups"]] == [
                ("pod-1", 8),
                ("pod-2", 2),
            ]
            page = await upper.get("/v1/groups", params={"by": "vendor"})
            assert [(row["group"], row["devices_total"]) for row in page["groups"]] == [
                ("nvidia", 10)
            ]

    asyncio.run(main())


def event(code: str, time: float) -> ErrorEvent:
    return ErrorEvent(code=code, category=Category.BUS, time=time, text="gone", source="kernel_log")


def test_events_of_both_are_numbered_as_they_come_here(tmp_path: Path) -> None:
    async def main() -> None:
        async with two_hubs(tmp_path) as (upper, first, second):
            now = IdleClock().wall()
            for hub, node, code in ((first, "n1", "xid_1"), (second, "n2", "xid_2")):
                hub.hub.fleet.events.note(node, "", event(code, now))
            query = {"filter": 'code=="xid_1" or code=="xid_2"'}
            async with asyncio.timeout(60):
                while len((await upper.get("/v1/events", params=query))["events"]) < 2:
                    await asyncio.sleep(0.02)
            page = await upper.get("/v1/events", params={**query, "limit": "1"})
            rest = await upper.get(
                "/v1/events", params={**query, "limit": "1", "cursor": page["next"]}
            )
            rows = [*page["events"], *rest["events"]]
            assert sorted(row["node"] for row in rows) == ["n1", "n2"]
            assert rows[0]["sequence"] > rows[1]["sequence"]
            of_hub = {"filter": 'hub=="pod-2" and code=="xid_2"'}
            page = await upper.get("/v1/events", params=of_hub)
            assert [row["node"] for row in page["events"]] == ["n2"]

    asyncio.run(main())


def test_metrics_have_the_hub_as_a_label_and_how_late_each_is(tmp_path: Path) -> None:
    async def main() -> None:
        async with two_hubs(tmp_path) as (upper, _, _):
            lines = (await upper.get("/metrics")).splitlines()
            assert 'accel_fleet_hub_up{hub="pod-1"} 1' in lines
            assert 'accel_fleet_hub_fresh{hub="pod-2"} 1' in lines
            assert any(
                line.startswith('accel_fleet_hub_late_seconds{hub="pod-2"} ') for line in lines
            )
            assert 'accel_fleet_nodes{hub="pod-2",state="up"} 1' in lines
            heads = [line for line in lines if line.startswith("# TYPE")]
            assert len(heads) == len(set(heads))

    asyncio.run(main())


def test_a_client_sees_one_hub_with_the_state_of_those_below(tmp_path: Path) -> None:
    async def main() -> None:
        async with two_hubs(tmp_path) as (upper, _, _):
            session = HubSession(endpoint(upper))
            try:
                answer = await fetch_fleet(session, rows="devices")
                view = await first_view(session)
            finally:
                await session.close()
            assert [hub.name for hub in answer.hubs] == ["pod-1", "pod-2"]
            assert len(answer.devices) == 10
            assert {node.node: node.state for node in view.nodes} == {"n1": "up", "n2": "up"}
            assert [hub.state for hub in view.hubs] == ["up", "up"]
            power = {
                view.slots[device.slot].id: device.values[3]  # type: ignore[union-attr]
                for device in view.devices
            }
            assert len(power) == 10
            assert None not in power.values()

    asyncio.run(main())


async def until(source: HubSource, wanted: object) -> FleetView:
    async with asyncio.timeout(60):
        while (view := source.fleet()) is None or not wanted(view):  # type: ignore[operator]
            await asyncio.sleep(0.02)
    return view


def test_a_stream_with_a_filter_has_the_devices_that_the_hubs_choose(tmp_path: Path) -> None:
    async def main() -> None:
        async with two_hubs(tmp_path) as (upper, _, _):
            source = HubSource(endpoint(upper), condition='node=="n2"')
            task = asyncio.ensure_future(source.run(lambda: None))
            try:
                view = await until(source, lambda view: len(view.devices) == 2)
                assert view.filter == 'node=="n2"'
                # Totals and nodes are those of all.
                assert view.sums.devices_total == 10
                assert {node.node for node in view.nodes} == {"n1", "n2"}
            finally:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    asyncio.run(main())


def test_fields_that_the_picture_does_not_have_are_refused(tmp_path: Path) -> None:
    async def main() -> None:
        async with two_hubs(tmp_path) as (upper, _, _):
            query = {"fields": "power_watts,clock_hertz"}
            text = await upper.get("/v1/stream", code=400, params=query)
            assert "'clock_hertz' is not in the stream of a hub of hubs" in text

    asyncio.run(main())


def test_a_hub_that_is_silent_keeps_its_part_stale(tmp_path: Path) -> None:
    async def main() -> None:
        clock = LaterClock()
        async with two_hubs(tmp_path, clock) as (upper, first, second):
            watts = (await until_fleet(upper, lambda fleet: fleet.power_watts)).power_watts
            await second.server.http.stop(0.0)
            clock.later_s += 60.0
            fleet = await until_fleet(upper, lambda fleet: fleet.nodes.get("up") == 1)
            assert fleet.nodes == {"up": 1, "stale": 1} | {
                state: 0 for state in fleet.nodes if state not in ("up", "stale")
            }
            assert (fleet.devices_total, fleet.devices["stale"]) == (10, 2)
            assert fleet.power_watts is not None
            assert watts is not None
            assert fleet.power_watts < watts
            assert [hub.state for hub in fleet.hubs] == ["up", "down"]
            assert fleet.hubs[1].age_s is not None
            assert fleet.hubs[1].age_s > 50
            assert any(text.startswith("hub pod-2: ") for text in fleet.problems)
            nodes = (await upper.get("/v1/nodes"))["nodes"]
            assert [(node["node"], node["state"]) for node in nodes] == [
                ("n1", "up"),
                ("n2", "stale"),
            ]
            assert nodes[1]["targets"][0]["fault"]["message"].startswith("hub pod-2 does not")
            assert nodes[1]["age_s"] > 50
            devices = (await upper.get("/v1/devices"))["devices"]
            assert [row["state"] for row in devices] == ["ok"] * 8 + ["stale"] * 2
            assert devices[9]["labels"] == {"hub": "pod-2"}
            assert await paged(upper, "devices", 1) == [(row["node"], row["id"]) for row in devices]
            assert await paged(upper, "nodes", 1) == [("n1", ""), ("n2", "")]
            assert await paged(upper, "nodes", 1, state="stale") == [("n2", "")]
            assert await paged(upper, "nodes", 1, state="up") == [("n1", "")]
            page = await upper.get("/v1/devices", params={"filter": "power_watts > 0"})
            assert {row["node"] for row in page["devices"]} == {"n1"}
            assert page["problems"][0].startswith("hub pod-2 is missing: ")
            page = await upper.get("/v1/groups", params={"by": "vendor"})
            assert page["problems"][0].startswith("hub pod-2 is missing: ")
            text = await upper.get("/v1/nodes/n2", code=503)
            assert text.startswith("hub pod-2: ")
            assert (await upper.get("/v1/nodes/n1"))["node"] == "n1"
            lines = (await upper.get("/metrics")).splitlines()
            assert 'accel_fleet_hub_fresh{hub="pod-2"} 0' in lines
            assert 'accel_fleet_hub_up{hub="pod-2"} 0' in lines
            assert first.hub.alive

    asyncio.run(main())


@pytest.mark.parametrize("offset", [-1, MOST_DEVICES + 1])
def test_a_cursor_beyond_all_rows_is_refused(tmp_path: Path, offset: int) -> None:
    async def main() -> None:
        async with two_hubs(tmp_path) as (upper, _, _):
            query = {"cursor": cursor_of(("pod-1", offset, ""))}
            assert "take it from `next`" in await upper.get("/v1/nodes", code=400, params=query)

    asyncio.run(main())


def test_an_event_is_streamed_once_whatever_filter_is_set(tmp_path: Path) -> None:
    """The order of arrival is not that of time, so another stream has other numbers."""

    async def main() -> None:
        async with two_hubs(tmp_path) as (upper, first, second):
            source = HubSource(endpoint(upper))
            task = asyncio.ensure_future(source.run(lambda: None))
            try:
                await until(source, lambda view: len(view.devices) == 10)
                now = IdleClock().wall()
                for hub, node, code, age_s in (
                    (first, "n1", "xid_1", 0.0),
                    (second, "n2", "xid_2", 60.0),
                ):
                    hub.hub.fleet.events.note(node, "", event(code, now - age_s))
                    await until(source, lambda view, code=code: code in codes(view))
                source.set_filter("power_watts > 0")
                await until(source, lambda view: view.filter == "power_watts > 0")
                source.set_filter("")
                view = await until(source, lambda view: view.filter == "")
                assert codes(view).count("xid_1") == codes(view).count("xid_2") == 1
                rows = (await upper.get("/v1/events", params={"node": "n1"}))["events"]
                sequences = {shown.code: shown.sequence for shown in view.events}
                assert {row["code"]: row["sequence"] for row in rows}["xid_1"] == sequences["xid_1"]
            finally:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    asyncio.run(main())


def codes(view: FleetView) -> list[str]:
    return [shown.code for shown in view.events]


@pytest.mark.parametrize("page", ["devices?", "groups?by=rack&", "stream?"])
def test_a_filter_by_hub_is_refused_with_what_to_do_instead(tmp_path: Path, page: str) -> None:
    async def main() -> None:
        async with two_hubs(tmp_path) as (upper, _, _):
            text = await upper.get(f"/v1/{page}filter=hub==%22pod-1%22", 400)
            assert "group by it (t on the screen, --by hub), or ask that hub itself" in text
            # What else is wrong with a filter is what is said of it.
            text = await upper.get(f"/v1/{page}filter=hub==%22pod-1%22 and watts>1", 400)
            assert "unknown name watts" in text

    asyncio.run(main())
