"""The stand-in of the manager's API for tests: as real servers, and what it alone can do."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

from accelwatch_lab.cluster.backendai.access import write_keys
from accelwatch_lab.cluster.backendai.api_server.clock import ShiftedClock
from accelwatch_lab.cluster.backendai.api_server.faults import Fault
from accelwatch_lab.cluster.backendai.api_server.manager import Manager
from accelwatch_lab.cluster.backendai.api_server.release import NEWEST
from accelwatch_lab.cluster.backendai.api_server.server import Addresses, serve_on_thread
from accelwatch_lab.cluster.ports import free_ports
from accelwatch_lab.cluster.thread_server import ThreadServer
from support.backendai.served import ServedCluster

# Of the manager's clock; no test is that long.
_SLOW_S = 120.0
AGENTS = ("i-gpu1", "i-gpu2", "i-gpu3", "i-gpu4")


class StandInCluster(ServedCluster):
    """A stand-in on a thread of its own.

    A test may use `manager.faults`, `manager.log`, `manager.pace` and `clock` as it likes; the
    rest of its state belongs to the thread, and is changed by requests and by the methods here.
    """

    kind = "stand-in"

    def __init__(self, folder: Path, release: str = NEWEST) -> None:
        super().__init__(folder)
        self.release = release
        self.clock = ShiftedClock()
        self.manager = Manager(release, clock=self.clock)
        self.manager.add_agents(*AGENTS)
        self._ports = free_ports(2)
        write_keys(folder, f"http://127.0.0.1:{self._ports[0]}")
        self.manager.accounts.read(folder)
        self._serving: ThreadServer[Addresses] | None = None

    def start_manager(self) -> None:
        serving = serve_on_thread(self.manager, *self._ports)
        self.internal_url = serving.where.internal_url
        self._serving = serving

    def kill_manager(self) -> None:
        if self._serving is not None:
            self._serving.stop()
            self._serving = None

    def kill_agent(self, name: str) -> None:
        self._running.call(lambda: self.manager.kill_agent(name))

    def stop_agent(self, name: str) -> None:
        self._running.call(lambda: self.manager.stop_agent(name))

    def start_agent(self, name: str) -> None:
        self._running.call(lambda: self.manager.start_agent(name))

    def add_agents(self, *names: str, group: str = "default", **slots: int) -> None:
        """More of them."""
        self._running.call(lambda: self.manager.add_agents(*names, group=group, **slots))

    def finish(self, session_id: str, *, succeeded: bool = True) -> None:
        """The command of a batch session ends."""
        session = self.manager.sessions.rows[session_id]
        self._running.call(lambda: self.manager.lifecycle.finish(session, succeeded))

    def pass_time(self, seconds: float) -> None:
        """So many seconds have passed for the manager."""
        self.clock.advance(seconds)

    @contextlib.asynccontextmanager
    async def slow(self, body: str) -> AsyncIterator[Callable[[], Awaitable[None]]]:
        """The next request with such a body takes until the end; gives what waits for its arrival."""
        self.manager.faults.add(Fault(body=body, effect="slow", delay_s=_SLOW_S))

        async def arrived() -> None:
            async with asyncio.timeout(60):
                while self.manager.faults.rules:
                    await asyncio.sleep(0.01)

        try:
            yield arrived
        finally:
            self.pass_time(_SLOW_S)

    async def until_lost(self, name: str) -> None:
        self.pass_time(self.manager.pace.lost_after_s)
        await self.until_status(name, "LOST")

    @property
    def _running(self) -> ThreadServer[Addresses]:
        assert self._serving is not None, "it does not run"
        return self._serving


@contextlib.contextmanager
def stand_in_cluster(folder: Path, release: str = NEWEST) -> Iterator[StandInCluster]:
    """A stand-in that runs, with its files in a folder."""
    cluster = StandInCluster(folder, release)
    cluster.start_manager()
    try:
        yield cluster
    finally:
        cluster.kill_manager()
