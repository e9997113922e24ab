"""The hub's API over real agents: pages, paging, filters, credentials, streams, acknowledgement."""

import asyncio
import base64
import contextlib
import re
from pathlib import Path
from typing import Any

import bcrypt
import msgspec
import pytest

from accelwatch.config.model import Web
from accelwatch.schema.json.wire import decode
from accelwatch.web.protection.roles import Role
from accelwatch.web.protection.web_config import Protection, load_protection
from support.fleet.hub_peers import agent, hub
from support.machines import composed as machines


async def pages(running: Any, path: str) -> list[Any]:
    """Rows of all pages."""
    found: list[Any] = []
    cursor = ""
    while True:
        page = await running.get(path + cursor)
        found += page.get("devices", page.get("nodes"))
        if page["next"] is None:
            return found
        cursor = f"&cursor={page['next']}"


def test_the_fleet_in_numbers() -> None:
    async def main() -> None:
        lost = machines.snapshot(machines.view(0), machines.lost_view(1), machines.mig_view(9, 0))
        async with (
            agent() as one,
            agent(lost) as two,
            hub(one.address, two.address, "127.0.0.1:1") as running,
        ):
            await running.devices(one.address, 8)
            await running.devices(two.address, 3)
            fleet = await running.get("/v1/fleet")
            # A busy machine delivers late, and a node is slow until the next tick.
            async with asyncio.timeout(30):
                while fleet["nodes"]["up"] != 2:
                    await asyncio.sleep(0.05)
                    fleet = await running.get("/v1/fleet")
        assert fleet["nodes_total"] == 3
        assert (fleet["nodes"]["up"], fleet["nodes"]["never"]) == (2, 1)
        assert fleet["devices_total"] == 10
        assert fleet["devices"] == {"lost": 1, "ok": 9}
        assert fleet["health"] == {"failed": 1, "ok": 9}
        assert fleet["power_watts"] == sum(642.125 + index for index in range(8)) + 642.125
        uuids = [one["uuid"] for one in fleet["conflicts"]]
        assert uuids == sorted(str(machines.device(index).uuid) for index in (0, 1))

    asyncio.run(main())


def test_a_browser_finds_the_pages() -> None:
    async def main() -> None:
        async with agent() as one, hub(one.address) as running:
            await running.devices(one.address, 8)
            html = await running.get("/")
            assert "Nodes: 1 up." in html
            for path in re.findall('href="([^"]+)"', html):
                if path != "/v1/stream":
                    await running.get(path)

    asyncio.run(main())


def test_devices_are_paged_and_filtered() -> None:
    async def main() -> None:
        async with agent() as one, agent() as two, hub(one.address, two.address) as running:
            await running.devices(one.address, 8)
            await running.devices(two.address, 8)
            everything = await pages(running, "/v1/devices?limit=3")
            names = [(row["node"], row["index"]) for row in everything]
            assert names == sorted(
                (node, i) for node in (one.address, two.address) for i in range(8)
            )
            hot = await pages(running, "/v1/devices?limit=3&filter=power_watts>646.5")
            assert [row["index"] for row in hot] == [5, 6, 7, 5, 6, 7]
            mine = await pages(
                running, f'/v1/devices?filter=node=="{one.address}" and index<2&fields=power_watts'
            )
            assert [row["values"] for row in mine] == [
                {"power_watts": 642.125},
                {"power_watts": 643.125},
            ]
            nodes = await pages(running, "/v1/nodes?limit=1")
            assert [node["node"] for node in nodes] == sorted([one.address, two.address])

    asyncio.run(main())


def test_a_large_page_goes_out_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with agent() as one, agent() as two, hub(one.address, two.address) as running:
            await running.devices(one.address, 8)
            await running.devices(two.address, 8)
            whole = await pages(running, "/v1/devices?fields=power_watts")
            monkeypatch.setattr("accelwatch.fleet.api.http._LARGE_BYTES", 0)
            monkeypatch.setattr("accelwatch.fleet.api.http._PIECE_ROWS", 3)
            in_pieces = await pages(running, "/v1/devices?fields=power_watts")
            fixed = ("node", "id", "values")
            assert len(whole) == 16
            assert [[row[key] for key in fixed] for row in in_pieces] == [
                [row[key] for key in fixed] for row in whole
            ]
            assert [row["index"] for row in await pages(running, "/v1/devices?limit=5")] == [
                *range(8),
                *range(8),
            ]

    asyncio.run(main())


