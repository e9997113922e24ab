"""Real servers of Backend.AI for tests; `make backendai` runs them."""

import asyncio
import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from accelwatch_lab.cluster.backendai import requests
from accelwatch_lab.cluster.backendai.access import Account
from accelwatch_lab.cluster.backendai.api import Api
from accelwatch_lab.cluster.backendai.servers.servers import Servers
from accelwatch_lab.cluster.backendai.tree.installed import VERSION_VARIABLE, Tree, absence, tree
from accelwatch_lab.cluster.processes import Processes
from accelwatch_lab.cluster.waiting import until
from support.backendai.served import ENDED, Row, ServedCluster

AGENTS = ("i-gpu1", "i-gpu2", "i-gpu3", "i-gpu4")
_GROUPS = ("spare", "quarantine")
# Half a minute is what they take on an idle machine.
_ALIVE_S = 240.0
# Where the scheduler has just chosen agents for a session that is cancelled, 26.9.6 keeps their slots,
# though their rows say that they are idle. What it could not place it tries again only in a minute.
_SCHEDULED_S = 8.0
# Sessions take ten seconds where a stand-in takes none, so a run has to be requested.
_NOT_REQUESTED = f"`make backendai` runs it on real servers ({VERSION_VARIABLE} names a release)"


def why_not() -> str:
    """Why tests do not run on real servers; empty when they do."""
    return absence() if os.environ.get(VERSION_VARIABLE) else _NOT_REQUESTED


needs_servers = pytest.mark.skipif(bool(why_not()), reason=why_not())


class RealCluster(ServedCluster):
    """Servers that run."""

    kind = "real"

    def __init__(self, processes: Processes, release: Tree) -> None:
        self.servers = Servers(processes, release)
        self.release = release.version
        super().__init__(self.servers.folder)
        self.internal_url = self.servers.internal_url
        self._processes = processes
        # Sessions of tests before: the manager keeps them for ever.
        self._forgotten: set[str] = set()

    def start(self) -> None:
        """All of it, and wait until the agents are ALIVE."""
        self.servers.start()
        api = Api(self.keys(Account.SUPERADMIN))
        for name in _GROUPS:
            requests.make_group(api, name)
        for name in AGENTS:
            self.servers.agents.configure(name)
            self.servers.agents.start(name)
        until(lambda: self._are_alive(api), "the agents are ALIVE", _ALIVE_S)

    def _are_alive(self, api: Api) -> bool:
        alive = {row["id"] for row in requests.agents(api) if row["status"] == "ALIVE"}
        return alive >= set(AGENTS)

    def kill_agent(self, name: str) -> None:
        self.servers.agents.kill(name)

    def stop_agent(self, name: str) -> None:
        self.servers.agents.stop(name)
        until(lambda: not self._runs(name), f"{name} has stopped")

    def start_agent(self, name: str) -> None:
        self.servers.agents.start(name)

    def kill_manager(self) -> None:
        self.servers.kill_manager()

    def start_manager(self) -> None:
        self.servers.start_manager()

    async def until_lost(self, name: str) -> None:
        await self.until_status(name, "LOST")

    def _runs(self, name: str) -> bool:
        return self._processes.runs(self.servers.agents.daemon(name))

    async def sessions(self, *, name: str = "") -> list[Row]:
        """Those that were created since it was cleared."""
        rows = await super().sessions(name=name)
        return [row for row in rows if row["session_id"] not in self._forgotten]

    async def clear(self) -> None:
        """End all sessions, and have all agents as they were; those that were killed run again."""
        if not self._processes.runs("manager"):
            self.start_manager()
        for name in AGENTS:
            self._processes.signal(self.servers.agents.daemon(name), signal.SIGCONT)
            if not self._runs(name):
                self.start_agent(name)
        # A request about an agent that is LOST may hang.
        for name in AGENTS:
            await self.until_status(name, "ALIVE")
        rows = await self.sessions()
        await self._end_all([row for row in rows if row["status"] not in ENDED])
        self._forgotten.update(row["session_id"] for row in rows)
        usual = {"schedulable": True, "scaling_group": "default"}
        for name, row in (await self.agents()).items():
            if {key: row[key] for key in usual} != usual:
                await self._have_usual(name, usual)

    async def _end_all(self, open_sessions: list[Row]) -> None:
        waiting = [row for row in open_sessions if row["status"] == "PENDING"]
        if waiting:
            await asyncio.sleep(_SCHEDULED_S)
        # One that is ended by force while it is being started may not end for minutes (26.1.0).
        for row in open_sessions:
            await self.until(row["session_id"], "PENDING", "RUNNING", "TERMINATING", *ENDED)
        # Those that wait first: they are not to be placed where others end.
        for row in sorted(open_sessions, key=lambda row: row not in waiting):
            await self.end_session(row["session_id"], forced=True)
        for row in open_sessions:
            await self.until(row["session_id"], *ENDED)

    async def _have_usual(self, name: str, usual: dict[str, object]) -> None:
        """Again and again: an agent whose session has just ended is busy for a moment."""
        async with asyncio.timeout(60.0):
            while True:
                with contextlib.suppress(AssertionError):
                    await self.change_agent(name, **usual)
                    return
                await asyncio.sleep(0.5)


@contextlib.contextmanager
def real_cluster(folder: Path) -> Iterator[RealCluster]:
    """Servers that run in a folder; skips the test where they are not requested or not there."""
    release = tree()
    if (reason := why_not()) or release is None:
        pytest.skip(reason)
    cluster = RealCluster(Processes(folder), release)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.servers.stop()
