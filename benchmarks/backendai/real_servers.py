"""Real servers of Backend.AI for benchmarks: three agents, the last of them a spare."""

import contextlib
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from accelwatch_lab.cluster.backendai import requests
from accelwatch_lab.cluster.backendai.access import ACCESS_KEYS, Account, secret_file
from accelwatch_lab.cluster.backendai.api import Api
from accelwatch_lab.cluster.backendai.requests import GROUP, SPARES
from accelwatch_lab.cluster.backendai.servers.servers import Servers
from accelwatch_lab.cluster.backendai.tree.installed import absence, tree
from accelwatch_lab.cluster.processes import Processes
from accelwatch_lab.cluster.waiting import until
from support.processes.terminated import end_children_when_terminated

AGENTS = ("i-gpu1", "i-gpu2", "i-gpu3")
JOB_AGENTS, SPARE = AGENTS[:2], AGENTS[2]
WAIT_S = 300.0


class Cluster:
    """Real servers with three agents, the last of them a spare."""

    def __init__(self, folder: Path) -> None:
        release = tree()
        if release is None:
            raise SystemExit(f"no real servers: {absence()}")
        self.folder = folder
        self.servers = Servers(Processes(folder / "servers"), release)

    def start(self) -> None:
        """All of it."""
        (self.folder / "servers").mkdir()
        self.servers.start()
        requests.make_group(self.api, SPARES)
        for agent in AGENTS:
            group = SPARES if agent == SPARE else GROUP
            self.servers.agents.configure(agent, group=group)
            self.servers.agents.start(agent)
        until(self._is_up, "the agents are ALIVE", WAIT_S)

    @property
    def api(self) -> Api:
        """As the superadmin."""
        return Api(self.servers.keys(Account.SUPERADMIN))

    @property
    def options(self) -> dict[str, object]:
        """Of an action."""
        server = {
            "url": self.servers.url,
            "access_key": ACCESS_KEYS[Account.SUPERADMIN],
            "secret_key_file": str(secret_file(self.servers.folder, Account.SUPERADMIN)),
        }
        return {"server": server, "groups": {GROUP: {"spares": SPARES}}}

    def _is_up(self) -> bool:
        alive = [row["id"] for row in requests.agents(self.api) if row["status"] == "ALIVE"]
        return set(AGENTS) <= set(alive)


@contextlib.contextmanager
def cluster() -> Iterator[Cluster]:
    """One that runs."""
    end_children_when_terminated()
    with tempfile.TemporaryDirectory(prefix="bai") as name:
        running = Cluster(Path(name))
        try:
            running.start()
            yield running
        finally:
            running.servers.stop()
