"""`accelwatch hub` over a hub as a process: started by its file, asked, read again, stopped."""

import asyncio
import contextlib
import os
import signal
import sys
from pathlib import Path

import aiohttp

from support.fleet.hub_peers import agent
from support.fleet.several_hubs import hub_of
from support.servers.ports import free_port

_HUB = "from accelwatch.cli.servers.hub import hub_command; hub_command()"


async def output(*words: str) -> str:
    """What a command prints."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "accelwatch", *words), stdout=asyncio.subprocess.PIPE
    )
    printed, _ = await process.communicate()
    return printed.decode()


async def ready(base: str) -> None:
    """Wait until the hub over hubs knows of one; the limit is only a guard."""
    async with asyncio.timeout(60), aiohttp.ClientSession() as session:
        while True:
            with contextlib.suppress(aiohttp.ClientConnectionError):
                async with session.get(f"{base}/-/ready") as response:
                    if response.status == 200:
                        return
            await asyncio.sleep(0.05)


async def problems(base: str) -> str:
    """What the hub says is wrong."""
    async with aiohttp.ClientSession() as session, session.get(f"{base}/v1/fleet") as response:
        return "; ".join((await response.json())["problems"])


def test_it_follows_reads_its_file_again_and_stops(tmp_path: Path) -> None:
    async def main() -> None:
        port = free_port()
        base, file = f"http://127.0.0.1:{port}", tmp_path / "over.yaml"
        async with agent() as one, hub_of(tmp_path / "a", {"n1": one.address}) as below:
            text = (
                f"targets: {{hubs: [{{url: '{below.base}', name: pod-1}}]}}\n"
                f"web: {{listen_address: '127.0.0.1:{port}'}}\n"
            )
            file.write_text(text)
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-c", _HUB, "-c", str(file)),
                env={**os.environ, "NOTIFY_SOCKET": ""},
                stderr=asyncio.subprocess.PIPE,
            )
            try:
                await ready(base)
                # On a busy machine the hub below is late for a moment.
                async with asyncio.timeout(60):
                    while "pod-1  up  1 node  8 devices" not in await output(
                        "fleet", "--hub", base
                    ):
                        await asyncio.sleep(0.1)
                assert "n1" in await output("fleet", "--hub", base)
                file.write_text(text.replace("pod-1", "pod-2"))
                process.send_signal(signal.SIGHUP)
                assert process.stderr is not None
                async with asyncio.timeout(30):
                    while b"targets.hubs has changed" not in (
                        line := await process.stderr.readline()
                    ):
                        pass
                assert b"restart this hub; until then it follows pod-1" in line
                assert "targets.hubs has changed" in await problems(base)
                file.write_text(text)
                process.send_signal(signal.SIGHUP)
                async with asyncio.timeout(30):
                    while await problems(base):
                        pass
                process.send_signal(signal.SIGTERM)
                assert await asyncio.wait_for(process.wait(), 30) == 0
            finally:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                await process.communicate()

    asyncio.run(main())
