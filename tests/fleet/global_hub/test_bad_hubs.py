"""Hubs below that hang, refuse, are old, follow one another or have the same node."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from accelwatch.fleet.api.live import streams
from accelwatch.fleet.global_hub.followed import LOOP
from accelwatch.fleet.picture.model import FIELDS
from accelwatch.fleet.scrape_settings import Authorization, Scrape
from accelwatch.fleet.targets.hub_endpoint import HubEndpoint
from accelwatch.web.http.stream import NDJSON
from accelwatch.web.protection.web_config import Protection
from support.fleet.canned_hubs import CannedHub, serving
from support.fleet.global_hubs import endpoints_of, following_hubs, until_fleet
from support.fleet.hub_peers import Running, agent, peer
from support.fleet.several_hubs import hub_of
from support.incidents.remedy_documents import page as remedies
from support.processes.idle_loop import IdleClock
from support.servers.ports import free_port

TOKEN = "0123456789abcdef0123456789abcdef"


async def hang(_reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
    """Accept a request and never answer it."""
    await asyncio.Event().wait()


def test_a_hub_that_hangs_from_the_start_is_down_and_the_others_are_shown(tmp_path: Path) -> None:
    async def main() -> None:
        async with (
            agent() as one,
            hub_of(tmp_path / "a", {"n1": one.address}) as first,
            peer(hang) as address,
            following_hubs(endpoints_of(first.base, f"http://{address}")) as upper,
        ):
            fleet = await until_fleet(upper, lambda fleet: fleet.devices_total == 8)
            assert [(hub.name, hub.state) for hub in fleet.hubs] == [
                ("pod-1", "up"),
                ("pod-2", "down"),
            ]
            assert fleet.hubs[1].age_s is None
            # Nothing is asked of it, so that no page waits.
            nodes = await upper.get("/v1/nodes")
            assert [node["node"] for node in nodes["nodes"]] == ["n1"]
            assert nodes["problems"][0].startswith("hub pod-2 is missing: ")
            assert "pod-2" in (await upper.get("/v1/incidents"))["problems"][0]

    asyncio.run(main())


def test_a_hub_whose_pages_hang_is_named_on_the_page(tmp_path: Path) -> None:
    async def main() -> None:
        slow = CannedHub(remedies(), "n2")
        slow.hangs = asyncio.Event()
        async with (
            agent() as one,
            hub_of(tmp_path / "a", {"n1": one.address}) as first,
            serving(slow) as (endpoint,),
        ):
            named = msgspec.structs.replace(endpoint, name="pod-2")
            async with following_hubs([*endpoints_of(first.base), named]) as upper:
                await until_fleet(upper, lambda fleet: fleet.nodes_total == 2)
                shown = await upper.get("/v1/remedies")
                assert shown["problems"] == ["hub pod-2: no complete answer in time"]
            slow.hangs.set()

    asyncio.run(main())


def test_a_hub_without_a_page_is_left_out_of_it(tmp_path: Path) -> None:
    """An older hub knows fewer pages; what it says by stream is shown all the same."""

    async def main() -> None:
        old = CannedHub(remedies(), "n2")
        old.refuses = 404
        async with (
            agent() as one,
            hub_of(tmp_path / "a", {"n1": one.address}) as first,
            serving(old) as (endpoint,),
        ):
            named = msgspec.structs.replace(endpoint, name="pod-2")
            async with following_hubs([*endpoints_of(first.base), named]) as upper:
                await until_fleet(upper, lambda fleet: fleet.nodes_total == 2)
                avoid = await upper.get("/v1/avoid")
                assert avoid["problems"] == []
                assert avoid["nodes_total"] == 1
                nodes = (await upper.get("/v1/nodes"))["nodes"]
                assert [node["node"] for node in nodes] == ["n1", "n2"]
                assert "pod-2" in nodes[1]["targets"][0]["fault"]["message"]

    asyncio.run(main())


def test_a_wrong_token_is_reported_without_the_token(tmp_path: Path) -> None:
    async def main() -> None:
        wrong = tmp_path / "wrong.token"
        wrong.write_text("a-wrong-secret\n")
        async with (
            agent() as one,
            hub_of(
                tmp_path / "a", {"n1": one.address}, protection=Protection(tokens=(TOKEN,))
            ) as first,
        ):
            access = Scrape(authorization=Authorization(credentials_file=str(wrong)))
            closed = HubEndpoint(name="pod-1", base=first.base, access=access)
            async with following_hubs([closed]) as upper:
                fleet = await until_fleet(upper, lambda fleet: "401" in fleet.hubs[0].fault)
                assert fleet.hubs[0].state == "down"
                assert "a-wrong-secret" not in msgspec.json.encode(fleet).decode()
                wrong.write_text(f"{TOKEN}\n")
                fleet = await until_fleet(upper, lambda fleet: fleet.devices_total == 8)
                assert fleet.hubs[0].state == "up"

    asyncio.run(main())


def test_a_hub_that_follows_itself_leaves_itself_out(tmp_path: Path) -> None:
    async def main() -> None:
        port = free_port()
        own = f"http://127.0.0.1:{port}"
        async with (
            agent() as one,
            hub_of(tmp_path / "a", {"n1": one.address}) as first,
            following_hubs(endpoints_of(first.base, own), port=port) as upper,
        ):
            fleet = await until_fleet(
                upper, lambda fleet: fleet.hubs[1].fault == LOOP and fleet.devices_total == 8
            )
            assert [hub.state for hub in fleet.hubs] == ["up", "down"]
            assert fleet.nodes_total == 1
            assert f"hub pod-2: {LOOP}" in fleet.problems
            nodes = await upper.get("/v1/nodes")
            assert [node["node"] for node in nodes["nodes"]] == ["n1"]
            assert nodes["problems"] == [f"hub pod-2 is missing: {LOOP}"]

    asyncio.run(main())


@contextlib.asynccontextmanager
async def in_a_loop(folder: Path) -> AsyncIterator[tuple[Running, Running]]:
    """Two hubs that follow each other, and both a hub of node n1."""
    ports = [free_port(), free_port()]
    bases = [f"http://127.0.0.1:{port}" for port in ports]
    async with (
        agent() as one,
        hub_of(folder / "a", {"n1": one.address}) as first,
        following_hubs(endpoints_of(first.base, bases[1]), port=ports[0]) as left,
        following_hubs(endpoints_of(first.base, bases[0]), port=ports[1]) as right,
    ):
        yield left, right


def test_two_hubs_that_follow_each_other_leave_each_other_out(tmp_path: Path) -> None:
    async def main() -> None:
        async with in_a_loop(tmp_path) as (left, right):
            for hub in (left, right):
                fleet = await until_fleet(
                    hub, lambda fleet: fleet.hubs[1].fault == LOOP and fleet.devices_total == 8
                )
                assert fleet.nodes_total == 1

    asyncio.run(main())


def test_a_filter_in_a_loop_ends_with_who_watched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of two hubs would watch the other's stream with the filter, for ever."""
    monkeypatch.setattr(streams, "_MAX_FEEDS", 1)

    async def first_line(hub: Running, condition: str) -> bytes:
        query = {"filter": condition, "fields": ",".join(FIELDS)}
        headers = {"Accept": NDJSON}
        url = f"{hub.base}/v1/stream"
        async with hub.session.get(url, params=query, headers=headers) as response:
            line: bytes = await response.content.readline()
            return line

    async def main() -> None:
        async with in_a_loop(tmp_path) as (left, right):
            for hub in (left, right):
                await until_fleet(hub, lambda fleet: fleet.hubs[1].fault == LOOP)
            assert b"hello" in await first_line(left, "power_watts > 1")
            async with asyncio.timeout(60):
                for hub in (left, right):
                    while b"hello" not in await first_line(hub, "power_watts > 2"):
                        await asyncio.sleep(0.05)

    asyncio.run(main())


