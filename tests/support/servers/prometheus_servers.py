"""Real servers with Prometheus' query API, started by a test on loopback and ended with it."""

import asyncio
import contextlib
import shutil
import time
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest

from support.servers.ports import free_port

_READY_S = 60.0
# What a VictoriaMetrics takes to find new series: it writes them out every second.
_INDEXED_S = 1.2


class StoreServer:
    """A running server with Prometheus' query API."""

    def __init__(self, url: str, session: aiohttp.ClientSession, log: Path) -> None:
        self.url = url
        self.log = log
        self._session = session

    async def query(self, expression: str, **more: str) -> list[dict[str, Any]]:
        params = {"query": expression, "nocache": "1", **more}
        async with self._session.get(f"{self.url}/api/v1/query", params=params) as answer:
            document = await answer.json()
        assert document["status"] == "success", document
        return list(document["data"]["result"])

    async def settled(self, series: int) -> None:
        """Wait until a VictoriaMetrics can find so many series.

        It remembers for ten seconds that there was nothing, so nobody should ask before.
        """
        async with asyncio.timeout(_READY_S):
            created = 0
            while created < series:
                await asyncio.sleep(0.1)
                async with self._session.get(f"{self.url}/metrics") as answer:
                    lines = (await answer.text()).splitlines()
                found = [
                    line for line in lines if line.startswith("vm_new_timeseries_created_total")
                ]
                created = int(found[0].split()[1]) if found else 0
        await asyncio.sleep(_INDEXED_S)

    async def number(self, expression: str) -> float | None:
        found = await self.query(expression)
        return float(found[0]["value"][1]) if found else None

    async def until(
        self, expression: str, right: Callable[[list[dict[str, Any]]], bool], within_s: float = 60.0
    ) -> list[dict[str, Any]]:
        """The answer once it is right."""
        found = await self.query(expression)
        try:
            async with asyncio.timeout(within_s):
                while not right(found):
                    await asyncio.sleep(0.1)
                    found = await self.query(expression)
        except TimeoutError:
            raise AssertionError(f"{expression} is still {found[:5]}") from None
        return found


@contextlib.asynccontextmanager
async def started(
    command: Sequence[str], url: str, ready: str, log: Path
) -> AsyncIterator[StoreServer]:
    """A program, once its page `ready` answers 200."""
    with log.open("wb") as file:
        process = await asyncio.create_subprocess_exec(*command, stdout=file, stderr=file)
    session = aiohttp.ClientSession()
    try:
        deadline = time.monotonic() + _READY_S
        while True:
            assert process.returncode is None, log.read_text()[-2000:]
            assert time.monotonic() < deadline, log.read_text()[-2000:]
            with contextlib.suppress(aiohttp.ClientError):
                async with session.get(url + ready) as answer:
                    if answer.status == 200:
                        break
            await asyncio.sleep(0.05)
        yield StoreServer(url, session, log)
    finally:
        await session.close()
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def installed(name: str) -> str:
    """Where a program is; skips the test without it."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed (.ci/run installs it)")
    return found


class Stores:
    """Starts servers in a test's own folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextlib.asynccontextmanager
    async def prometheus(
        self,
        *jobs: dict[str, Any],
        interval: str = "500ms",
        prefix: str = "",
        rule_files: Sequence[Path] = (),
    ) -> AsyncIterator[StoreServer]:
        """A Prometheus that scrapes these jobs, evaluates these rules and takes remote write."""
        port = free_port()
        whole = {
            "global": {
                "scrape_interval": interval,
                "scrape_timeout": interval,
                "evaluation_interval": interval,
            },
            "rule_files": [str(path) for path in rule_files],
            "scrape_configs": list(jobs),
        }
        config = self._folder / f"prometheus-{port}.yml"
        config.write_bytes(msgspec.yaml.encode(whole))
        command = (
            installed("prometheus"),
            f"--config.file={config}",
            f"--storage.tsdb.path={self._folder / f'prometheus-{port}'}",
            f"--web.listen-address=127.0.0.1:{port}",
            f"--web.route-prefix=/{prefix}",
            "--web.enable-remote-write-receiver",
            "--web.enable-lifecycle",
        )
        url = f"http://127.0.0.1:{port}/{prefix}".rstrip("/")
        log = self._folder / f"prometheus-{port}.log"
        async with started(command, url, "/-/ready", log) as server:
            yield server

    @contextlib.asynccontextmanager
    async def victoria(
        self, *jobs: dict[str, Any], flags: Sequence[str] = ()
    ) -> AsyncIterator[StoreServer]:
        """A VictoriaMetrics, which scrapes jobs as well."""
        port = free_port()
        command = [
            installed("victoria-metrics"),
            f"-httpListenAddr=127.0.0.1:{port}",
            f"-storageDataPath={self._folder / f'victoria-{port}'}",
            "-memory.allowedBytes=256MB",
            *flags,
        ]
        if jobs:
            config = self._folder / f"victoria-{port}.yml"
            whole = {"global": {"scrape_interval": "1s"}, "scrape_configs": list(jobs)}
            config.write_bytes(msgspec.yaml.encode(whole))
            command.append(f"-promscrape.config={config}")
        log = self._folder / f"victoria-{port}.log"
        url = f"http://127.0.0.1:{port}"
        async with started(command, url, "/health", log) as server:
            yield server