def test_labels_can_be_filtered_by(tmp_path: Path) -> None:
    async def main() -> None:
        async with agent() as one, agent() as two:
            file = tmp_path / "targets.json"
            groups = [
                {"targets": [one.address], "labels": {"rack": "r1", "node": "n1"}},
                {"targets": [two.address], "labels": {"rack": "r2", "node": "n2"}},
            ]
            file.write_bytes(msgspec.json.encode(groups))
            async with hub(files=(str(file),)) as running:
                await running.devices("n1", 8)
                await running.devices("n2", 8)
                rows = await pages(running, '/v1/devices?filter=rack=="r2"')
                assert {row["node"] for row in rows} == {"n2"}
                assert rows[0]["labels"] == {"rack": "r2"}

    asyncio.run(main())


def test_a_label_may_be_called_as_a_field_of_a_row(tmp_path: Path) -> None:
    async def main() -> None:
        async with agent() as one:
            file = tmp_path / "targets.json"
            labels = {"node": "n1", "a": "b", "node_state": "", "state": ""}
            file.write_bytes(msgspec.json.encode([{"targets": [one.address], "labels": labels}]))
            async with hub(files=(str(file),)) as running:
                await running.devices("n1", 8)
                rows = await pages(running, "/v1/devices")
                assert {row["node_state"] for row in rows} == {"up"}

    asyncio.run(main())


def test_the_page_of_a_node_is_described_with_its_snapshot() -> None:
    async def main() -> None:
        async with hub() as running:
            document = await running.get("/v1/openapi.json")
            page = document["components"]["schemas"]["NodePage"]
            assert "snapshot" in page["required"]

    asyncio.run(main())


@pytest.mark.parametrize(
    ("path", "code", "text"),
    [
        ("/v1/devices?filter=power_wats>1", 400, "power_watts"),
        ("/v1/devices?filter=" + "a" * 3000, 400, "characters"),
        ("/v1/devices?limit=0", 400, "limit"),
        ("/v1/devices?limit=1e3", 400, "limit"),
        ("/v1/devices?cursor=nonsense", 400, "cursor"),
        ("/v1/devices?cursor=WzFd", 400, "cursor"),
        ("/v1/devices?fields=nothing", 400, "nothing"),
        ("/v1/devices?fields=power_wats", 400, "power_watts"),
        ("/v1/devices?fields=temperature_celsius.a.b", 400, "temperature"),
        ("/v1/devices?filer=x", 400, "filter"),
        ("/v1/fleet?x=1", 400, "this page takes none"),
        ("/v1/groups", 400, "by"),
        ("/v1/groups?by=usr", 400, "user"),
        ("/v1/groups?by=power_watts", 400, "no name"),
        ("/v1/events?since=yesterday", 400, "since"),
        ("/v1/events?filter=power_watts>1", 400, "power_watts"),
        ('/v1/events?filter=severity=="grave"', 400, "critical"),
        ("/v1/events?cursor=x", 400, "cursor"),
        ("/v1/nodes?state=", 400, "stale"),
        ("/v1/nodes?state=upp", 400, "stale"),
        ("/v1/nodes/nobody", 404, "nobody"),
        ("/v1/nodes/nobody/history?device=x", 404, "nobody"),
        ("/v1/nodes/", 404, ""),
        ("/v1/nothing", 404, ""),
        ("/v1/stream?fields=nothing", 400, "nothing"),
        ("/v1/nodes/a/acknowledge", 405, "POST"),
    ],
)
def test_what_makes_no_sense_is_reported(path: str, code: int, text: str) -> None:
    async def main() -> None:
        async with hub() as running:
            assert text in await running.get(path, code)

    asyncio.run(main())


def test_a_node_is_answered_as_its_agent_would() -> None:
    async def main() -> None:
        async with agent() as one, hub(one.address) as running:
            await running.devices(one.address, 8)
            node = await running.get(f"/v1/nodes/{one.address}")
            snapshot = decode(msgspec.json.encode(node["snapshot"]))
            assert len(snapshot.devices) == 8
            reading = snapshot.devices[3].reading
            assert reading.values == machines.view(3).reading.values
            assert snapshot.devices[3].device == machines.device(3)

    asyncio.run(main())


def test_missing_devices_are_shown_until_acknowledged() -> None:
    async def main() -> None:
        async with agent() as one, hub(one.address) as running:
            await running.devices(one.address, 8)
            one.feed.put(machines.snapshot(*(machines.view(index) for index in range(7))))
            await running.devices(one.address, 7)
            rows = await pages(running, '/v1/devices?filter=state=="missing"')
            assert [row["index"] for row in rows] == [7]
            node = await running.get(f"/v1/nodes/{one.address}")
            assert (node["devices"], node["devices_expected"], node["devices_missing"]) == (7, 8, 1)
            assert node["snapshot"]["devices"][7]["state"] == "lost"
            path = f"/v1/nodes/{one.address}/acknowledge"
            assert "browser" in await running.post(path, 403, headers={"Origin": "http://evil"})
            await running.post(path + "?device=nobody", 404)
            assert (await running.get("/v1/fleet"))["devices_total"] == 8
            assert await running.post(path) == {
                "node": one.address,
                "devices_removed": 1,
                "problem": "",
            }
            assert (await running.get("/v1/fleet"))["devices_total"] == 7
            assert not await pages(running, '/v1/devices?filter=state=="missing"')

    asyncio.run(main())