def test_a_hub_over_a_hub_over_hubs_is_no_loop(tmp_path: Path) -> None:
    async def main() -> None:
        async with (
            agent() as one,
            hub_of(tmp_path / "a", {"n1": one.address}) as first,
            peer(hang) as address,
            following_hubs(endpoints_of(first.base, f"http://{address}")) as middle,
            following_hubs(endpoints_of(middle.base)) as upper,
        ):
            fleet = await until_fleet(upper, lambda fleet: fleet.devices_total == 8)
            assert [hub.state for hub in fleet.hubs] == ["up"]
            page = await upper.get("/v1/nodes")
            (node,) = page["nodes"]
            assert node["labels"] == {"exported_hub": "pod-1", "hub": "pod-1"}
            # What is missing further below is said up here.
            (problem,) = page["problems"]
            assert problem.startswith("pod-1: hub pod-2 is missing: ")

    asyncio.run(main())


def test_a_node_of_two_hubs_is_one_row_counted_once(tmp_path: Path) -> None:
    async def main() -> None:
        async with contextlib.AsyncExitStack() as stack:
            one = await stack.enter_async_context(agent())
            bases = [
                (
                    await stack.enter_async_context(
                        hub_of(tmp_path / name, {"n1": one.address}, {"rack": "r1"})
                    )
                ).base
                for name in ("a", "b")
            ]
            upper = await stack.enter_async_context(following_hubs(endpoints_of(*bases)))
            fleet = await until_fleet(
                upper,
                lambda fleet: (
                    [hub.devices_total for hub in fleet.hubs] == [8, 8]
                    and any("followed by several hubs" in text for text in fleet.problems)
                ),
            )
            assert (fleet.nodes_total, fleet.devices_total) == (1, 8)
            assert any("followed by several hubs" in text for text in fleet.problems)
            (node,) = (await upper.get("/v1/nodes"))["nodes"]
            assert node["labels"] == {"rack": "r1", "hub": "pod-1+pod-2"}
            assert len((await upper.get("/v1/devices"))["devices"]) == 8
            groups = (await upper.get("/v1/groups", params={"by": "rack"}))["groups"]
            assert [(row["group"], row["devices_total"]) for row in groups] == [("r1", 8)]

    asyncio.run(main())


