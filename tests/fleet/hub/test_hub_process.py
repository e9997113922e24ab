"""The hub as a process: started, killed with -9, started again, stopped."""

import asyncio
import contextlib
import json
import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp

from support.fleet.hub_peers import agent
from support.machines import composed as machines
from support.servers.ports import free_port
from support.servers.receivers import receiver

_CODE = "from accelwatch.cli.servers.hub import hub_command; hub_command()"


class Process:
    def __init__(self, process: asyncio.subprocess.Process, port: int) -> None:
        self.process = process
        self.base = f"http://127.0.0.1:{port}"

    async def request(self, path: str, method: str = "GET", body: object = None) -> Any:
        async with (
            aiohttp.ClientSession() as session,
            session.request(method, self.base + path, json=body) as response,
        ):
            return json.loads(await response.read())

    async def incident(self) -> Any:
        """The only incident, once it is there."""
        async with asyncio.timeout(30):
            while not (incidents := (await self.request("/v1/incidents"))["incidents"]):
                await asyncio.sleep(0.05)
        (incident,) = incidents
        return incident

    async def until(self, path: str, **wanted: object) -> Any:
        async with asyncio.timeout(30):
            while True:
                with contextlib.suppress(aiohttp.ClientConnectionError, ValueError):
                    found = await self.request(path)
                    if found.items() >= wanted.items():
                        return found
                await asyncio.sleep(0.05)


@contextlib.asynccontextmanager
async def running(*words: str, state: Path) -> AsyncIterator[Process]:
    port = free_port()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", _CODE, *words, "--state-dir", str(state)),
        *("--web.listen-address", f"127.0.0.1:{port}"),
        env={**os.environ, "NOTIFY_SOCKET": ""},
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        yield Process(process, port)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def test_a_killed_hub_knows_what_it_expected_and_what_was_acknowledged(tmp_path: Path) -> None:
    async def main() -> None:
        async with agent() as one:
            node = f"/v1/nodes/{one.address}"
            async with running("-t", one.address, state=tmp_path) as first:
                await first.until(node, devices=8)
                one.feed.put(machines.snapshot(*(machines.view(index) for index in range(6))))
                await first.until(node, devices=6, devices_missing=2)
                gone = machines.device(7).id
                removed = await first.request(f"{node}/acknowledge?device={gone}", "POST")
                assert removed["devices_removed"] == 1
                first.process.send_signal(signal.SIGKILL)
                await first.process.wait()
            async with running("-t", one.address, state=tmp_path) as second:
                await second.until(node, devices=6, devices_expected=7, devices_missing=1)
                second.process.terminate()
                assert await second.process.wait() == 0

    asyncio.run(main())


HUB_YAML = """\
rules: {{files: [{folder}/rules.yaml], interval: 200ms}}
detector: {{enabled: false}}
alerts: {{sinks: [{{name: a, type: webhook, options: {{url: "{receiver}/a"}}}}]}}
"""
RULES = """\
version: 1
rules: [{id: gpu.lost, title: Lost, when: state == "lost", severity: critical}]
"""


def test_a_killed_hub_keeps_its_silences_and_reports_when_they_end(tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text(RULES)
    state = tmp_path / "state"

    async def main() -> None:
        well = machines.snapshot(machines.view(0))
        async with agent(well) as one, receiver() as there:
            config = tmp_path / "hub.yaml"
            config.write_text(HUB_YAML.format(folder=tmp_path, receiver=there.base))
            words = ("-t", one.address, "-c", str(config))
            async with running(*words, state=state) as first:
                await first.until(f"/v1/nodes/{one.address}", devices=1)
                body = {"nodes": [one.address], "for": "1h", "reason": "BIOS", "by": "ana"}
                answer = await first.request("/v1/maintenance", "POST", body)
                assert answer["problem"] == ""
                window = answer["maintenance"]["id"]
                one.feed.put(machines.snapshot(machines.lost_view(0)))
                await first.incident()
                first.process.send_signal(signal.SIGKILL)
                await first.process.wait()
            async with running(*words, state=state) as second:
                await second.until("/v1/fleet", nodes_total=1)
                incident = await second.incident()
                assert incident["muted_by"]["id"] == window
                assert incident["muted_by"]["by"] == "ana (unverified)"
                assert there.requests == []
                await second.request(f"/v1/maintenance/{window}?by=ana", "DELETE")
                (request,) = await there.wait_for(1)
                assert b'"Lost"' in request.body
                assert (await second.request("/v1/maintenance"))["maintenance"] == []
                second.process.terminate()
                assert await second.process.wait() == 0

    asyncio.run(main())


def test_a_hub_keeps_its_memory_and_files_to_itself(tmp_path: Path) -> None:
    async def main() -> None:
        async with running("-t", "127.0.0.1:1", state=tmp_path) as hub:
            await hub.until("/v1/fleet", nodes_total=1)
            limits = Path(f"/proc/{hub.process.pid}/limits").read_text()
            assert re.search(r"Max core file size +0 +0 ", limits)
        assert {one.stat().st_mode & 0o077 for one in tmp_path.iterdir()} == {0}

    asyncio.run(main())


def test_a_hub_open_to_others_needs_credentials(tmp_path: Path) -> None:
    async def main() -> None:
        words = (sys.executable, "-c", _CODE, "--web.listen-address", "0.0.0.0:0")
        process = await asyncio.create_subprocess_exec(
            *words, "--state-dir", str(tmp_path), stderr=asyncio.subprocess.PIPE
        )
        _, errors = await process.communicate()
        assert process.returncode != 0
        assert b"ConfigError" in errors
        assert b"listen_address" in errors

    asyncio.run(main())
