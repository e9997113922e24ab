"""A hub as a process of its own: its API, its memory, its end."""

import asyncio
import contextlib
import json
import os
import re
import signal
import sqlite3
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import aiohttp

from accelwatch.fleet.state.inventory.file import FILE

_CODE = "from accelwatch.cli.servers.hub import hub_command; hub_command()"
_WITHIN_S = 60.0
# For tests that are not about nodes that age: the machine may let all processes stand for seconds.
_SLOWLY = {"slow_after": "1m", "stale_after": "5m", "down_after": "10m"}


def written(folder: Path) -> int:
    """Devices that an inventory has on the disk, while a hub writes it."""
    database = sqlite3.connect(f"file:{folder / FILE}?mode=ro", uri=True)
    try:
        return int(database.execute("SELECT count(*) FROM devices").fetchone()[0])
    except sqlite3.OperationalError:
        return 0
    finally:
        database.close()


class HubProcess:
    """A running hub; it listens on a Unix socket, which reaches into other network namespaces too."""

    def __init__(self, process: asyncio.subprocess.Process, folder: Path) -> None:
        self.process = process
        self._folder = folder
        self._log = folder / "hub.log"
        self._socket = folder / "hub.sock"

    @property
    def log(self) -> str:
        return self._log.read_text()

    def reload(self, config: Mapping[str, object]) -> None:
        """Have it read another configuration."""
        _write(self._folder, config)
        os.kill(self.pid, signal.SIGHUP)

    async def request(self, path: str, method: str = "GET") -> tuple[int, Any]:
        """Code and body of an answer."""
        connector = aiohttp.UnixConnector(str(self._socket))
        async with (
            aiohttp.ClientSession(connector=connector) as session,
            session.request(method, f"http://hub{path}") as response,
        ):
            body = await response.read()
            is_json = response.content_type == "application/json"
            return response.status, json.loads(body) if is_json else body.decode()

    async def get(self, path: str) -> Any:
        code, body = await self.request(path)
        assert code == 200, body
        return body

    async def rows(self) -> dict[str, Any]:
        """Nodes by name."""
        return {row["node"]: row for row in (await self.get("/v1/nodes"))["nodes"]}

    async def until(self, happened: Callable[[Any], bool], path: str = "/v1/fleet") -> Any:
        """Ask until the answer is as wanted; returns it."""
        found: object = None
        try:
            async with asyncio.timeout(_WITHIN_S):
                while True:
                    assert self.process.returncode is None, self.log
                    with contextlib.suppress(aiohttp.ClientConnectionError, OSError):
                        code, found = await self.request(path)
                        if code == 200 and happened(found):
                            return found
                    await asyncio.sleep(0.05)
        except TimeoutError as error:
            raise AssertionError(f"{path} stays {str(found)[:3000]}\n{self.log[-3000:]}") from error

    def status(self, field: str) -> int:
        """A number of /proc/PID/status: VmHWM is the most memory it ever had, KiB."""
        text = Path(f"/proc/{self.pid}/status").read_text()
        found = re.search(rf"^{field}:\s+(\d+)", text, re.MULTILINE)
        assert found is not None
        return int(found[1])

    @property
    def pid(self) -> int:
        """The hub itself, when it was started by way of another program."""
        pid = self.process.pid
        while children := Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            pid = int(children[0])
        return pid

    def sockets(self) -> int:
        """Open sockets."""
        found = 0
        for one in Path(f"/proc/{self.pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                found += str(one.readlink()).startswith("socket:")
        return found


def _write(folder: Path, config: Mapping[str, object]) -> Path:
    """The file of a hub whose other files are beside it."""
    web = {"listen_address": [], "unix_socket": str(folder / "hub.sock")}
    whole = {"state_dir": str(folder / "state"), "state": _SLOWLY, **config}
    whole["web"] = {**web, **whole.get("web", {})}  # type: ignore[dict-item]  # a mapping
    file = folder / "hub.yaml"
    file.write_text(json.dumps(whole))
    return file


@contextlib.asynccontextmanager
async def hub_process(
    folder: Path, config: Mapping[str, object], before: Sequence[str] = ()
) -> AsyncIterator[HubProcess]:
    """A hub with this configuration and its files in the folder; `before` are words that start it."""
    file = _write(folder, config)
    with (folder / "hub.log").open("ab") as log:
        process = await asyncio.create_subprocess_exec(
            *(*before, sys.executable, "-c", _CODE, "-c", str(file)),
            env={**os.environ, "NOTIFY_SOCKET": ""},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        yield HubProcess(process, folder)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