def test_what_is_kept_of_a_hub_has_a_limit_that_is_shown(tmp_path: Path) -> None:
    async def main() -> None:
        async with (
            agent() as one,
            hub_of(tmp_path / "a", {"n1": one.address}) as first,
        ):
            (endpoint,) = endpoints_of(first.base)
            limited = msgspec.structs.replace(endpoint, device_limit=3)
            async with following_hubs([limited]) as upper:
                fleet = await until_fleet(upper, lambda fleet: fleet.hubs[0].omitted)
                # The totals are the hub's own.
                assert (fleet.devices_total, fleet.hubs[0].omitted) == (8, 5)
                assert fleet.hubs[0].state == "up"
                assert any(
                    "5 of its devices and nodes are not shown" in text for text in fleet.problems
                )
                lines = (await upper.get("/metrics")).splitlines()
                assert 'accel_fleet_hub_omitted{hub="pod-1"} 5' in lines

    asyncio.run(main())


def test_a_hub_with_a_wrong_clock_is_named_and_its_ages_are_right(tmp_path: Path) -> None:
    async def main() -> None:
        clock = IdleClock(ahead_s=3600.0)
        async with (
            agent() as one,
            hub_of(tmp_path / "a", {"n1": one.address}) as first,
            following_hubs(endpoints_of(first.base), clock=clock) as upper,
        ):
            fleet = await until_fleet(upper, lambda fleet: fleet.devices_total == 8)
            (problem,) = (text for text in fleet.problems if "clock" in text)
            assert "s behind this hub's" in problem
            (node,) = (await upper.get("/v1/nodes"))["nodes"]
            assert node["state"] == "up"
            assert fleet.hubs[0].state == "up"

    asyncio.run(main())


def test_a_page_without_end_is_an_error_of_its_hub(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("accelwatch.fleet.global_hub.session.BODY_SIZE_LIMIT", 1000)

    async def main() -> None:
        async with (
            agent() as one,
            hub_of(tmp_path / "a", {"n1": one.address}) as first,
            following_hubs(endpoints_of(first.base)) as upper,
        ):
            await until_fleet(upper, lambda fleet: fleet.devices_total == 8)
            devices = await upper.get("/v1/devices")
            # The rows are those of its picture.
            assert len(devices["devices"]) == 8
            text = await upper.get("/v1/nodes/n1", code=503)
            assert text.startswith("hub pod-1: ")

    asyncio.run(main())
