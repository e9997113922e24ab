"""A hub that finds its agents: labels reach its answers, and a discovery that fails costs no node."""

import asyncio
import json
from pathlib import Path

from accelwatch.fleet.hub.model import effective
from accelwatch.fleet.hub.reloading import read_again
from support.fleet.hub_peers import agent, hub, peer
from support.processes.waiting import GUARD_S


def test_labels_of_a_discovery_reach_the_api_and_stay(tmp_path: Path) -> None:
    answers: list[bytes] = []

    async def handle(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        body = answers[0]
        head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length"
        writer.write(f"{head}: {len(body)}\r\n\r\n".encode() + body)
        await writer.drain()

    file = tmp_path / "hub.yaml"

    async def main() -> None:
        async with agent() as one, peer(handle) as address, hub() as running:
            labels = {"node": "n1", "rack": "r7", "job": "j", "datacenter": "east"}
            answers.append(json.dumps([{"targets": [one.address], "labels": labels}]).encode())
            file.write_text(
                f"targets:\n  http: {{url: 'http://{address}/', refresh_interval: 1s}}\n"
                "  rename_labels: {datacenter: pool}\n"
            )
            await read_again(running.server, lambda: effective(file))
            await running.devices("n1", 8)
            found = await running.get('/v1/devices?filter=rack=="r7"%20and%20pool=="east"')
            assert len(found["devices"]) == 8
            assert 'accel_fleet_discovery_targets{discovery="http"} 1' in await running.get(
                "/metrics"
            )
            answers[0] = b"<html>"
            text = ""
            async with asyncio.timeout(GUARD_S):
                while 'accel_fleet_discovery_up{discovery="http"} 0' not in text:
                    await asyncio.sleep(0.05)
                    text = await running.get("/metrics")
            assert (await running.get("/v1/nodes/n1"))["state"] == "up"

    asyncio.run(main())