@pytest.mark.parametrize("protection", [Protection(), Protection(tokens=("x" * 20,))])
def test_an_encoded_body_is_refused_before_credentials(protection: Protection) -> None:
    async def main() -> None:
        async with hub(protection=protection) as running:
            await running.post(
                "/v1/nodes/a/acknowledge",
                415,
                data=b"not deflate",
                headers={"Content-Encoding": "deflate"},
            )

    asyncio.run(main())


def test_who_may_only_approve_acknowledges_nothing() -> None:
    token = "x" * 20

    async def main() -> None:
        roles = {"ops.token": Role.APPROVE}
        protection = Protection(tokens=(token,), token_files=("ops.token",), roles=roles)
        async with hub(protection=protection) as running:
            headers = {"Authorization": f"Bearer {token}"}
            refusal = await running.post("/v1/nodes/a/acknowledge", 403, headers=headers)
            assert "may approve, and this needs act" in refusal

    asyncio.run(main())


def test_a_hub_open_to_all_lets_nobody_acknowledge() -> None:
    web = Web(listen_address=("0.0.0.0:0",), listen_any=True)

    async def main() -> None:
        async with hub(web=web) as running:
            assert "credentials" in await running.post("/v1/nodes/a/acknowledge", 403)

    asyncio.run(main())


def test_a_silent_node_has_no_values_and_no_health() -> None:
    async def main() -> None:
        async with hub("127.0.0.1:1") as running:
            pass
        async with agent() as one:
            context = hub(one.address)
            running = await context.__aenter__()
            await running.devices(one.address, 8)
        fleet = running.hub.fleet
        fleet.thresholds = msgspec.structs.replace(fleet.thresholds, slow_s=0.01, stale_s=0.02)
        node = fleet.nodes[one.address]
        for source in node.sources.values():
            source.interval_s = 0.001
            source.arrived = fleet.clock.monotonic() - 600
        (row, *_) = await pages(running, "/v1/devices")
        assert (row["node_state"], row["state"], row["health"]) == (
            "down",
            "unreachable",
            "unknown",
        )
        assert set(row["values"].values()) == {None}
        assert not await pages(running, "/v1/devices?filter=power_watts>0")
        await context.__aexit__(None, None, None)

    asyncio.run(main())


def test_targets_that_refuse_are_one_outage() -> None:
    async def main() -> None:
        closed = [f"127.0.0.1:{port}" for port in (1, 2, 3)]
        async with agent() as one, hub(one.address, *closed) as running:
            await running.devices(one.address, 8)
            while len((fleet := await running.get("/v1/fleet"))["outages"]) < 1 or (
                fleet["outages"][0]["nodes"] < 3
            ):
                await asyncio.sleep(0.02)
        assert fleet["outages"] == [
            {
                "nodes": 3,
                "nodes_total": 4,
                "since": None,
                "causes": {"connection refused": 3},
                "what_to_do": "check the hub's network or the agents' roll-out first",
            }
        ]

    asyncio.run(main())


def test_history_is_answered() -> None:
    async def main() -> None:
        async with agent() as one, hub(one.address) as running:
            await running.devices(one.address, 8)
            path = f"/v1/nodes/{one.address}/history"
            device = machines.device(2).id
            found = await running.get(path, params={"device": device})
            assert found["step_s"] == 10
            # A step that has just started has no number before the next tick.
            reported = [watts for watts in found["values"]["power_watts"] if watts is not None]
            assert set(reported) == {644.125}
            assert len(found["values"]["utilization_ratio"]) == 90
            assert machines.device(0).id in await running.get(path, 400)
            assert machines.device(0).id in await running.get(f"{path}?device=x", 404)

    asyncio.run(main())


async def _messages(running: Any, query: str, ticks: int) -> list[Any]:
    found: list[Any] = []
    async with running.session.get(f"{running.base}/v1/stream{query}") as response:
        assert response.status == 200
        async for line in response.content:
            found.append(msgspec.json.decode(line))
            if sum(one["type"] == "tick" for one in found) == ticks:
                return found
    return found


def test_the_stream_sends_slots_once_and_values_each_tick() -> None:
    async def main() -> None:
        async with agent() as one, hub(one.address) as running:
            await running.devices(one.address, 8)
            query = "?fields=power_watts&filter=index>5"
            first, second = await asyncio.gather(
                _messages(running, query, 3), _messages(running, query, 2)
            )
            assert [m["type"] for m in second] == ["hello", "device", "device", "tick", "tick"]
            assert first[0]["fields"] == ["power_watts"]
            slots = {m["slot"]: m["index"] for m in first if m["type"] == "device"}
            tick = first[-1]
            assert tick["fleet"]["devices_total"] == 8
            assert tick["nodes"][0][:2] == [one.address, "up"]
            values = {slots[row[0]]: row[4] for row in tick["devices"]}
            assert values == {6: [648.125], 7: [649.125]}

    asyncio.run(main())


def test_metrics_of_targets_and_fleet() -> None:
    async def main() -> None:
        async with agent() as one, hub(one.address, "127.0.0.1:1") as running:
            await running.devices(one.address, 8)
            await running.until(lambda: running.fault("127.0.0.1:1") == "connect")
            text = await running.get("/metrics")
            assert f'accel_fleet_target_up{{node="{one.address}"}} 1\n' in text
            assert 'accel_fleet_target_up{node="127.0.0.1:1"} 0\n' in text
            model = machines.device(0).model
            line = f'accel_fleet_devices{{vendor="nvidia",model="{model}",state="ok"}} 8\n'
            assert line in text
            assert 'accel_fleet_nodes{state="up"} 1\n' in text
            accept = {"Accept": "application/openmetrics-text"}
            assert (await running.get("/metrics", headers=accept)).endswith("# EOF\n")

    asyncio.run(main())


def test_the_same_credentials_as_the_agent(tmp_path: Path) -> None:
    web = tmp_path / "web.yaml"
    hashed = bcrypt.hashpw(b"secret-word", bcrypt.gensalt(4)).decode()
    web.write_text(f"basic_auth_users:\n  me: '{hashed}'\n")

    pair = base64.b64encode(b"me:secret-word").decode()

    async def main(protection: Protection) -> None:
        async with hub(protection=protection) as running:
            for path in ("/v1/fleet", "/v1/devices", "/v1/stream", "/metrics", "/v1/openapi.json"):
                await running.get(path, 401)
            await running.post("/v1/nodes/a/acknowledge", 401)
            assert await running.get("/-/healthy") == "healthy\n"
            await running.get("/v1/fleet", headers={"Authorization": f"Basic {pair}"})

    asyncio.run(main(load_protection(web)))


def test_five_hundred_clients_at_once() -> None:
    web = Web(listen_address=("127.0.0.1:0",), max_requests=1000, max_connections=1000)

    async def main() -> None:
        async with agent() as one, hub(one.address, web=web) as running:
            await running.devices(one.address, 8)
            paths = ["/v1/fleet", "/v1/devices", "/v1/nodes", "/metrics", "/-/ready"]
            await asyncio.gather(*(running.get(paths[i % 5]) for i in range(500)))
            assert running.source(one.address).connected

    asyncio.run(main())


def test_one_filter_too_many_waits_and_keeps_nobody_else_out() -> None:
    async def main() -> None:
        async with agent() as one, hub(one.address) as running:
            await running.devices(one.address, 8)
            paths = [f"/v1/stream?filter=index=={index}" for index in range(9)]
            async with contextlib.AsyncExitStack() as held:
                for path in paths[:8]:
                    await held.enter_async_context(running.session.get(running.base + path))
                assert "8 streams" in await running.get(paths[8], 503)
                for path in ("/v1/stream", "/v1/stream?fields=power_watts", paths[0]):
                    async with running.session.get(running.base + path) as response:
                        assert response.status == 200

    asyncio.run(main())


def test_the_openapi_document_names_every_page() -> None:
    async def main() -> None:
        async with hub() as running:
            document = await running.get("/v1/openapi.json")
            schemas = document["components"]["schemas"]
            text = msgspec.json.encode(document["paths"]).decode()
            for part in text.split("#/components/schemas/")[1:]:
                assert part.partition('"')[0] in schemas
            for path, methods in document["paths"].items():
                if "{" not in path and path not in {
                    "/v1/stream",
                    "/federate",
                    "/v1/detector",
                    "/v1/explain",
                    "/v1/evidence/alertmanager",
                    "/v1/plan",
                    "/-/leader",
                    "/v1/audit",
                    "/v1/stop",
                    "/v1/start",
                    "/v1/breaker/reset",
                }:
                    assert next(iter(methods)) == "get"
                    await running.get(path + ("?by=rack" if path == "/v1/groups" else ""))

    asyncio.run(main())
